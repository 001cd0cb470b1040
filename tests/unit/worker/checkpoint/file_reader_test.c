/* tests/unit/worker/checkpoint/file_reader_test.c - ranges of a file */

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "checkpoint/file_reader.h"
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

    assert_int_equal(file_reader_create(folder, &file, &file_reader), HOOP_OK);
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

        assert_int_equal(file_reader_add_range(file_reader, &range), HOOP_OK);
    }
    assert_int_equal(file_reader_read_pending(file_reader), HOOP_OK);
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

    (void)state;
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

    (void)state;
    place_case_write(folder, "a", FILE_BYTES);
    struct file_reader *file_reader = file_reader_of(folder);
    for (size_t i = 0; i < 5000; i++) {
        const struct file_range range = {1000 + i, memory + 2 * i, 1};

        assert_int_equal(file_reader_add_range(file_reader, &range), HOOP_OK);
    }
    assert_int_equal(file_reader_read_pending(file_reader), HOOP_OK);
    assert_int_equal(file_reader_read_pending(file_reader), HOOP_OK);
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

    (void)state;
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

    (void)state;
    place_case_write(folder, "a", FILE_BYTES);
    struct file_reader *file_reader = file_reader_of(folder);
    assert_int_equal(file_reader_add_range(file_reader, &range), HOOP_OK);
    assert_int_equal(file_reader_read_pending(file_reader), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "ends at byte 200000"));
    file_reader_destroy(file_reader);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
