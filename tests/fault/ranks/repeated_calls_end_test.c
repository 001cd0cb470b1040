/*
 * tests/fault/ranks/repeated_calls_end_test.c - what ends a row of small calls
 *
 * Calls like the last one need no operation while all is well (engine/inline.c).
 * Then the last rank dies, calls something else, or is stopped for a while, at
 * other moments of the others' calls each time. Dead, it is named by all; what
 * differs is told to each rank once; after a stop nothing is lost. The results
 * of all calls that end well are right.
 */

#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "ranks.h"

enum {
    N_CALLS = 40,
    N_MORE_CALLS = 20,
    /* Calls after which everybody has been told of a mismatch. */
    N_BARRIERS = 2,
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    N_MOMENTS = 4,
#else
    N_MOMENTS = 12,
#endif
    N_STOPS = 4,
};

/* The others wait for a small block for some 50 us before they sleep. */
static const uint64_t MOMENT_NS = 9000;
static const long STOPPED_NS = 5000000;
static const uint64_t SOON_NS = 10000000000;

static uint32_t
culprit_of(const struct rank *rank)
{
    return rank->size - 1;
}

/* One call; if it ends well, its result must be right. */
static enum hoop_status
sum_of_ranks(const struct rank *rank, int32_t n, bool *out_is_right)
{
    const int32_t size = (int32_t)rank->size;
    const int32_t value = n + (int32_t)rank->rank;
    int32_t sum = -1;
    const enum hoop_status status =
        hoop_allreduce(&value, &sum, 1, HOOP_INT32, HOOP_SUM, rank->comm);

    *out_is_right =
        status != HOOP_OK || sum == n * size + size * (size - 1) / 2;
    return status;
}

static int
make_calls(struct rank *rank, int32_t n_calls)
{
    bool is_right;

    for (int32_t n = 0; n < n_calls; n++) {
        RANK_CHECK(sum_of_ranks(rank, n, &is_right) == HOOP_OK);
        RANK_CHECK(is_right);
    }
    return 0;
}

/* Without a system call, which might last longer. */
static void
wait_for_the_moment(const struct rank *rank)
{
    const uint64_t *moment = rank->input;
    const uint64_t end_ns = clock_now_ns() + *moment * MOMENT_NS;

    while (clock_now_ns() < end_ns)
        ;
}

/* The others may still be in the last call that it has made. */
static int
die(struct rank *rank)
{
    enum hoop_status status = HOOP_OK;
    bool is_right = true;
    int32_t n_done = 0;

    if (rank->rank == culprit_of(rank)) {
        RANK_CHECK(make_calls(rank, N_CALLS) == 0);
        wait_for_the_moment(rank);
        kill(getpid(), SIGKILL);
    }
    const uint64_t begun_ns = clock_now_ns();
    for (; status == HOOP_OK && is_right; n_done++)
        status = sum_of_ranks(rank, n_done, &is_right);
    RANK_CHECK(is_right);
    RANK_CHECK(n_done >= N_CALLS);
    RANK_CHECK(status == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, culprit_of(rank)));
    RANK_CHECK(clock_now_ns() - begun_ns < SOON_NS);
    return 0;
}

static int
differ(struct rank *rank)
{
    const bool is_culprit = rank->rank == culprit_of(rank);
    int32_t values[2] = {1, 2};
    unsigned n_told = 0;

    RANK_CHECK(make_calls(rank, N_CALLS) == 0);
    if (is_culprit)
        wait_for_the_moment(rank);
    enum hoop_status status =
        hoop_allreduce(HOOP_IN_PLACE, values, 1, HOOP_INT32,
                       is_culprit ? HOOP_MAX : HOOP_SUM, rank->comm);
    for (unsigned i = 0;; i++) {
        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        RANK_CHECK(status == HOOP_OK || error_names(rank, culprit_of(rank)));
        n_told += status == HOOP_E_MISMATCH;
        if (i == N_BARRIERS)
            break;
        status = hoop_barrier(rank->comm);
    }
    RANK_CHECK(n_told == 1);
    RANK_CHECK(values[1] == 2);
    return make_calls(rank, N_MORE_CALLS);
}

/* The kernel lets this process go on after a while. */
static int
stop_for_a_while(struct rank *rank)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGCONT};
    const struct itimerspec when = {.it_value.tv_nsec = STOPPED_NS};
    timer_t timer;

    RANK_CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    wait_for_the_moment(rank);
    RANK_CHECK(timer_settime(timer, 0, &when, NULL) == 0);
    raise(SIGSTOP);
    timer_delete(timer);
    return 0;
}

static int
stop(struct rank *rank)
{
    for (unsigned i = 0; i < N_STOPS; i++) {
        RANK_CHECK(make_calls(rank, N_CALLS) == 0);
        if (rank->rank == culprit_of(rank))
            RANK_CHECK(stop_for_a_while(rank) == 0);
    }
    return make_calls(rank, N_CALLS);
}

static void
run_at_each_moment(rank_fn *body)
{
    for (uint32_t size = 2; size <= 4; size++) {
        for (uint64_t moment = 0; moment < N_MOMENTS; moment++)
            assert_int_equal(ranks_run(&(struct ranks_options){
                                 .size = size, .body = body, .input = &moment}),
                             0);
    }
}

static void
rank_that_dies_is_named_by_all(void **state)
{
    run_at_each_moment(die);
}

static void
call_that_differs_is_told_to_each_rank_once(void **state)
{
    run_at_each_moment(differ);
}

static void
rank_that_is_stopped_for_a_while_is_awaited(void **state)
{
    run_at_each_moment(stop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_dies_is_named_by_all),
        cmocka_unit_test(call_that_differs_is_told_to_each_rank_once),
        cmocka_unit_test(rank_that_is_stopped_for_a_while_is_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
