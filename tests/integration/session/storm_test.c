/*
 * tests/integration/session/storm_test.c - random calls of many groups and
 * threads
 *
 * There are sixteen processes with eight overlapping groups. In each process,
 * four threads start random collectives on their own groups, wait for them at
 * once or later, and split and free groups in between. The actions are drawn
 * from a seed, alike on all members, and every element of every result is
 * compared.
 *
 * STORM_SECONDS sets the duration (default 5), and STORM_SEED the seed
 * (default: taken from the clock and printed).
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"
#include "pseudo_random.h"

enum {
    PROCESSES = 16,
    THREADS = 4,
    GROUPS = 8,
    OF_THREAD = GROUPS / THREADS,
    COUNT_MAX = 4000,
    PULSE = 64,  /* steps between two clock readings */
    DIVIDES = 40 /* one step in so many */
};

static const struct {
    uint32_t n_ranks;
    uint32_t ranks[PROCESSES];
} lists[GROUPS] = {
    {16, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
    {8, {0, 2, 4, 6, 8, 10, 12, 14}},
    {8, {15, 13, 11, 9, 7, 5, 3, 1}},
    {8, {0, 1, 2, 3, 4, 5, 6, 7}},
    {8, {4, 5, 6, 7, 8, 9, 10, 11}},
    {8, {8, 9, 10, 11, 12, 13, 14, 15}},
    {4, {15, 0, 7, 8}},
    {5, {3, 12, 5, 10, 1}},
};

struct storm {
    const struct worker *worker;
    hoop_session_t *session;
    uint64_t seed;
    uint64_t end_ns;
};

/* An operation of one group, in progress or not. */
struct step {
    hoop_comm_t *comm; /* NULL: not a member */
    hoop_op_t *op;     /* NULL: not in progress */
    const struct kind *kind;
    uint64_t random; /* the same on all members */
    uint32_t rank;
    uint32_t size;
    uint32_t root;
    size_t count;
    int64_t *send;
    int64_t *recv;
};

struct strand {
    const struct storm *storm;
    uint32_t index;
    hoop_comm_t *pulse; /* has all processes, to stop together */
    struct step steps[OF_THREAD];
    uint64_t n_steps;
    int failed;
};

struct kind {
    const char *name;
    enum hoop_status (*start)(struct step *step);
    /* Returns the expected element i of the result. */
    int64_t (*expect)(const struct step *step, size_t i);
    /* How much is sent and received, in blocks of count: 0, 1, or 'n'. */
    char sends;
    char receives;
    char who; /* 'r': only the root receives */
};

static uint64_t
mix(uint64_t a, uint64_t b)
{
    uint64_t word = (a + 1) * 0x9e3779b97f4a7c15 ^ (b + 7);

    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/* Returns element i of the send buffer of rank. */
static int64_t
input(const struct step *step, uint32_t rank, size_t i)
{
    return (int64_t)(mix(step->random + rank, i) >> 20);
}

static int64_t
sum_below(const struct step *step, uint32_t end, size_t i)
{
    int64_t sum = 0;

    for (uint32_t rank = 0; rank < end; rank++)
        sum += input(step, rank, i);
    return sum;
}

static enum hoop_status
allreduce_start(struct step *step)
{
    return hoop_allreduce_start(step->send, step->recv, step->count, HOOP_INT64,
                                HOOP_SUM, step->comm, &step->op);
}

static enum hoop_status
reduce_start(struct step *step)
{
    return hoop_reduce_start(step->send, step->recv, step->count, HOOP_INT64,
                             HOOP_SUM, step->root, step->comm, &step->op);
}

static int64_t
sum_expect(const struct step *step, size_t i)
{
    return sum_below(step, step->size, i);
}

static enum hoop_status
scan_start(struct step *step)
{
    return hoop_scan_start(step->send, step->recv, step->count, HOOP_INT64,
                           HOOP_SUM, step->comm, &step->op);
}

static int64_t
scan_expect(const struct step *step, size_t i)
{
    return sum_below(step, step->rank + 1, i);
}

static enum hoop_status
broadcast_start(struct step *step)
{
    return hoop_broadcast_start(step->send, step->recv, step->count, HOOP_INT64,
                                step->root, step->comm, &step->op);
}

static int64_t
broadcast_expect(const struct step *step, size_t i)
{
    return input(step, step->root, i);
}

static enum hoop_status
allgather_start(struct step *step)
{
    return hoop_allgather_start(step->send, step->recv, step->count, HOOP_INT64,
                                step->comm, &step->op);
}

static enum hoop_status
gather_start(struct step *step)
{
    return hoop_gather_start(step->send, step->recv, step->count, HOOP_INT64,
                             step->root, step->comm, &step->op);
}

static int64_t
gather_expect(const struct step *step, size_t i)
{
    return input(step, (uint32_t)(i / step->count), i % step->count);
}

static enum hoop_status
scatter_start(struct step *step)
{
    return hoop_scatter_start(step->send, step->recv, step->count, HOOP_INT64,
                              step->root, step->comm, &step->op);
}

static int64_t
scatter_expect(const struct step *step, size_t i)
{
    return input(step, step->root, step->rank * step->count + i);
}

static enum hoop_status
reduce_scatter_start(struct step *step)
{
    return hoop_reduce_scatter_start(step->send, step->recv, step->count,
                                     HOOP_INT64, HOOP_SUM, step->comm,
                                     &step->op);
}

static int64_t
reduce_scatter_expect(const struct step *step, size_t i)
{
    return sum_below(step, step->size, step->rank * step->count + i);
}

static enum hoop_status
alltoall_start(struct step *step)
{
    return hoop_alltoall_start(step->send, step->recv, step->count, HOOP_INT64,
                               step->comm, &step->op);
}

static int64_t
alltoall_expect(const struct step *step, size_t i)
{
    return input(step, (uint32_t)(i / step->count),
                 step->rank * step->count + i % step->count);
}

static enum hoop_status
barrier_start(struct step *step)
{
    return hoop_barrier_start(step->comm, &step->op);
}

/* Sends to the next rank in the ring, and receives from the previous one. */
static enum hoop_status
ring_start(struct step *step)
{
    const struct hoop_message out = {
        .kind = HOOP_SEND,
        .buffer = step->send,
        .count = step->count,
        .dtype = HOOP_INT64,
        .peer = (step->rank + 1) % step->size,
        .tag = 5,
    };
    const struct hoop_message in = {
        .kind = HOOP_RECV,
        .buffer = step->recv,
        .count = step->count,
        .dtype = HOOP_INT64,
        .peer = (step->rank + step->size - 1) % step->size,
        .tag = 5,
    };

    return hoop_sendrecv_start(&out, &in, step->comm, NULL, &step->op);
}

static int64_t
ring_expect(const struct step *step, size_t i)
{
    return input(step, (step->rank + step->size - 1) % step->size, i);
}

static const struct kind kinds[] = {
    {"allreduce", allreduce_start, sum_expect, '1', '1', 0},
    {"reduce", reduce_start, sum_expect, '1', '1', 'r'},
    {"scan", scan_start, scan_expect, '1', '1', 0},
    {"broadcast", broadcast_start, broadcast_expect, '1', '1', 0},
    {"allgather", allgather_start, gather_expect, '1', 'n', 0},
    {"gather", gather_start, gather_expect, '1', 'n', 'r'},
    {"scatter", scatter_start, scatter_expect, 'n', '1', 0},
    {"reduce_scatter", reduce_scatter_start, reduce_scatter_expect, 'n', '1',
     0},
    {"alltoall", alltoall_start, alltoall_expect, 'n', 'n', 0},
    {"barrier", barrier_start, NULL, 0, 0, 0},
    {"ring", ring_start, ring_expect, '1', '1', 0},
};

static size_t
elements(const struct step *step, char blocks)
{
    return blocks == 'n' ? step->count * step->size
                         : (blocks ? step->count : 0);
}

static int
step_finish(struct step *step)
{
    const bool receives =
        step->kind && (step->kind->who != 'r' || step->rank == step->root);
    size_t n_wrong = 0;

    if (!step->op)
        return 0;
    const enum hoop_status status = hoop_wait(step->op, 60000);
    step->op = NULL;
    WORKER_CHECK(status == HOOP_OK);
    if (!receives)
        return 0;
    for (size_t i = 0; i < elements(step, step->kind->receives); i++)
        n_wrong += step->recv[i] != step->kind->expect(step, i);
    if (n_wrong > 0)
        fprintf(stderr, "%s of %zu on %u ranks: %zu are wrong\n",
                step->kind->name, step->count, step->size, n_wrong);
    WORKER_CHECK(n_wrong == 0);
    return 0;
}

static int
step_start(struct step *step, uint64_t random)
{
    static const size_t counts[] = {1, 3, 64, 500, COUNT_MAX, 0};

    step->random = random;
    step->kind = &kinds[(random >> 8) % COUNT_OF(kinds)];
    step->count = counts[(random >> 16) % COUNT_OF(counts)];
    step->root = (uint32_t)(random >> 32) % step->size;
    for (size_t i = 0; i < elements(step, step->kind->sends); i++)
        step->send[i] = input(step, step->rank, i);
    WORKER_CHECK(step->kind->start(step) == HOOP_OK);
    return 0;
}

/* Splits the group, sums in the part, and frees it. */
static int
step_divide(const struct step *step, uint64_t random)
{
    const uint32_t n_colors = 1 + (uint32_t)(random >> 50) % 3;
    hoop_comm_t *part = NULL;
    int64_t value = 1;

    WORKER_CHECK(hoop_comm_split(step->comm, step->rank % n_colors,
                                 -(int64_t)step->rank, &part) == HOOP_OK);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT64, HOOP_SUM,
                                part) == HOOP_OK);
    WORKER_CHECK(value == hoop_comm_size(part));
    hoop_comm_free(part);
    return 0;
}

static int
strand_step(struct strand *strand, uint64_t random)
{
    struct step *step = &strand->steps[random % OF_THREAD];

    if (!step->comm)
        return 0;
    strand->n_steps++;
    WORKER_CHECK(step_finish(step) == 0);
    if ((random >> 40) % DIVIDES == 0)
        return step_divide(step, random);
    WORKER_CHECK(step_start(step, random) == 0);
    return (random >> 60) % 2 ? step_finish(step) : 0;
}

static int
strand_run(struct strand *strand)
{
    const struct storm *storm = strand->storm;
    int64_t goes_on = 1;

    for (uint64_t i = 0; goes_on; i++) {
        WORKER_CHECK(strand_step(strand, mix(storm->seed + strand->index, i)) ==
                     0);
        if (i % PULSE != 0)
            continue;
        goes_on = !clock_is_past(storm->end_ns);
        WORKER_CHECK(hoop_broadcast(HOOP_IN_PLACE, &goes_on, 1, HOOP_INT64, 0,
                                    strand->pulse) == HOOP_OK);
    }
    for (uint32_t i = 0; i < OF_THREAD; i++)
        WORKER_CHECK(step_finish(&strand->steps[i]) == 0);
    return 0;
}

static void *
strand_main(void *owner)
{
    struct strand *strand = owner;

    strand->failed = strand_run(strand);
    /* The others must not wait for this process. */
    if (strand->failed)
        abort();
    return NULL;
}

static int
strand_open(struct strand *strand, const struct storm *storm, uint32_t index)
{
    strand->storm = storm;
    strand->index = index;
    WORKER_CHECK(hoop_comm_create(storm->session, lists[0].ranks, PROCESSES,
                                  &strand->pulse) == HOOP_OK);
    for (uint32_t i = 0; i < OF_THREAD; i++) {
        const uint32_t group = index + i * THREADS;
        struct step *step = &strand->steps[i];
        bool is_member = false;

        for (uint32_t k = 0; k < lists[group].n_ranks; k++)
            is_member |= lists[group].ranks[k] == storm->worker->index;
        if (!is_member)
            continue;
        WORKER_CHECK(hoop_comm_create(storm->session, lists[group].ranks,
                                      lists[group].n_ranks,
                                      &step->comm) == HOOP_OK);
        step->rank = hoop_comm_rank(step->comm);
        step->size = hoop_comm_size(step->comm);
        step->send = calloc(COUNT_MAX * PROCESSES, sizeof(*step->send));
        step->recv = calloc(COUNT_MAX * PROCESSES, sizeof(*step->recv));
        WORKER_CHECK(step->send && step->recv);
    }
    return 0;
}

static void
strand_close(struct strand *strand)
{
    for (uint32_t i = 0; i < OF_THREAD; i++) {
        hoop_comm_free(strand->steps[i].comm);
        free(strand->steps[i].send);
        free(strand->steps[i].recv);
    }
    hoop_comm_free(strand->pulse);
}

static uint64_t seed;

static int
storm_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    struct storm storm = {.worker = worker, .seed = seed};
    struct strand strands[THREADS] = {0};
    pthread_t threads[THREADS];

    options.op_timeout_ms = 60000;
    options.join_timeout_ms = 60000;
    WORKER_CHECK(hoop_join(&options, &storm.session) == HOOP_OK);
    for (uint32_t i = 0; i < THREADS; i++)
        WORKER_CHECK(strand_open(&strands[i], &storm, i) == 0);
    /* The time begins here, however long the processes took to join. */
    storm.end_ns =
        clock_deadline_ns(1000 * number_from_environment("STORM_SECONDS", 5));
    for (uint32_t i = 0; i < THREADS; i++)
        WORKER_CHECK(
            pthread_create(&threads[i], NULL, strand_main, &strands[i]) == 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (worker->index == 0)
            room_set(worker, i, strands[i].n_steps);
        strand_close(&strands[i]);
    }
    hoop_leave(storm.session);
    return 0;
}

static void
storm_of_groups_and_threads_is_weathered(void **state)
{
    uint64_t room[WORKERS_ROOM];

    seed = number_from_environment("STORM_SEED", clock_now_ns());
    printf("STORM_SEED=%" PRIu64 "\n", seed);
    workers_allow((uint32_t)number_from_environment("STORM_SECONDS", 5) + 100);
    daemon_start(&hoopd, (const char *[]){NULL});
    assert_int_equal(workers_run(hoopd.address, PROCESSES, storm_body, room),
                     0);
    daemon_stop(&hoopd);
    for (uint32_t i = 0; i < THREADS; i++) {
        printf("thread %u: %" PRIu64 " steps\n", i, room[i]);
        assert_true(room[i] > 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storm_of_groups_and_threads_is_weathered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
