/* tests/unit/worker/recorder/recording_test.c - what is no whole record is
 * refused with a reason */

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "recorder/recording.h"
#include "unit/worker/recorder/recorder_fixture.h"

static void
assert_refused(const char *path, enum hoop_status status, const char *why)
{
    hoop_recording_t *recording = NULL;

    assert_int_equal(hoop_recording_read(path, &recording), status);
    assert_non_null(strstr(error_text(), why));
    assert_non_null(strstr(error_text(), path));
}

static void
file_write_at(const char *path, size_t offset, const void *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)offset), n);
    close(fd);
}

static void
file_that_is_missing_or_foreign_is_refused(void **state)
{
    struct recorder_fixture fixture;
    char path[TEMPORARY_FILE];

    (void)state;
    recorder_fixture_open(&fixture);
    snprintf(path, sizeof(path), "%s/other", fixture.folder);
    assert_refused(path, HOOP_E_NOT_FOUND, "cannot be opened");
    assert_refused(fixture.folder, HOOP_E_INVALID, "not a record");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, HOOP_E_INVALID, "not a record");
    unlink(path);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_refused(path, HOOP_E_INVALID, "not a record");
    assert_int_equal(truncate(path, sizeof(struct recorder_memory)), 0);
    assert_refused(path, HOOP_E_INVALID, "not a record");
    recorder_fixture_close(&fixture);
}

static void
file_that_is_cut_off_is_refused(void **state)
{
    struct recorder_fixture fixture;

    (void)state;
    recorder_fixture_open(&fixture);
    recorder_destroy(fixture.recorder);
    fixture.recorder = NULL;
    assert_int_equal(truncate(fixture.path, sizeof(struct recorder_memory) - 1),
                     0);
    assert_refused(fixture.path, HOOP_E_DATA_LOSS, "cut off");
    assert_int_equal(truncate(fixture.path, sizeof(struct recorder_header)), 0);
    assert_refused(fixture.path, HOOP_E_DATA_LOSS, "cut off");
    recorder_fixture_close(&fixture);
}

static void
file_of_another_version_or_byte_order_is_refused(void **state)
{
    const uint64_t swapped = __builtin_bswap64(RECORDER_MAGIC);
    const uint32_t version = RECORDER_VERSION + 1;
    struct recorder_fixture fixture;

    (void)state;
    recorder_fixture_open(&fixture);
    file_write_at(fixture.path, offsetof(struct recorder_header, version),
                  &version, sizeof(version));
    assert_refused(fixture.path, HOOP_E_INVALID, "version 4");
    file_write_at(fixture.path, offsetof(struct recorder_header, magic),
                  &swapped, sizeof(swapped));
    assert_refused(fixture.path, HOOP_E_INVALID, "another order");
    recorder_fixture_close(&fixture);
}

static void
file_with_a_damaged_header_is_refused(void **state)
{
    static const size_t offsets[] = {
        offsetof(struct recorder_header, n_names),
        offsetof(struct recorder_header, n_comms),
        offsetof(struct recorder_header, n_members),
        offsetof(struct recorder_header, n_slots),
        offsetof(struct recorder_header, slot_bytes),
        offsetof(struct recorder_header, n_bytes),
        offsetof(struct recorder_header, rank),
        offsetof(struct recorder_header, size),
    };
    const uint32_t wrong = UINT32_MAX;

    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct recorder_fixture fixture;

        recorder_fixture_open(&fixture);
        file_write_at(fixture.path, offsets[i], &wrong, sizeof(wrong));
        assert_refused(fixture.path, HOOP_E_DATA_LOSS, "damaged");
        recorder_fixture_close(&fixture);
    }
}

/* While this is set, a read of the whole record stops in the middle of a slot
 * until all slots have been written again. */
static struct recorder *writes_meanwhile;

ssize_t
__real_pread64(int fd, void *bytes, size_t n_bytes, off_t offset);
ssize_t
__wrap_pread64(int fd, void *bytes, size_t n_bytes, off_t offset);

static void
all_slots_write(struct recorder *recorder, uint64_t first)
{
    for (uint64_t i = 0; i < LIMIT_RECORDER_CALLS; i++) {
        const struct recorder_call call = {.number = first + i,
                                           .comm = first + i,
                                           .n_bytes = first + i,
                                           .count = first + i,
                                           .kind = KIND_ALLREDUCE};

        recorder_ended(
            recorder, recorder_called(recorder, &call),
            &(struct recorder_end){.status = HOOP_E_TIMEOUT,
                                   .waited_for = (uint32_t)(first + i)});
    }
}

ssize_t
__wrap_pread64(int fd, void *bytes, size_t n_bytes, off_t offset)
{
    static uint64_t n_turns;
    const size_t middle = offsetof(struct recorder_memory, slots[5].n_bytes);

    if (!writes_meanwhile || n_bytes < sizeof(struct recorder_memory))
        return __real_pread64(fd, bytes, n_bytes, offset);
    const ssize_t n = __real_pread64(fd, bytes, middle, offset);
    all_slots_write(writes_meanwhile, ++n_turns * LIMIT_RECORDER_CALLS);
    return n;
}

/* Slot 5 is of two calls in each copy of the file. */
static void
call_that_is_written_while_it_is_read_is_read_again(void **state)
{
    struct recorder_fixture fixture;
    hoop_recording_t *recording = NULL;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    all_slots_write(fixture.recorder, 0);
    writes_meanwhile = fixture.recorder;
    assert_ok(hoop_recording_read(fixture.path, &recording));
    writes_meanwhile = NULL;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    assert_int_equal(n_calls, LIMIT_RECORDER_CALLS);
    for (size_t i = 0; i < n_calls; i++) {
        assert_false(calls[i].is_partial);
        assert_int_equal(calls[i].comm, calls[i].wire_number);
        assert_int_equal(calls[i].count, calls[i].wire_number);
        assert_int_equal(calls[i].n_bytes, calls[i].wire_number);
        assert_int_equal(calls[i].waited_for, calls[i].wire_number);
    }
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

/* A writer that was killed between the two words of a change. */
static void
call_whose_change_was_not_finished_is_marked(void **state)
{
    const struct recorder_call call = {.number = 4, .kind = KIND_ALLREDUCE};
    struct recorder_fixture fixture;
    hoop_recording_t *recording = NULL;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    struct recorder_slot *slot = recorder_called(fixture.recorder, &call);
    slot->word |= RECORDER_IS_BEING_WRITTEN;
    assert_ok(hoop_recording_read(fixture.path, &recording));
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    assert_int_equal(n_calls, 1);
    assert_true(calls[0].is_partial);
    assert_int_equal(calls[0].wire_number, 4);
    hoop_recording_destroy(recording);

    /* It had only begun to be a record. */
    slot->word = RECORDER_IS_BEING_WRITTEN;
    assert_ok(hoop_recording_read(fixture.path, &recording));
    (void)hoop_recording_calls(recording, &n_calls);
    assert_int_equal(n_calls, 0);
    hoop_recording_destroy(recording);
    recorder_fixture_close(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_that_is_missing_or_foreign_is_refused),
        cmocka_unit_test(file_that_is_cut_off_is_refused),
        cmocka_unit_test(file_of_another_version_or_byte_order_is_refused),
        cmocka_unit_test(file_with_a_damaged_header_is_refused),
        cmocka_unit_test(call_that_is_written_while_it_is_read_is_read_again),
        cmocka_unit_test(call_whose_change_was_not_finished_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
