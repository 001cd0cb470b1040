/*
 * tests/integration/recovery/attrition_test.c - jobs whose members die one by
 * one
 *
 * Six workers reduce without pause. Four of them are killed at random moments
 * that are 50 ms apart. The others shrink and continue, and recompute every
 * result from exactly the members of the communicator that gave it: no member
 * counts twice, and no other process counts. Then the next job begins, until
 * the time is over. In the end hoopd must have as many descriptors as before.
 * ATTRITION_SECONDS=600 makes the test longer, and ATTRITION_SEED repeats the
 * moments. ATTRITION_COORDINATOR=HOST:PORT uses a hoopd that somebody else runs
 * and may kill (tests/fault/recovery/attrition_deaths.py).
 */

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "proc_state.h"
#include "pseudo_random.h"

enum {
    N_WORKERS = 6,
    N_SURVIVORS = 2,
    COUNT = 5000,
    APART_US = 50000,
    /* So many rounds follow after the last death. */
    ROUNDS_LEFT = 20,
    SECONDS = 1,
    WARM_UP_JOBS = 2,
    DESCRIPTORS_GROWTH = 8,
    SETTLE_MS = 20000,
    JOIN_MS = 30000,

    /* These are places in the room. */
    PLACE_JOINED = 0,
    PLACE_RESULTS = 1,
    PLACE_SHRUNK = 2,
};

static uint64_t seed;
/* Each job has another name. If hoopd dies before it hears of a leave, it keeps
 * the name until the leases end. */
static char job[32];

/* Kills the process at its moment, whatever it is doing then. */
static void *
killer_main(void *argument)
{
    const uint64_t us = *(const uint64_t *)argument;
    const struct timespec pause = {(time_t)(us / 1000000),
                                   (long)(us % 1000000) * 1000};

    nanosleep(&pause, NULL);
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Element 0 shows which ranks have contributed. */
static int64_t
element_of(uint32_t world_rank, uint64_t round, size_t at)
{
    if (at == 0)
        return (int64_t)1 << (8 * world_rank);
    return (int64_t)(round * 7 + at) * (world_rank + 1);
}

static int
result_check(hoop_comm_t *comm, uint64_t round, const int64_t *elements)
{
    for (size_t at = 0; at < COUNT; at++) {
        int64_t sum = 0;

        for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
            sum += element_of(hoop_comm_world_rank(comm, i), round, at);
        if (elements[at] == sum)
            continue;
        fprintf(stderr,
                "%u ranks, round %" PRIu64 ", element %zu: %" PRIx64
                ", not %" PRIx64 "\n",
                hoop_comm_size(comm), round, at, (uint64_t)elements[at],
                (uint64_t)sum);
        return 1;
    }
    return 0;
}

/* Returns HOOP_OK when the survivors have made enough rounds. */
static enum hoop_status
reduce_on(const struct worker *worker, hoop_comm_t *comm, int *out_n_wrong)
{
    static int64_t elements[COUNT];
    const uint32_t mine = hoop_comm_world_rank(comm, hoop_comm_rank(comm));

    for (uint64_t round = 0;
         hoop_comm_size(comm) > N_SURVIVORS || round < ROUNDS_LEFT; round++) {
        for (size_t at = 0; at < COUNT; at++)
            elements[at] = element_of(mine, round, at);
        const enum hoop_status status = hoop_allreduce(
            HOOP_IN_PLACE, elements, COUNT, HOOP_INT64, HOOP_SUM, comm);

        if (status != HOOP_OK)
            return status;
        *out_n_wrong += result_check(comm, round, elements);
        __atomic_fetch_add(&worker->room[PLACE_RESULTS], 1, __ATOMIC_SEQ_CST);
    }
    return HOOP_OK;
}

/* Shrinks again if a member dies during the shrink. */
static int
shrink_surely(const struct worker *worker,
              hoop_comm_t **comm,
              hoop_comm_t *world)
{
    enum hoop_status status = HOOP_E_ABORTED;
    hoop_comm_t *smaller = NULL;

    for (int i = 0; i < N_WORKERS && status == HOOP_E_ABORTED; i++)
        status = hoop_comm_shrink(*comm, &smaller);
    if (status != HOOP_OK)
        fprintf(stderr, "shrink: %s\n", hoop_error_text());
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(smaller) >= N_SURVIVORS);
    __atomic_fetch_add(&worker->room[PLACE_SHRUNK], 1, __ATOMIC_SEQ_CST);
    if (*comm != world)
        hoop_comm_free(*comm);
    *comm = smaller;
    return 0;
}

static int
attrition_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    /* The first and the last worker survive. */
    static uint64_t moment_us;
    hoop_session_t *session = NULL;
    pthread_t killer;
    int n_wrong = 0;

    /* A worker that is only slow on a busy machine must not count as lost. */
    setenv("HOOP_FAILURE_TIMEOUT", "30", 0);
    options.job = job;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    const uint64_t deadline_ns = clock_deadline_ns(JOIN_MS);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    __atomic_fetch_add(&worker->room[PLACE_JOINED], 1, __ATOMIC_SEQ_CST);
    while (worker->room[PLACE_JOINED] < worker->n_workers) {
        WORKER_CHECK(!clock_is_past(deadline_ns));
        usleep(500);
    }
    for (uint32_t i = 0; i <= worker->index; i++)
        moment_us = worker->index * APART_US + random_below(&seed, APART_US);
    if (worker->index > 0 && worker->index < worker->n_workers - 1)
        WORKER_CHECK(pthread_create(&killer, NULL, killer_main, &moment_us) ==
                     0);

    hoop_comm_t *comm = hoop_world(session);
    while (reduce_on(worker, comm, &n_wrong) != HOOP_OK)
        if (shrink_surely(worker, &comm, hoop_world(session)) != 0)
            return 1;
    WORKER_CHECK(n_wrong == 0);
    if (comm != hoop_world(session))
        hoop_comm_free(comm);
    hoop_leave(session);
    return 0;
}

/* Connections of dead workers are closed soon afterwards. */
static void
descriptors_await(size_t n_most)
{
    const uint64_t deadline_ns = clock_deadline_ns(SETTLE_MS);

    while (descriptors_count(hoopd.pid) > n_most && !clock_is_past(deadline_ns))
        usleep(20000);
    assert_true(descriptors_count(hoopd.pid) <= n_most);
}

static void
who_is_left_goes_on_and_counts_nobody_else(void **state)
{
    const char *given = getenv("ATTRITION_COORDINATOR");
    const char *coordinator = given ? given : hoopd.address;
    const uint64_t seconds =
        number_from_environment("ATTRITION_SECONDS", SECONDS);
    const uint64_t deadline_ns = clock_deadline_ns(seconds * 1000);
    uint64_t room[WORKERS_ROOM];
    uint64_t n_results = 0;
    uint64_t n_shrunk = 0;
    unsigned int n_jobs = 0;
    size_t n_descriptors = 0;

    seed = number_from_environment("ATTRITION_SEED", clock_now_ns()) | 1;
    printf("ATTRITION_SEED=%" PRIu64 "\n", seed);
    do {
        snprintf(job, sizeof(job), "attrition-%u", n_jobs);
        /* The workers draw from copies of the seed. */
        random_below(&seed, 2);
        assert_int_equal(
            workers_run(coordinator, N_WORKERS, attrition_body, room), 0);
        n_results += room[PLACE_RESULTS];
        n_shrunk += room[PLACE_SHRUNK];
        n_jobs++;
        if (n_jobs == WARM_UP_JOBS && !given)
            n_descriptors = descriptors_count(hoopd.pid);
    } while (!clock_is_past(deadline_ns) || n_jobs < WARM_UP_JOBS);
    printf("%u jobs, %u killed, %" PRIu64 " shrunk, %" PRIu64
           " results, none wrong\n",
           n_jobs, n_jobs * (N_WORKERS - N_SURVIVORS), n_shrunk, n_results);
    assert_true(n_shrunk > 0);
    if (!given)
        descriptors_await(n_descriptors + DESCRIPTORS_GROWTH);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_left_goes_on_and_counts_nobody_else),
    };

    if (getenv("ATTRITION_COORDINATOR"))
        return cmocka_run_group_tests(tests, NULL, NULL);
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
