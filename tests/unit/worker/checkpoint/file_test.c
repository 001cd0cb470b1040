/* tests/unit/worker/checkpoint/file_test.c - ranges of a file */

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "checkpoint/file.h"
#include "place_case.h"

enum {
    FILE_BYTES = 200000,
    NOTHING = 255,
};

static const struct hoop_checkpoint_file file = {"a", FILE_BYTES, 0};

static uint8_t memory[FILE_BYTES];

static struct file_reader *
file_reader_of(const struct folder *folder)
{
    struct file_reader *file_reader = NULL;

    assert_ok(file_reader_create(folder, &file, &file_reader));
    memset(memory, NOTHING, sizeof(memory));
    return file_reader;
}

/* Ranges of n_bytes, every stride bytes, each to where it is in the file. */
static void
require_strided(const struct folder *folder, size_t n_bytes, size_t stride)
{
    struct file_reader *file_reader = file_reader_of(folder);

    for (size_t at = 3; at + n_bytes <= FILE_BYTES; at += stride) {
        const struct file_range range = {at, memory + at, n_bytes};

        assert_ok(file_reader_add_range(file_reader, &range));
    }
    assert_ok(file_reader_read_pending(file_reader));
    for (size_t i = 0; i < FILE_BYTES; i++) {
        const bool is_read = i >= 3 && (i - 3) % stride < n_bytes &&
                             i - (i - 3) % stride + n_bytes <= FILE_BYTES;

        assert_int_equal(memory[i], is_read ? i % 251 : NOTHING);
    }
    file_reader_destroy(file_reader);
}

static void
file_reader_of_ranges_writes_them_alone(void **state)
{
    struct folder *folder = place_case_create();

    place_case_write(folder, "a", FILE_BYTES);
    require_strided(folder, 1, 2);
    require_strided(folder, 8, 8);
    require_strided(folder, 5, 100);
    require_strided(folder, 100, LIMIT_READ_GAP + 99);
    require_strided(folder, 100, LIMIT_READ_GAP + 100);
    require_strided(folder, 100, LIMIT_READ_GAP + 101);
    require_strided(folder, 60000, 65000);
    place_case_destroy(folder);
}

static void
file_reader_of_one_range_to_many_places(void **state)
{
    struct folder *folder = place_case_create();

    place_case_write(folder, "a", FILE_BYTES);
    struct file_reader *file_reader = file_reader_of(folder);
    for (size_t i = 0; i < 5000; i++) {
        const struct file_range range = {1000 + i, memory + 2 * i, 1};

        assert_ok(file_reader_add_range(file_reader, &range));
    }
    assert_ok(file_reader_read_pending(file_reader));
    assert_ok(file_reader_read_pending(file_reader));
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(memory[2 * i], (1000 + i) % 251);
        assert_int_equal(memory[2 * i + 1], NOTHING);
    }
    file_reader_destroy(file_reader);
    file_reader_destroy(NULL);
    place_case_destroy(folder);
}

static void
file_reader_of_a_wrong_file_is_refused(void **state)
{
    struct folder *folder = place_case_create();
    struct file_reader *file_reader = NULL;

    assert_int_equal(file_reader_create(folder, &file, &file_reader),
                     HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "/a is missing"));
    place_case_write(folder, "a", FILE_BYTES - 1);
    assert_int_equal(file_reader_create(folder, &file, &file_reader),
                     HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "has 199999 bytes"));
    place_case_write(folder, "a", FILE_BYTES + 1);
    assert_int_equal(file_reader_create(folder, &file, &file_reader),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(mkfifoat(folder->fd, "b", 0600), 0);
    assert_int_equal(
        file_reader_create(folder, &(struct hoop_checkpoint_file){"b", 0, 0},
                           &file_reader),
        HOOP_E_DATA_LOSS);
    place_case_destroy(folder);
}

static void
file_reader_past_the_end_is_an_error(void **state)
{
    struct folder *folder = place_case_create();
    const struct file_range range = {FILE_BYTES - 2, memory, 4};

    place_case_write(folder, "a", FILE_BYTES);
    struct file_reader *file_reader = file_reader_of(folder);
    assert_ok(file_reader_add_range(file_reader, &range));
    assert_int_equal(file_reader_read_pending(file_reader), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "ends at byte 200000"));
    file_reader_destroy(file_reader);
    place_case_destroy(folder);
}

static void
file_name_reads_what_it_wrote(void **state)
{
    static const struct file_name names[] = {
        {FILE_NAME_PART, 1, 0, 0},
        {FILE_NAME_PART, INT64_MAX, UINT64_MAX, UINT32_MAX},
        {FILE_NAME_INDEX, 12, 0xabc, 0},
    };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char text[FILE_NAME_BUFFER_BYTES];
        struct file_name again;

        file_name_format(&names[i], text);
        assert_true(file_name_parse(text, &again));
        assert_int_equal(again.kind, names[i].kind);
        assert_int_equal(again.generation, names[i].generation);
        assert_int_equal(again.token, names[i].token);
        assert_int_equal(again.place, names[i].place);
    }
}

static void
file_name_is_as_documented(void **state)
{
    const struct file_name part = {FILE_NAME_PART, 12, 0x0123456789abcdef, 3};
    const struct file_name index = {FILE_NAME_INDEX, 12, 0x0123456789abcdef, 0};
    char text[FILE_NAME_BUFFER_BYTES];

    file_name_format(&part, text);
    assert_string_equal(text, "hoop-12-0123456789abcdef-3.part");
    file_name_format(&index, text);
    assert_string_equal(text, "hoop-12-0123456789abcdef.index");
}

static void
file_name_of_others_is_left_alone(void **state)
{
    static const char *const texts[] = {
        "",
        "index.json",
        "hoop.lock",
        "hoop-",
        "hoop-1-2-3.part",
        "hoop-01-0123456789abcdef-3.part",
        "hoop-1-0123456789ABCDEF-3.part",
        "hoop-1-0123456789abcdef-3.parts",
        "hoop-1-0123456789abcdef-3.part~",
        "hoop-1-0123456789abcdef-+3.part",
        "hoop-1-0123456789abcdef.part",
        "hoop-1-0123456789abcdef-3.index",
        "hoop--1-0123456789abcdef-3.part",
        "hoop-1-0x23456789abcdef-3.part",
        "hoop-99999999999999999999-0123456789abcdef-3.part",
        "hoop-1-0123456789abcdef-4294967296.part",
        " hoop-1-0123456789abcdef-3.part",
    };
    struct file_name name;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_false(file_name_parse(texts[i], &name));
}

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

    assert_ok(file_writer_create(folder, "a", &file_writer));
    assert_ok(file_writer_pad(file_writer, 64));
    assert_ok(file_writer_append(file_writer, "abc", 3));
    assert_ok(file_writer_pad(file_writer, 8));
    assert_ok(file_writer_pad(file_writer, 8));
    assert_ok(file_writer_append(file_writer, NULL, 0));
    assert_ok(file_writer_append(file_writer, "d", 1));
    assert_ok(file_writer_sync_and_close(file_writer, &written));
    file_writer_destroy(file_writer);
    assert_ok(digest_create(&digest));
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

    assert_non_null(bytes);
    assert_ok(file_writer_create(folder, "a", &file_writer));
    assert_ok(file_writer_append(file_writer, bytes, n_bytes));
    assert_ok(file_writer_sync_and_close(file_writer, &written));
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

    assert_ok(file_writer_create(folder, "a", &file_writer));
    file_writer_discard(file_writer);
    assert_false(place_case_has(folder, "a"));
    assert_ok(file_writer_create(folder, "a", &file_writer));
    assert_ok(file_writer_sync_and_close(file_writer, &written));
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

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit limit = {4096, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_ok(file_writer_create(folder, "a", &file_writer));
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
        cmocka_unit_test(file_reader_of_ranges_writes_them_alone),
        cmocka_unit_test(file_reader_of_one_range_to_many_places),
        cmocka_unit_test(file_reader_of_a_wrong_file_is_refused),
        cmocka_unit_test(file_reader_past_the_end_is_an_error),
        cmocka_unit_test(file_name_reads_what_it_wrote),
        cmocka_unit_test(file_name_is_as_documented),
        cmocka_unit_test(file_name_of_others_is_left_alone),
        cmocka_unit_test(file_writer_leaves_a_file_and_its_digest),
        cmocka_unit_test(file_writer_of_more_than_a_chunk_is_whole),
        cmocka_unit_test(file_writer_abandoned_leaves_nothing),
        cmocka_unit_test(file_writer_over_a_file_is_refused),
        cmocka_unit_test(file_writer_past_the_limit_of_the_process_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
