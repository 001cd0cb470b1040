/* tests/unit/worker/checkpoint/file_writer_test.c - a new file, and its digest */

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "checkpoint/file_reader.h"
#include "place_case.h"

static uint64_t
size_of(const struct folder *folder, const char *name)
{
    struct stat stat;

    assert_int_equal(fstatat(folder->fd, name, &stat, 0), 0);
    return (uint64_t)stat.st_size;
}

static void
file_writer_leaves_a_file_and_its_digest(void **state)
{
    struct folder *folder = place_case_create();
    struct digest *digest = NULL;
    struct file_writer *file_writer = NULL;
    struct written_file written;

    (void)state;
    assert_int_equal(file_writer_create(folder, "a", &file_writer), HOOP_OK);
    assert_int_equal(file_writer_pad(file_writer, 64), HOOP_OK);
    assert_int_equal(file_writer_append(file_writer, "abc", 3), HOOP_OK);
    assert_int_equal(file_writer_pad(file_writer, 8), HOOP_OK);
    assert_int_equal(file_writer_pad(file_writer, 8), HOOP_OK);
    assert_int_equal(file_writer_append(file_writer, NULL, 0), HOOP_OK);
    assert_int_equal(file_writer_append(file_writer, "d", 1), HOOP_OK);
    assert_int_equal(file_writer_sync_and_close(file_writer, &written),
                     HOOP_OK);
    file_writer_destroy(file_writer);
    assert_int_equal(digest_create(&digest), HOOP_OK);
    digest_add(digest, "abc\0\0\0\0\0d", 9);
    assert_int_equal(written.n_bytes, 9);
    assert_int_equal(written.digest, digest_value(digest));
    assert_int_equal(size_of(folder, "a"), 9);
    digest_destroy(digest);
    place_case_destroy(folder);
}

static void
file_writer_of_more_than_a_chunk_is_whole(void **state)
{
    struct folder *folder = place_case_create();
    const size_t n_bytes = 2 * (size_t)LIMIT_WRITE + 17;
    uint8_t *bytes = calloc(1, n_bytes);
    struct file_writer *file_writer = NULL;
    struct written_file written;

    (void)state;
    assert_non_null(bytes);
    assert_int_equal(file_writer_create(folder, "a", &file_writer), HOOP_OK);
    assert_int_equal(file_writer_append(file_writer, bytes, n_bytes), HOOP_OK);
    assert_int_equal(file_writer_sync_and_close(file_writer, &written),
                     HOOP_OK);
    assert_int_equal(size_of(folder, "a"), n_bytes);
    file_writer_destroy(file_writer);
    free(bytes);
    place_case_destroy(folder);
}

static void
file_writer_abandoned_leaves_nothing(void **state)
{
    struct folder *folder = place_case_create();
    struct file_writer *file_writer = NULL;
    struct written_file written;

    (void)state;
    assert_int_equal(file_writer_create(folder, "a", &file_writer), HOOP_OK);
    file_writer_discard(file_writer);
    assert_false(place_case_has(folder, "a"));
    assert_int_equal(file_writer_create(folder, "a", &file_writer), HOOP_OK);
    assert_int_equal(file_writer_sync_and_close(file_writer, &written),
                     HOOP_OK);
    file_writer_discard(file_writer);
    assert_false(place_case_has(folder, "a"));
    file_writer_discard(NULL);
    file_writer_destroy(NULL);
    place_case_destroy(folder);
}

static void
file_writer_over_a_file_is_refused(void **state)
{
    struct folder *folder = place_case_create();
    struct file_writer *file_writer = NULL;

    (void)state;
    place_case_write(folder, "a", 5);
    assert_int_not_equal(file_writer_create(folder, "a", &file_writer),
                         HOOP_OK);
    assert_non_null(strstr(error_text(), "/a: File exists"));
    assert_int_equal(size_of(folder, "a"), 5);
    place_case_destroy(folder);
}

/* The signal, whose default is death, must not be seen. */
static void
file_writer_past_the_limit_of_the_process_is_an_error(void **state)
{
    struct folder *folder = place_case_create();
    struct file_writer *file_writer = NULL;
    struct rlimit before;
    uint8_t bytes[5000] = {0};
    sigset_t pending;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(file_writer_create(folder, "a", &file_writer), HOOP_OK);
    const enum hoop_status status =
        file_writer_append(file_writer, bytes, sizeof(bytes));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(), "cannot write"));
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGXFSZ), 0);
    file_writer_discard(file_writer);
    place_case_destroy(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_writer_leaves_a_file_and_its_digest),
        cmocka_unit_test(file_writer_of_more_than_a_chunk_is_whole),
        cmocka_unit_test(file_writer_abandoned_leaves_nothing),
        cmocka_unit_test(file_writer_over_a_file_is_refused),
        cmocka_unit_test(file_writer_past_the_limit_of_the_process_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
