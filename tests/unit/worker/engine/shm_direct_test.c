/* tests/unit/worker/engine/shm_direct_test.c - engine/shm_reduce.c */

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "engine/state.h"
#include "shm_engine_pair.h"
#include "transport/shm/region.h"

enum {
    N_VALUES = 40000, /* more than is read at a time, and no whole pieces */
    N_TIMES = 60,
};

static struct engine_collective
direct_of(const struct comm_context *context,
          const struct algorithm *algorithm,
          enum call_name name)
{
    return (struct engine_collective){
        .call = {.name = name, .dtype = HOOP_INT32, .count = N_VALUES},
        .algorithm = algorithm,
        .shape = {.rank = context_rank(context),
                  .size = 2,
                  .count = N_VALUES,
                  .granule = 16,
                  .slot_capacity = context_shm_slot_bytes(context) / 4,
                  .has_cma = context_plan_shm_region(context).has_cma},
    };
}

/* As many as there is room for, by who uses it. */
static int32_t inputs[2][2 * N_VALUES];
static int32_t outputs[2][2 * N_VALUES];

/* In place or not, each as it likes. */
static void
buffers_set(struct engine_collective *collective, uint32_t rank, int turn)
{
    collective->shape.is_in_place = (turn >> rank) % 2 == 1;
    collective->input = inputs[rank];
    collective->output =
        collective->shape.is_in_place ? inputs[rank] : outputs[rank];
}

static int
sums_of_shown_buffers_are_right(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    struct engine_collective sum =
        direct_of(context, &algorithm_allreduce_direct, CALL_ALLREDUCE);

    SIDE_CHECK(sum.shape.has_cma);
    for (int i = 0; i < N_TIMES; i++) {
        const size_t count = N_VALUES - 601 * (size_t)i;

        sum.call.count = sum.shape.count = count;
        sum.call.reduce_op = i % 3 == 0 ? HOOP_AVG : HOOP_SUM;
        buffers_set(&sum, side->rank, i);
        for (size_t k = 0; k < count; k++)
            inputs[side->rank][k] = 2 * (int32_t)(side->rank + 1) * (int)k + 2;
        SIDE_CHECK(flat_run(sum, context) == HOOP_OK);
        for (size_t k = 0; k < count; k++)
            SIDE_CHECK(((int32_t *)sum.output)[k] ==
                       (i % 3 == 0 ? 1 : 2) * (3 * (int)k + 2));
    }
    return 0;
}

static int
blocks_of_shown_buffers_arrive(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    struct engine_collective exchange =
        direct_of(context, &algorithm_alltoall_direct, CALL_ALLTOALL);

    for (int i = 0; i < N_TIMES; i++) {
        buffers_set(&exchange, side->rank, i);
        for (int k = 0; k < 2 * N_VALUES; k++)
            inputs[side->rank][k] = k + i + 1000000 * (int32_t)side->rank;
        SIDE_CHECK(flat_run(exchange, context) == HOOP_OK);
        for (int k = 0; k < 2 * N_VALUES; k++)
            SIDE_CHECK(((int32_t *)exchange.output)[k] ==
                       k % N_VALUES + (int)side->rank * N_VALUES + i +
                           1000000 * (k / N_VALUES));
    }
    return 0;
}

static enum hoop_status
broadcast(struct side *side, int32_t *values)
{
    struct comm_context *context = side->comms[0].context;
    struct engine_collective collective =
        direct_of(context, &algorithm_broadcast_direct, CALL_BROADCAST);

    collective.shape.is_in_place = true;
    collective.input = values;
    collective.output = values;
    return flat_run(collective, context);
}

/* What rank 0 has shown is its own again when it is told that it failed. */
static atomic_bool is_told;

static int
side_is_late(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    const size_t n_bytes = N_VALUES * sizeof(int32_t);
    int32_t *values = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int32_t value = 1;

    SIDE_CHECK(values != MAP_FAILED);
    if (side->rank == 0) {
        context_set_timeout(context, 300);
        const enum hoop_status status = broadcast(side, values);
        munmap(values, n_bytes);
        atomic_store(&is_told, true);
        SIDE_CHECK(status == HOOP_E_TIMEOUT);
        SIDE_CHECK(says("waiting for rank 1") && says("has not called"));
        context_set_timeout(context, 30000);
    } else {
        const uint64_t deadline_ns = patience();
        while (!atomic_load(&is_told) && !clock_is_past(deadline_ns))
            sched_yield();
        SIDE_CHECK(broadcast(side, values) == HOOP_E_TIMEOUT);
        munmap(values, n_bytes);
    }
    SIDE_CHECK(flat_sum(context, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static void
buffer_that_was_shown_is_given_back_with_the_error(void **state)
{
    atomic_store(&is_told, false);
    engine_pair_run(&engine_pair, side_is_late);
}

/* The root's own program must not read it either. */
static int
buffer_that_cannot_be_read_ends_it_everywhere(struct side *side)
{
    const size_t n_bytes = N_VALUES * sizeof(int32_t);
    int32_t *values = mmap(NULL, n_bytes,
                           side->rank == 0 ? PROT_NONE : PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int32_t value = 1;

    SIDE_CHECK(values != MAP_FAILED);
    SIDE_CHECK(broadcast(side, values) ==
               (side->rank == 0 ? HOOP_E_ABORTED : HOOP_E_DATA_LOSS));
    SIDE_CHECK(says("rank 0") && says("shows cannot be read"));
    SIDE_CHECK(error_failure_details()->rank == 0);
    SIDE_CHECK(flat_sum(side->comms[0].context, &value, 1) == HOOP_OK);
    munmap(values, n_bytes);
    return 0;
}

/* Rank 1's shared region takes rank 0 for a process that is no more. */
static int
shm_pair_set_up_torn(void **state)
{
    const struct cma_address nowhere = {0};

    shm_pair_set_up_open(state);
    assert_int_equal(
        shm_region_cma_attach(engine_pair.sides[1].comms[0].context->shm_region,
                              0, INT32_MAX, &nowhere),
        HOOP_E_PEER_LOST);
    return 0;
}

static int
round_that_is_torn_never_ends_well(struct side *side)
{
    static int32_t values[2][N_VALUES];

    context_set_timeout(side->comms[0].context, 300);
    SIDE_CHECK(broadcast(side, values[side->rank]) == HOOP_E_TIMEOUT);
    if (side->rank == 1)
        SIDE_CHECK(says("waiting for rank 0") || says("waited for rank 0"));
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST_WITH(shm_pair_set_up_open, sums_of_shown_buffers_are_right),
        SIDES_TEST_WITH(shm_pair_set_up_open, blocks_of_shown_buffers_arrive),
        cmocka_unit_test_setup_teardown(
            buffer_that_was_shown_is_given_back_with_the_error,
            shm_pair_set_up_open, engine_pair_tear_down),
        SIDES_TEST_WITH(shm_pair_set_up_open,
                        buffer_that_cannot_be_read_ends_it_everywhere),
        SIDES_TEST_WITH(shm_pair_set_up_torn,
                        round_that_is_torn_never_ends_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
