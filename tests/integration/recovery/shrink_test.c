/* tests/integration/recovery/shrink_test.c - survivors agree, shrink and
 * continue */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    COUNT = 3000,
    N_COMMS = 3,

    /* These are places in the room. */
    PLACE_READY = 0,
    PLACE_JOINED = 1,  /* how many have joined */
    PLACE_TOLD = 2,    /* the stopped rank was told */
    PLACE_CREATED = 3, /* how many have all of their communicators */
};

/* The sum of these values is not exact, so that the order of additions
 * shows. */
static void
values_fill(float *values, uint32_t world_rank)
{
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = 1.0F / (float)(i + 3 * world_rank + 1);
}

/* Checks that the bits are the same on all ranks, and the sum is that of the
 * members. */
static int
sum_check(hoop_comm_t *comm)
{
    static _Thread_local float values[COUNT];
    static _Thread_local float least[COUNT];
    static _Thread_local float most[COUNT];
    static _Thread_local float one[COUNT];
    const uint32_t size = hoop_comm_size(comm);
    const uint32_t rank = hoop_comm_rank(comm);

    values_fill(values, hoop_comm_world_rank(comm, rank));
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, values, COUNT, HOOP_FLOAT32,
                                HOOP_SUM, comm) == HOOP_OK);
    WORKER_CHECK(hoop_allreduce(values, least, COUNT, HOOP_FLOAT32, HOOP_MIN,
                                comm) == HOOP_OK);
    WORKER_CHECK(hoop_allreduce(values, most, COUNT, HOOP_FLOAT32, HOOP_MAX,
                                comm) == HOOP_OK);
    WORKER_CHECK(memcmp(least, values, sizeof(values)) == 0);
    WORKER_CHECK(memcmp(most, values, sizeof(values)) == 0);
    for (uint32_t i = 0; i < COUNT; i++)
        most[i] = 0;
    for (uint32_t i = 0; i < size; i++) {
        values_fill(one, hoop_comm_world_rank(comm, i));
        for (uint32_t j = 0; j < COUNT; j++)
            most[j] += one[j];
    }
    for (uint32_t i = 0; i < COUNT; i++)
        WORKER_CHECK(values[i] - most[i] < 1e-5F &&
                     most[i] - values[i] < 1e-5F);
    return 0;
}

/* Returns the world ranks of comm, plus one each, as decimal digits. */
static uint32_t
digits_of(const hoop_comm_t *comm)
{
    uint32_t digits = 0;

    for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
        digits = 10 * digits + 1 + hoop_comm_world_rank(comm, i);
    return digits;
}

/* Returns the failed ranks in the same form. */
static uint32_t
failed_of(hoop_comm_t *comm)
{
    uint32_t ranks[WORKERS_MAX];
    uint32_t n_ranks = 0;
    uint32_t digits = 0;

    if (hoop_comm_failed_agreed(comm, ranks, WORKERS_MAX, &n_ranks) != HOOP_OK)
        return UINT32_MAX;
    for (uint32_t i = 0; i < n_ranks; i++)
        digits = 10 * digits + 1 + ranks[i];
    return digits;
}

static int
world_join(const struct worker *worker, hoop_session_t **out_session)
{
    return worker_join(worker, worker->n_workers, PLACE_JOINED, out_session);
}

/* Rank 1 dies. One of the survivors is already in the next collective. */
static int
survivors_of_a_kill_shrink_and_sum_bit_by_bit(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;
    hoop_comm_t *again = NULL;
    uint32_t ranks[1] = {9};
    uint32_t n_ranks = 0;

    if (world_join(worker, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker_lose(worker, 1, world) != 0)
        return 1;
    WORKER_CHECK(hoop_comm_failed(world, ranks, 1, &n_ranks) == HOOP_OK);
    WORKER_CHECK(n_ranks == 1 && ranks[0] == 1);
    WORKER_CHECK(failed_of(world) == 0);
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    WORKER_CHECK(failed_of(world) == 2);
    WORKER_CHECK(digits_of(shrunk) == 134);
    WORKER_CHECK(hoop_comm_unfinished(world) == 0);
    /* The barrier was the second call. */
    WORKER_CHECK(hoop_comm_unfinished(shrunk) == 2);
    WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 1 ("));
    if (sum_check(shrunk) != 0)
        return 1;
    /* No rank is lost, so the result is like a duplicate. */
    WORKER_CHECK(hoop_comm_shrink(shrunk, &again) == HOOP_OK);
    WORKER_CHECK(failed_of(shrunk) == 0 && digits_of(again) == 134);
    WORKER_CHECK(hoop_comm_unfinished(again) == 4);
    WORKER_CHECK(hoop_barrier(shrunk) == HOOP_OK);
    hoop_comm_free(shrunk);
    if (sum_check(again) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* Rank 0 waits for a message of rank 1, which continues after rank 3 has
 * died. */
static int
who_waits_for_a_survivor_is_interrupted(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;
    float value = 0;

    if (world_join(worker, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == 3)
        kill(getpid(), SIGKILL);
    if (worker->index == 0)
        WORKER_CHECK(hoop_recv(&value, 1, HOOP_FLOAT32, 1, 7, world, NULL) ==
                     HOOP_E_PEER_LOST);
    else
        WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 3 ("));
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    WORKER_CHECK(digits_of(shrunk) == 123);
    if (sum_check(shrunk) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* Rank 2 dies during the shrink, at a given moment. */
static void *
killer_main(void *argument)
{
    const struct timespec pause = {.tv_nsec = *(const long *)argument};

    nanosleep(&pause, NULL);
    kill(getpid(), SIGKILL);
    return NULL;
}

static int
inside_body(const struct worker *worker)
{
    static long pause_ns;
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;
    pthread_t killer;

    pause_ns = (long)worker->room[WORKERS_ROOM - 1];
    if (world_join(worker, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker_lose(worker, 0, world) != 0)
        return 1;
    if (worker->index == 2)
        WORKER_CHECK(pthread_create(&killer, NULL, killer_main, &pause_ns) ==
                     0);
    enum hoop_status status = hoop_comm_shrink(world, &shrunk);
    if (worker->index == 2)
        pause();
    /* It may have completed the shrink before, and is missing only now. */
    while (status == HOOP_OK && hoop_comm_size(shrunk) != 2) {
        hoop_comm_t *next = NULL;

        WORKER_CHECK(hoop_barrier(shrunk) == HOOP_E_PEER_LOST);
        status = hoop_comm_shrink(shrunk, &next);
        hoop_comm_free(shrunk);
        shrunk = next;
    }
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(digits_of(shrunk) == 24);
    if (sum_check(shrunk) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static int
inside_body_at_once(const struct worker *worker)
{
    worker->room[WORKERS_ROOM - 1] = 1;
    return inside_body(worker);
}

static int
inside_body_later(const struct worker *worker)
{
    worker->room[WORKERS_ROOM - 1] = 3 * CLOCK_NS_PER_MS;
    return inside_body(worker);
}

static void
death_inside_a_shrink_is_left_out_too(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 4, inside_body_at_once, NULL),
                     0);
    assert_int_equal(workers_run(hoopd.address, 4, inside_body_later, NULL), 0);
}

/* All ranks write down what they got, and rank 1 compares it. */
static int
agreement_with_a_death_inside_is_the_same_on_all(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    uint64_t flags = 0xff0 | 1U << worker->index;

    if (world_join(worker, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_comm_agree(world, &flags) == HOOP_OK);
    WORKER_CHECK(flags == 0xff0 && failed_of(world) == 0);
    /* The rank dies after it has contributed. */
    if (worker->index == 2) {
        static long pause_ns = 20 * (long)CLOCK_NS_PER_MS;
        pthread_t killer;

        flags = 0;
        WORKER_CHECK(pthread_create(&killer, NULL, killer_main, &pause_ns) ==
                     0);
        WORKER_CHECK(hoop_comm_agree(world, &flags) != HOOP_OK);
        pause();
    }
    if (worker->index == 3) {
        WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
        room_set(worker, PLACE_READY, 1);
    } else {
        room_await(worker, PLACE_READY);
    }
    flags = 0x3c;
    WORKER_CHECK(hoop_comm_agree(world, &flags) == HOOP_OK);
    WORKER_CHECK(flags == 0x3c && failed_of(world) == 3);
    hoop_leave(session);
    return 0;
}

struct strand {
    hoop_comm_t *comm;
    hoop_comm_t *shrunk;
    int result;
};

static int
strand_go_on(struct strand *strand)
{
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK)
        status = hoop_barrier(strand->comm);
    WORKER_CHECK(status == HOOP_E_PEER_LOST);
    WORKER_CHECK(hoop_comm_shrink(strand->comm, &strand->shrunk) == HOOP_OK);
    for (int i = 0; i < 3; i++) {
        if (sum_check(strand->shrunk) != 0)
            return 1;
    }
    return 0;
}

static void *
strand_main(void *argument)
{
    struct strand *strand = argument;

    strand->result = strand_go_on(strand);
    return NULL;
}

/* Each thread has a communicator with another order of ranks. */
static int
threads_shrink_their_own_communicators(const struct worker *worker)
{
    static const uint32_t lists[N_COMMS][4] = {
        {0, 1, 2, 3}, {3, 1, 2, 0}, {2, 3, 0, 1}};
    static const uint32_t left[N_COMMS] = {123, 231, 312};
    struct strand strands[N_COMMS] = {0};
    pthread_t threads[N_COMMS];
    hoop_session_t *session = NULL;

    if (world_join(worker, &session) != 0)
        return 1;
    for (int i = 0; i < N_COMMS; i++)
        WORKER_CHECK(hoop_comm_create(session, lists[i], 4, &strands[i].comm) ==
                     HOOP_OK);
    for (int i = 0; i < N_COMMS; i++)
        WORKER_CHECK(
            pthread_create(&threads[i], NULL, strand_main, &strands[i]) == 0);
    __atomic_fetch_add(&worker->room[PLACE_CREATED], 1, __ATOMIC_SEQ_CST);
    if (worker->index == 3) {
        WORKER_CHECK(room_await_count(worker, PLACE_CREATED, 4) == 4);
        kill(getpid(), SIGKILL);
    }
    for (int i = 0; i < N_COMMS; i++) {
        pthread_join(threads[i], NULL);
        WORKER_CHECK(strands[i].result == 0);
        WORKER_CHECK(digits_of(strands[i].shrunk) == left[i]);
        hoop_comm_free(strands[i].comm);
        hoop_comm_free(strands[i].shrunk);
    }
    hoop_leave(session);
    return 0;
}

/* No rank is lost, but one revokes the communicator. */
static int
revoked_communicator_fails_on_all_and_can_be_shrunk(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;

    if (world_join(worker, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == 0)
        WORKER_CHECK(hoop_comm_revoke(world) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(world) == HOOP_E_ABORTED);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 0 ("));
    WORKER_CHECK(strstr(hoop_error_text(), "has revoked the communicator"));
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(shrunk) == 3);
    if (sum_check(shrunk) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* The others declare the rank lost while it is stopped. */
static int
stopped_rank_is_left_out_and_told_so(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    hoop_comm_t *shrunk = NULL;

    setenv("HOOP_FAILURE_TIMEOUT", "2", 1);
    if (world_join(worker, &session) != 0)
        return 1;
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == 1) {
        room_set(worker, PLACE_READY, (uint64_t)getpid());
        kill(getpid(), SIGSTOP);
        WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_E_ABORTED);
        WORKER_CHECK(strstr(hoop_error_text(), "declared lost"));
        room_set(worker, PLACE_TOLD, 1);
        hoop_leave(session);
        return 0;
    }
    const pid_t stopped = (pid_t)room_await(worker, PLACE_READY);
    /* No call was made before, so the shrink itself finds the silent rank. */
    WORKER_CHECK(hoop_comm_shrink(world, &shrunk) == HOOP_OK);
    WORKER_CHECK(digits_of(shrunk) == 13);
    if (sum_check(shrunk) != 0)
        return 1;
    /* The job continues meanwhile. */
    if (worker->index == 0)
        kill(stopped, SIGCONT);
    room_await(worker, PLACE_TOLD);
    hoop_leave(session);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(survivors_of_a_kill_shrink_and_sum_bit_by_bit, 4),
        WORKERS_TEST(who_waits_for_a_survivor_is_interrupted, 4),
        cmocka_unit_test(death_inside_a_shrink_is_left_out_too),
        WORKERS_TEST(agreement_with_a_death_inside_is_the_same_on_all, 4),
        WORKERS_TEST(threads_shrink_their_own_communicators, 4),
        WORKERS_TEST(revoked_communicator_fails_on_all_and_can_be_shrunk, 3),
        WORKERS_TEST(stopped_rank_is_left_out_and_told_so, 3),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
