/* tests/integration/recorder/recorder_job_test.c - each rank's record is the
 * list of the calls that it made */

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoop/recorder.h"

#include "base/clock.h"
#include "check.h"
#include "pseudo_random.h"
#include "ranks.h"
#include "temporary.h"

enum {
    SIZE = 4,
    CALLS = 300,
    COUNT_MAX = 70000,
    VICTIM = 2,
    LATE_RANK = 3,
    CALLS_BEFORE_END = 20,
    SIGNS_MS = 15000,
    POLL_US = 20000,
};

/* More than a comparison of the clocks that a call made at its beginning. */
static const uint64_t WAIT_SEEN_NS = 2500000000;

enum call_kind {
    CALL_SUM,
    CALL_BCAST,
    CALL_BAR,
    CALL_RING, /* each rank sends to the next one, which receives from any */
    CALL_KINDS,
};

struct made_call {
    enum call_kind kind;
    uint32_t count;
    uint32_t root;
};

static char folder[TEMPORARY_PATH];
static float buffer[COUNT_MAX];
static float result[COUNT_MAX];

/* The calls of the job: the oracle, from which the ranks make them. */
static void
calls_draw(uint64_t seed, struct made_call calls[CALLS])
{
    for (unsigned i = 0; i < CALLS; i++) {
        /* A call like the last one may be made without a request. */
        if (i > 0 && random_below(&seed, 2) == 0) {
            calls[i] = calls[i - 1];
            continue;
        }
        calls[i].kind = (enum call_kind)random_below(&seed, CALL_KINDS);
        calls[i].count = random_below(&seed, 8) == 0
                             ? 1 + random_below(&seed, COUNT_MAX - 1)
                             : 1 + random_below(&seed, 16);
        calls[i].root = random_below(&seed, SIZE);
    }
}

static enum hoop_status
ring_make(const struct rank *rank, uint32_t count, int64_t tag)
{
    struct hoop_received received;
    hoop_op_t *op = NULL;
    enum hoop_status status =
        hoop_send_start(buffer, count, HOOP_FLOAT32,
                        (rank->rank + 1) % rank->size, tag, rank->comm, &op);

    if (status == HOOP_OK)
        status = hoop_recv(result, COUNT_MAX, HOOP_FLOAT32, HOOP_ANY_SOURCE,
                           tag, rank->comm, &received);
    return status == HOOP_OK ? hoop_wait(op, -1) : status;
}

static enum hoop_status
call_make(const struct rank *rank, const struct made_call *call, int64_t tag)
{
    switch (call->kind) {
    case CALL_SUM:
        return hoop_allreduce(buffer, result, call->count, HOOP_FLOAT32,
                              HOOP_MAX, rank->comm);
    case CALL_BCAST:
        return hoop_broadcast(buffer, buffer, call->count, HOOP_FLOAT32,
                              call->root, rank->comm);
    case CALL_BAR:
        return hoop_barrier(rank->comm);
    case CALL_RING:
        return ring_make(rank, call->count, tag);
    case CALL_KINDS:
        break;
    }
    return HOOP_E_INVALID;
}

static int
body_makes_all_calls(struct rank *rank)
{
    struct made_call calls[CALLS];

    calls_draw(1, calls);
    for (unsigned i = 0; i < CALLS; i++)
        RANK_CHECK(call_make(rank, &calls[i], i) == HOOP_OK);
    return 0;
}

static hoop_recording_t *
record_read(uint32_t rank)
{
    char path[sizeof(folder) + 40];
    hoop_recording_t *recording = NULL;

    snprintf(path, sizeof(path), "%s/test.%u.hoopr", folder, rank);
    assert_ok(hoop_recording_read(path, &recording));
    assert_int_equal(hoop_recording_origin(recording)->rank, rank);
    assert_int_equal(hoop_recording_origin(recording)->size, SIZE);
    assert_string_equal(hoop_recording_origin(recording)->job, "test");
    return recording;
}

static int
folder_open(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "recorder-XXXXXX");
    if (!temporary_folder(folder, sizeof(folder)))
        return -1;
    return setenv("HOOP_RECORDER_DIR", folder, 1);
}

static int
folder_close(void **state)
{
    char path[sizeof(folder) + 260];
    const struct dirent *entry;
    DIR *opened = opendir(folder);

    (void)state;
    while (opened && (entry = readdir(opened))) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (opened)
        closedir(opened);
    return rmdir(folder);
}

/* What is the same of all calls that ended well. */
static void
assert_is_done(const struct hoop_recorded_call *call, uint32_t count)
{
    assert_int_equal(call->state, HOOP_RECORDED_DONE);
    assert_int_equal(call->status, HOOP_OK);
    assert_false(call->is_partial);
    assert_true(call->called_ns > 0);
    assert_true(call->ended_ns >= call->called_ns);
    assert_true(call->path != 0);
    assert_int_equal(call->n_bytes, count * sizeof(float));
    if (call->first_byte_ns) {
        assert_true(call->first_byte_ns >= call->called_ns);
        assert_true(call->last_byte_ns >= call->first_byte_ns);
        assert_true(call->ended_ns >= call->last_byte_ns);
    }
}

/* Returns how many records the call has. */
static size_t
assert_is_made_call(const struct hoop_recorded_call *call,
                    const struct made_call *made,
                    uint32_t rank,
                    int64_t tag)
{
    static const char *const kinds[] = {"allreduce", "broadcast", "barrier"};

    if (made->kind != CALL_RING) {
        assert_string_equal(call->kind, kinds[made->kind]);
        assert_is_done(call, made->kind == CALL_BAR ? 0 : made->count);
        assert_string_equal(call->reduce_op,
                            made->kind == CALL_SUM ? "max" : "");
        assert_true(call->algorithm[0] != '\0');
        /* Of a sum every rank receives a part, also if no request is made. */
        if (made->kind == CALL_SUM && !(call->path & HOOP_RECORDED_REGION))
            assert_true(call->first_byte_ns > 0);
        assert_int_equal(call->peer,
                         made->kind == CALL_BCAST ? made->root : HOOP_NO_RANK);
        return 1;
    }
    assert_string_equal(call[0].kind, "send");
    assert_int_equal(call[0].peer, (rank + 1) % SIZE);
    assert_string_equal(call[1].kind, "recv");
    assert_int_equal(call[1].peer, (rank + SIZE - 1) % SIZE);
    assert_string_equal(call[1].dtype, "float32");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(call[i].tag, tag);
        assert_is_done(&call[i], made->count);
    }
    return 2;
}

/* Collectives are numbered as on all ranks; a message has the same number at
 * both of its ends. */
static void
record_is_the_list_of_all_calls(void **state)
{
    struct made_call calls[CALLS];
    uint64_t sent[SIZE][CALLS] = {{0}};
    uint64_t received[SIZE][CALLS] = {{0}};

    (void)state;
    assert_int_equal(ranks_run_all(SIZE, body_makes_all_calls), 0);
    calls_draw(1, calls);
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        hoop_recording_t *recording = record_read(rank);
        size_t n_calls;
        const struct hoop_recorded_call *call =
            hoop_recording_calls(recording, &n_calls);
        const struct hoop_recorded_call *end = call + n_calls;
        uint64_t number = 0;

        /* First come the library's own, which form the communicator. */
        while (call < end && strcmp(call->kind, "allreduce") != 0 &&
               strcmp(call->kind, "broadcast") != 0 &&
               strcmp(call->kind, "barrier") != 0 &&
               !(call->is_message && call->tag < CALLS))
            call++;
        for (unsigned i = 0; i < CALLS; i++) {
            assert_true(call < end);
            if (calls[i].kind == CALL_RING) {
                sent[rank][i] = call[0].wire_number;
                received[rank][i] = call[1].wire_number;
            } else {
                assert_true(number == 0 || call->wire_number == number + 1);
                number = call->wire_number;
            }
            call += assert_is_made_call(call, &calls[i], rank, i);
        }
        assert_true(call == end);
        hoop_recording_destroy(recording);
    }
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        for (unsigned i = 0; i < CALLS; i++)
            assert_int_equal(received[rank][i],
                             sent[(rank + SIZE - 1) % SIZE][i]);
    }
}

/* The victim is killed while it is in a call that cannot end, because one rank
 * is late for it; the others know of its death before they give up. */
static int
body_of_killed_rank(struct rank *rank)
{
    float value = 1;

    for (unsigned i = 0; i < CALLS_BEFORE_END; i++)
        RANK_CHECK(hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_MAX,
                                  rank->comm) == HOOP_OK);
    if (rank->rank == VICTIM) {
        room_add(rank, 0);
        return hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_SUM,
                              rank->comm) == HOOP_OK;
    }
    if (rank->rank == LATE_RANK) {
        room_await(rank, 0, 1);
        usleep((useconds_t)(rank->pids[VICTIM] % 7) * 1000);
        kill(rank->pids[VICTIM], SIGKILL);
        rank_await_end(rank, VICTIM);
    }
    enum hoop_status status = HOOP_OK;
    /* The first of them can end well, if the victim had done its part. */
    for (unsigned i = 0; i < 2 && status == HOOP_OK; i++)
        status = hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_SUM,
                                rank->comm);
    RANK_CHECK(status == HOOP_E_PEER_LOST);
    return 0;
}

static void
killed_rank_leaves_its_record_and_others_name_it(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(SIZE, body_of_killed_rank), 0);
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        hoop_recording_t *recording = record_read(rank);
        size_t n_calls;
        const struct hoop_recorded_call *calls =
            hoop_recording_calls(recording, &n_calls);
        const struct hoop_recorded_call *last = &calls[n_calls - 1];
        unsigned n_before = 0;

        for (size_t i = 0; i < n_calls; i++)
            n_before += strcmp(calls[i].kind, "allreduce") == 0 &&
                        strcmp(calls[i].reduce_op, "max") == 0 &&
                        calls[i].state == HOOP_RECORDED_DONE;
        assert_int_equal(n_before, CALLS_BEFORE_END);
        if (rank == VICTIM) {
            assert_false(hoop_recording_origin(recording)->is_closed);
            if (strcmp(last->reduce_op, "sum") == 0)
                assert_true(last->state < HOOP_RECORDED_DONE);
        } else {
            assert_string_equal(last->reduce_op, "sum");
            assert_int_equal(last->state, HOOP_RECORDED_FAILED);
            assert_int_equal(last->status, HOOP_E_PEER_LOST);
            assert_in_range(last->number, CALLS_BEFORE_END + 1,
                            CALLS_BEFORE_END + 2);
        }
        hoop_recording_destroy(recording);
    }
}

/* One rank never calls. What the others' calls say is read by them before they
 * do anything else. */
static int
body_of_missing_rank(struct rank *rank)
{
    float value = 1;
    char path[sizeof(folder) + 40];
    hoop_recording_t *recording = NULL;
    size_t n_calls;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == LATE_RANK) {
        room_await(rank, 0, SIZE - 1);
        return 0;
    }
    const enum hoop_status status =
        hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_SUM, rank->comm);
    const uint32_t waited_for = hoop_error_failure()->waited_for;
    RANK_CHECK(status == HOOP_E_TIMEOUT);
    snprintf(path, sizeof(path), "%s/test.%u.hoopr", folder, rank->rank);
    RANK_CHECK(hoop_recording_read(path, &recording) == HOOP_OK);
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    const struct hoop_recorded_call *last = &calls[n_calls - 1];
    RANK_CHECK(last->state == HOOP_RECORDED_FAILED);
    RANK_CHECK(last->status == HOOP_E_TIMEOUT);
    RANK_CHECK(waited_for == HOOP_NO_RANK || last->waited_for == waited_for);
    RANK_CHECK(last->waited_for < SIZE && last->waited_for != rank->rank);
    hoop_recording_destroy(recording);
    room_add(rank, 0);
    return 0;
}

static void
failed_call_is_recorded_before_it_returns(void **state)
{
    const struct ranks_options options = {
        .size = SIZE,
        .body = body_of_missing_rank,
        .timeout_ms = 1500,
    };

    (void)state;
    assert_int_equal(ranks_run(&options), 0);
}

/* Returns when a rank is known to have lived after it made the call in which it
 * is now; 0: it is in none. */
static uint64_t
record_seen_in_call_ns(uint32_t rank)
{
    hoop_recording_t *recording = record_read(rank);
    size_t n_calls;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    const struct hoop_recorded_call *last = &calls[n_calls - 1];
    const uint64_t seen_ns = hoop_recording_origin(recording)->seen_ns;
    const bool is_in_call = n_calls > 0 && last->state < HOOP_RECORDED_DONE &&
                            seen_ns > last->called_ns;
    const uint64_t in_call_ns = is_in_call ? seen_ns - last->called_ns : 0;

    hoop_recording_destroy(recording);
    return in_call_ns;
}

/* One waits in a message, two in a collective. */
static int
body_of_waiting_rank(struct rank *rank)
{
    const uint64_t deadline_ns = clock_deadline_ns(SIGNS_MS);
    float value = 1;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == LATE_RANK) {
        for (uint32_t i = 0; i < LATE_RANK; i++) {
            while (record_seen_in_call_ns(i) < WAIT_SEEN_NS) {
                RANK_CHECK(!clock_is_past(deadline_ns));
                usleep(POLL_US);
            }
        }
        RANK_CHECK(hoop_send(&value, 1, HOOP_FLOAT32, VICTIM, 0, rank->comm) ==
                   HOOP_OK);
    }
    if (rank->rank == VICTIM)
        RANK_CHECK(hoop_recv(&value, 1, HOOP_FLOAT32, LATE_RANK, 0, rank->comm,
                             NULL) == HOOP_OK);
    return hoop_allreduce(&value, &value, 1, HOOP_FLOAT32, HOOP_SUM,
                          rank->comm) != HOOP_OK;
}

static void
rank_that_waits_gives_signs_of_life(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(SIZE, body_of_waiting_rank), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(record_is_the_list_of_all_calls,
                                        folder_open, folder_close),
        cmocka_unit_test_setup_teardown(
            killed_rank_leaves_its_record_and_others_name_it, folder_open,
            folder_close),
        cmocka_unit_test_setup_teardown(
            failed_call_is_recorded_before_it_returns, folder_open,
            folder_close),
        cmocka_unit_test_setup_teardown(rank_that_waits_gives_signs_of_life,
                                        folder_open, folder_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
