/* tests/integration/session/worker_join_test.c - joins a real hoopd, and
 * leaves */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "temporary.h"

enum {
    ELEMENTS = 100003,
};

/* Joins, reduces real data, calls a barrier, and leaves. */
static int
whole_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    struct hoop_stats stats;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_comm_rank(world) == worker->index);
    WORKER_CHECK(hoop_comm_size(world) == worker->n_workers);
    if (worker_allreduce(world, ELEMENTS) != 0)
        return 1;
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    hoop_session_stats(session, &stats);
    WORKER_CHECK(stats.operations == 2);
    WORKER_CHECK((stats.bytes_sent > 0) == (worker->n_workers > 1));
    hoop_leave(session);
    return 0;
}

static void
workers_join_reduce_and_leave(void **state)
{
    static const uint32_t sizes[] = {1, 2, 4};

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(workers_run(hoopd.address, sizes[i], whole_body, NULL),
                         0);
}

/* The neighbours in the ring are connected before anything is sent. */
static int
join_connects_the_ring_neighbours(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    struct hoop_stats stats;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_session_stats(session, &stats);
    WORKER_CHECK(stats.connections >= 2);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    hoop_leave(session);
    return 0;
}

/* The workers do not wait for each other, so some finish while others still
 * join. */
static int
join_succeeds_though_others_have_left_again(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    int32_t value = (int32_t)worker->index;

    for (int i = 0; i < 5; i++) {
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
        hoop_leave(session);
        WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
        WORKER_CHECK(hoop_broadcast(HOOP_IN_PLACE, &value, 1, HOOP_INT32, 1,
                                    hoop_world(session)) == HOOP_OK);
        WORKER_CHECK(value == 1);
        hoop_leave(session);
    }
    return 0;
}

static int
process_joins_leaves_and_joins_again(const struct worker *worker)
{
    for (int i = 0; i < 3; i++) {
        if (whole_body(worker) != 0)
            return 1;
    }
    return 0;
}

/* Uses a loopback address that no other test uses, and a range with as many
 * ports as ranks. */
static int
ranks_of_a_host_share_a_range_of_ports(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    const unsigned parent = (unsigned)getppid();
    char address[LIMIT_ADDRESS];
    hoop_session_t *session = NULL;

    snprintf(address, sizeof(address), "127.%u.%u.%u",
             100 + parent / 62500 % 100, 1 + parent / 250 % 250,
             1 + parent % 250);
    setenv("HOOP_PORT", "24000-24003", 1);
    options.advertise = address;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(worker_allreduce(hoop_world(session), ELEMENTS) == 0);
    hoop_leave(session);
    return 0;
}

static int
two_sessions_live_in_one_process(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    const uint32_t reversed = worker->n_workers - 1 - worker->index;
    hoop_session_t *first = NULL;
    hoop_session_t *second = NULL;

    WORKER_CHECK(hoop_join(&options, &first) == HOOP_OK);
    options.job = "other";
    options.rank = &reversed;
    WORKER_CHECK(hoop_join(&options, &second) == HOOP_OK);
    WORKER_CHECK(hoop_comm_rank(hoop_world(first)) == worker->index);
    WORKER_CHECK(hoop_comm_rank(hoop_world(second)) == reversed);
    for (int i = 0; i < 3; i++) {
        if (worker_allreduce(hoop_world(second), ELEMENTS) != 0 ||
            worker_allreduce(hoop_world(first), ELEMENTS) != 0)
            return 1;
    }
    hoop_leave(first);
    if (worker_allreduce(hoop_world(second), ELEMENTS) != 0)
        return 1;
    hoop_leave(second);
    return 0;
}

/* All settings come from the environment, including the rank and size from a
 * launcher. */
static int
join_takes_the_environment_and_the_launcher(const struct worker *worker)
{
    char number[16];
    hoop_session_t *session = NULL;

    snprintf(number, sizeof(number), "%u", worker->index);
    setenv("HOOP_COORDINATOR", worker->coordinator, 1);
    setenv("HOOP_JOB", "environment", 1);
    setenv("HOOP_TOKEN", "secret", 1);
    setenv("SLURM_PROCID", number, 1);
    snprintf(number, sizeof(number), "%u", worker->n_workers);
    setenv("SLURM_NTASKS", number, 1);
    WORKER_CHECK(hoop_join(NULL, &session) == HOOP_OK);
    WORKER_CHECK(hoop_comm_rank(hoop_world(session)) == worker->index);
    WORKER_CHECK(hoop_comm_size(hoop_world(session)) == worker->n_workers);
    if (worker_allreduce(hoop_world(session), 10) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* The fourth rank never joins. */
static int
missing_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.job = "incomplete";
    options.world_size = 4;
    options.join_timeout_ms = 2000;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_TIMEOUT);
    WORKER_CHECK(!session);
    WORKER_CHECK(strstr(hoop_error_text(), "cannot join job 'incomplete'"));
    WORKER_CHECK(strstr(hoop_error_text(), worker->coordinator));
    WORKER_CHECK(strstr(hoop_error_text(), "rank 3"));
    return 0;
}

static void
join_at_its_deadline_names_the_missing_rank(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 3, missing_body, NULL), 0);
    daemon_expect_log(&hoopd, "incomplete");
}

static int
taken_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    const uint32_t rank = 0;
    hoop_session_t *session = NULL;

    options.job = "taken";
    options.rank = &rank;
    options.join_timeout_ms = 2500;
    const enum hoop_status status = hoop_join(&options, &session);
    /* One worker is refused, and the other waits for a rank that never
     * comes. */
    WORKER_CHECK(status == HOOP_E_EXISTS || status == HOOP_E_TIMEOUT);
    if (status == HOOP_E_EXISTS)
        room_set(worker, 0, 1);
    return 0;
}

static void
join_with_a_rank_that_is_taken_is_refused(void **state)
{
    uint64_t room[WORKERS_ROOM];

    assert_int_equal(workers_run(hoopd.address, 2, taken_body, room), 0);
    assert_int_equal(room[0], 1);
}

static int
token_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.token = "guessed";
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_UNAUTHENTICATED);
    WORKER_CHECK(!strstr(hoop_error_text(), "guessed"));
    return 0;
}

static void
join_with_a_wrong_token_is_refused(void **state)
{
    char path[TEMPORARY_PATH] = "hoop_token.XXXXXX";
    char argument[TEMPORARY_FILE];
    const char *arguments[] = {argument, NULL};
    const int fd = temporary_file(path, sizeof(path));
    struct daemon strict;

    assert_int_equal(write(fd, "secret\n", 7), 7);
    close(fd);
    snprintf(argument, sizeof(argument), "--token-file=%s", path);
    daemon_start(&strict, arguments);
    const uint32_t n_refused = workers_run(strict.address, 1, token_body, NULL);
    const uint32_t n_bad = workers_run(strict.address, 2, whole_body, NULL);
    daemon_stop(&strict);
    unlink(path);
    assert_int_equal(n_refused, 0);
    assert_int_equal(n_bad, 0);
}

/* Ranks with different settings are told so, with these phrases, when they join
 * or call. */
static int
difference_is_told(const struct hoop_join_options *options,
                   const char *const *phrases)
{
    hoop_session_t *session = NULL;
    int32_t value = 1;
    enum hoop_status status = hoop_join(options, &session);

    if (status == HOOP_OK)
        status = hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM,
                                hoop_world(session));
    WORKER_CHECK(status == HOOP_E_MISMATCH);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 0 ("));
    const char *at = hoop_error_text();
    for (; *phrases; phrases++) {
        at = strstr(at, *phrases);
        WORKER_CHECK(at);
    }
    hoop_leave(session);
    return 0;
}

/* Only rank 0 has its calls checked first. */
static int
checking_body(const struct worker *worker)
{
    static const char *const phrases[] = {"has HOOP_CHECK=full, but", NULL};
    struct hoop_join_options options = worker_options(worker);

    options.job = "half-checked";
    options.check = worker->index == 0 ? "full" : "frames";
    return difference_is_told(&options, phrases);
}

static void
ranks_must_all_check_or_none(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 2, checking_body, NULL), 0);
    assert_int_equal(workers_run(hoopd.address, 3, checking_body, NULL), 0);
}

/* Only rank 0 would continue without a lost rank. */
static int
retrying_body(const struct worker *worker)
{
    static const char *const phrases[] = {" has HOOP_ON_FAILURE=retry",
                                          ", but rank ", " has error", NULL};
    struct hoop_join_options options = worker_options(worker);

    options.job = "half-retried";
    if (worker->index == 0)
        setenv("HOOP_ON_FAILURE", "retry", 1);
    return difference_is_told(&options, phrases);
}

/* No shared region makes rank 0 wait, so it learns this when the others have
 * left. */
static int
retrying_apart_body(const struct worker *worker)
{
    setenv("HOOP_TRANSPORT", "tcp", 1);
    setenv("HOOP_NODE", worker->index == 0 ? "first" : "second", 1);
    return retrying_body(worker);
}

static void
ranks_must_all_retry_or_none(void **state)
{
    for (uint32_t n = 2; n < 4; n++) {
        assert_int_equal(workers_run(hoopd.address, n, retrying_body, NULL), 0);
        assert_int_equal(
            workers_run(hoopd.address, n, retrying_apart_body, NULL), 0);
    }
}

/* All ranks have the setting. Correct calls work, and a rank that differs is
 * told at once. */
static int
calls_are_checked_first_where_that_is_set(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    int32_t value = 7;

    options.job = "checked";
    options.check = "full";
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    if (worker_allreduce(world, ELEMENTS) != 0)
        return 1;
    WORKER_CHECK(hoop_broadcast(HOOP_IN_PLACE, &value, 1, HOOP_INT32,
                                worker->index, world) == HOOP_E_MISMATCH);
    WORKER_CHECK(value == 7);
    if (worker_allreduce(world, 1) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static int
join_without_a_coordinator_says_so(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    const uint64_t late_ns = clock_deadline_ns(4000);

    options.coordinator = "127.0.0.1:1";
    options.join_timeout_ms = 1000;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_UNAVAILABLE);
    WORKER_CHECK(!clock_is_past(late_ns));
    WORKER_CHECK(strstr(hoop_error_text(), "127.0.0.1:1"));
    options.coordinator = "";
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_E_INVALID);
    return 0;
}

/* For a message from rank 0 that does not fit, the error has its number. */
static int
misfit_is_named(hoop_comm_t *comm, uint32_t n_messages)
{
    double value = 0;
    char sent[64];

    for (uint32_t i = 1; i <= n_messages; i++) {
        snprintf(sent, sizeof(sent), "send #%u (float32, 3 elements)", i);
        if (hoop_recv(&value, 1, HOOP_FLOAT64, 0, 0, comm, NULL) !=
                HOOP_E_MISMATCH ||
            !strstr(hoop_error_text(), sent))
            return fprintf(stderr, "not '%s': %s\n", sent, hoop_error_text()),
                   1;
    }
    return 0;
}

/* The send may learn in time that the message does not fit. */
static int
send_fails(uint32_t peer, hoop_comm_t *comm)
{
    const float values[3] = {0};
    const enum hoop_status status =
        hoop_send(values, 3, HOOP_FLOAT32, peer, 0, comm);

    return status != HOOP_OK && status != HOOP_E_MISMATCH;
}

static int
messages_are_numbered_from_one_for_each_pair(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *comms[2] = {NULL, NULL};
    int n_wrong = 0;

    if (hoop_join(&options, &session) != HOOP_OK)
        return 1;
    comms[0] = hoop_world(session);
    if (hoop_comm_split(comms[0], 0, (int)worker->index, &comms[1]) != HOOP_OK)
        return 1;
    for (int i = 0; i < 2; i++) {
        for (uint32_t peer = 1; worker->index == 0 && peer < 3; peer++)
            for (uint32_t n = 0; n < peer; n++)
                n_wrong += send_fails(peer, comms[i]);
        if (worker->index > 0)
            n_wrong += misfit_is_named(comms[i], worker->index);
        n_wrong += hoop_barrier(comms[i]) != HOOP_OK;
    }
    hoop_comm_free(comms[1]);
    hoop_leave(session);
    return n_wrong;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_join_reduce_and_leave),
        WORKERS_TEST(join_connects_the_ring_neighbours, 4),
        WORKERS_TEST(join_succeeds_though_others_have_left_again, 4),
        WORKERS_TEST(process_joins_leaves_and_joins_again, 2),
        WORKERS_TEST(ranks_of_a_host_share_a_range_of_ports, 4),
        WORKERS_TEST(two_sessions_live_in_one_process, 3),
        WORKERS_TEST(join_takes_the_environment_and_the_launcher, 2),
        cmocka_unit_test(join_at_its_deadline_names_the_missing_rank),
        cmocka_unit_test(join_with_a_rank_that_is_taken_is_refused),
        cmocka_unit_test(join_with_a_wrong_token_is_refused),
        WORKERS_TEST(join_without_a_coordinator_says_so, 1),
        cmocka_unit_test(ranks_must_all_check_or_none),
        cmocka_unit_test(ranks_must_all_retry_or_none),
        WORKERS_TEST(calls_are_checked_first_where_that_is_set, 3),
        WORKERS_TEST(messages_are_numbered_from_one_for_each_pair, 3),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
