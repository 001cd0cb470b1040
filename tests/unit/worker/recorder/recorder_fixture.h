/* tests/unit/worker/recorder/recorder_fixture.h - a recorder in a folder of the
 * test's own */

#ifndef RECORDER_FIXTURE_H
#define RECORDER_FIXTURE_H

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "hoop/comm.h"
#include "hoop/recorder.h"

#include "base/error.h"
#include "check.h"
#include "recorder/recorder.h"
#include "temporary.h"

enum {
    KIND_ALLREDUCE = 1,
    KIND_SEND = 9,
    DTYPE_FLOAT = 10,
};

struct recorder_fixture {
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_FILE];
    struct recorder *recorder;
};

static inline void
recorder_fixture_open(struct recorder_fixture *fixture)
{
    snprintf(fixture->folder, sizeof(fixture->folder), "recorder-XXXXXX");
    assert_non_null(temporary_folder(fixture->folder, sizeof(fixture->folder)));
    assert_ok(recorder_create(
        &(struct recorder_options){
            .folder = fixture->folder,
            .signal = "USR1",
            .job = "job",
            .host = "host",
            .epoch = 7,
            .run = 77,
            .rank = 3,
            .size = 8,
            .pid = 70,
        },
        &fixture->recorder));
    snprintf(fixture->path, sizeof(fixture->path), "%s/job.3.hoopr",
             fixture->folder);
    recorder_set_name(fixture->recorder, RECORDER_KINDS, KIND_ALLREDUCE,
                      "allreduce");
    recorder_set_name(fixture->recorder, RECORDER_KINDS, KIND_SEND, "send");
    recorder_set_name(fixture->recorder, RECORDER_DTYPES, DTYPE_FLOAT,
                      "float32");
}

/* Removes all files of the folder. */
static inline void
recorder_fixture_close(struct recorder_fixture *fixture)
{
    char path[sizeof(fixture->folder) + 260];
    const struct dirent *entry;

    recorder_destroy(fixture->recorder);
    DIR *folder = opendir(fixture->folder);
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        snprintf(path, sizeof(path), "%s/%s", fixture->folder, entry->d_name);
        unlink(path);
    }
    closedir(folder);
    assert_int_equal(rmdir(fixture->folder), 0);
}

/* All members of a call follow from its number, so that a record of two calls
 * can be told from one of a single call. */
static inline struct recorder_call
call_of_number(uint64_t number)
{
    return (struct recorder_call){
        .number = number,
        .comm = number * 3,
        .tag = number * 5,
        .count = number * 7,
        .n_bytes = number * 11,
        .peer = (uint32_t)(number % 1000),
        .algorithm = (uint32_t)(number % 100),
        .kind = number % 2 ? KIND_ALLREDUCE : KIND_SEND,
        .dtype = DTYPE_FLOAT,
        .retries = (uint8_t)(number % 250),
    };
}

/* Returns how the call of that number ends, and for whom it waits. */
static inline struct recorder_end
end_of_number(uint64_t number)
{
    return (struct recorder_end){
        .status = number % 16 == 0 ? HOOP_E_TIMEOUT : HOOP_OK,
        .waited_for = (uint32_t)(number % 977),
        .path = RECORDER_PATH_INLINE,
    };
}

/* Of a partial record, whose writer had no processor for long, only the
 * beginning must be right. */
static inline void
assert_is_call(const struct hoop_recorded_call *call)
{
    const uint64_t number = call->wire_number;
    const struct recorder_end end = end_of_number(number);

    assert_int_equal(call->comm, number * 3);
    assert_int_equal(call->tag, number * 5);
    assert_int_equal(call->count, number * 7);
    assert_int_equal(call->n_bytes, number * 11);
    assert_int_equal(call->peer, number % 1000);
    assert_int_equal(call->retries, number % 250);
    assert_string_equal(call->kind, number % 2 ? "allreduce" : "send");
    assert_string_equal(call->dtype, "float32");
    assert_true(call->called_ns > 0);
    if (call->is_partial)
        return;
    if (call->state == HOOP_RECORDED_CALLED) {
        assert_int_equal(call->begun_ns, 0);
        assert_int_equal(call->ended_ns, 0);
    }
    if (call->state == HOOP_RECORDED_BEGUN) {
        assert_true(call->begun_ns > 0);
        assert_int_equal(call->ended_ns, 0);
        assert_int_equal(call->last_byte_ns, call->first_byte_ns);
    }
    if (call->state == HOOP_RECORDED_DONE) {
        assert_int_equal(end.status, HOOP_OK);
        assert_int_equal(call->path, RECORDER_PATH_INLINE);
    }
    if (call->state == HOOP_RECORDED_FAILED) {
        assert_int_equal(end.status, HOOP_E_TIMEOUT);
        assert_int_equal(call->status, HOOP_E_TIMEOUT);
        assert_int_equal(call->waited_for, end.waited_for);
    }
    if (call->state >= HOOP_RECORDED_DONE)
        assert_true(call->ended_ns >= call->called_ns);
}

/* What the engine's lock is for real calls. */
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void
call_make(struct recorder *recorder, uint64_t number)
{
    const struct recorder_call call = call_of_number(number);
    const struct recorder_end end = end_of_number(number);

    pthread_mutex_lock(&calls_lock);
    struct recorder_slot *slot = recorder_called(recorder, &call);
    pthread_mutex_unlock(&calls_lock);

    if (number % 3 == 0)
        recorder_begun(recorder, slot);
    if (number % 6 == 0)
        recorder_arrived(recorder, slot, 2);
    recorder_ended(recorder, slot, &end);
}

#endif
