/*
 * tests/sim/plan_check_flat_test.c - flat plans are proved
 *
 * With slots from the smallest that an algorithm can do with, which makes for
 * many rounds, to one that holds everything. The collective is named by the
 * argument, so that they are proved side by side.
 */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "plan_proof.h"

enum slot_size {
    SLOT_SMALLEST,
    SLOT_UNEVEN,
    SLOT_SOME,
    SLOT_ALL,
    SLOT_SIZES,
};

static size_t
slot_of(enum slot_size which, uint32_t size)
{
    const size_t counts[SLOT_SIZES] = {
        [SLOT_SMALLEST] = size,
        [SLOT_UNEVEN] = size + 3,
        [SLOT_SOME] = 4 * (size_t)size,
        [SLOT_ALL] = 50 * (size_t)size,
    };

    return counts[which];
}

/* At large sizes, where a case costs more, by turns. */
static void
prove_slots(const struct algorithm *algorithm,
            enum checker_collective goal,
            void (*prove)(struct checker_case))
{
    struct checker_case scenario = plan_case(algorithm, goal);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        for (int which = 0; which < SLOT_SIZES; which++) {
            scenario.shape.slot_capacity = slot_of((enum slot_size)which, size);
            scenario.shape.granule = which == SLOT_SOME ? 4 : 1;
            if (size < 6 || size % SLOT_SIZES == (uint32_t)which)
                prove(scenario);
        }
    }
}

/* Parts as short as they can be, and one that holds everything. */
static void
prove_open(const struct algorithm *algorithm,
           enum checker_collective goal,
           void (*prove)(struct checker_case))
{
    struct checker_case scenario = plan_case(algorithm, goal);

    scenario.shape.has_cma = true;
    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        for (int is_long = 0; is_long < 2; is_long++) {
            scenario.shape.slot_capacity = is_long ? 4 * (size_t)size
                                           : goal == CHECKER_ALLTOALL ? size
                                                                      : 1;
            scenario.shape.granule = is_long ? 4 : 1;
            if (size < 6 || size % 2 == (uint32_t)is_long)
                prove(scenario);
        }
    }
}

/* Of large sizes, each is met with some counts. */
static struct plan_case_counts
counts_of(uint32_t size)
{
    return size < 10 ? plan_case_all_counts
                     : (struct plan_case_counts){size % 7, 7};
}

/* Where the order of the ranks is kept, it is proved. */
static void
prove_whole(struct checker_case scenario)
{
    scenario.arithmetic = ARITHMETIC_COMPOSE;
    plan_case_even(scenario, counts_of(scenario.shape.size));
}

static void
prove_bits(struct checker_case scenario)
{
    scenario.arithmetic = ARITHMETIC_HASH;
    plan_case_even(scenario, (struct plan_case_counts){1, 9});
}

static void
prove_blocks(struct checker_case scenario)
{
    if (scenario.goal == CHECKER_REDUCE_SCATTER)
        scenario.arithmetic = ARITHMETIC_COMPOSE;
    plan_case_even(scenario, counts_of(scenario.shape.size));
    plan_case_uneven(scenario, counts_of(scenario.shape.size));
}

static void
prove_even(struct checker_case scenario)
{
    plan_case_even(scenario, counts_of(scenario.shape.size));
}

static void
prove_roots(struct checker_case scenario)
{
    if (scenario.goal == CHECKER_REDUCE)
        scenario.arithmetic = ARITHMETIC_COMPOSE;
    plan_case_roots(scenario, plan_case_even);
}

static void
allreduce_flat_all_shapes_sums(void **state)
{
    (void)state;
    prove_slots(&algorithm_allreduce_flat, CHECKER_ALLREDUCE, prove_whole);
    prove_slots(&algorithm_allreduce_flat, CHECKER_ALLREDUCE, prove_bits);
}

static void
allreduce_flat_blocks_all_shapes_sums(void **state)
{
    (void)state;
    prove_slots(&algorithm_allreduce_flat_blocks, CHECKER_ALLREDUCE,
                prove_whole);
    prove_slots(&algorithm_allreduce_flat_blocks, CHECKER_ALLREDUCE,
                prove_bits);
}

static void
allreduce_direct_all_shapes_sums(void **state)
{
    (void)state;
    prove_open(&algorithm_allreduce_direct, CHECKER_ALLREDUCE, prove_whole);
    prove_open(&algorithm_allreduce_direct, CHECKER_ALLREDUCE, prove_bits);
}

static void
allgather_flat_all_shapes_gathers(void **state)
{
    (void)state;
    prove_slots(&algorithm_allgather_flat, CHECKER_ALLGATHER, prove_blocks);
}

static void
allgather_direct_all_shapes_gathers(void **state)
{
    (void)state;
    prove_open(&algorithm_allgather_direct, CHECKER_ALLGATHER, prove_blocks);
}

static void
reduce_scatter_flat_all_shapes_scatters(void **state)
{
    (void)state;
    prove_slots(&algorithm_reduce_scatter_flat, CHECKER_REDUCE_SCATTER,
                prove_blocks);
}

static void
reduce_scatter_direct_all_shapes_scatters(void **state)
{
    (void)state;
    prove_open(&algorithm_reduce_scatter_direct, CHECKER_REDUCE_SCATTER,
               prove_blocks);
}

static void
broadcast_flat_all_shapes_copies(void **state)
{
    (void)state;
    prove_slots(&algorithm_broadcast_flat, CHECKER_BROADCAST, prove_roots);
}

static void
broadcast_direct_all_shapes_copies(void **state)
{
    (void)state;
    prove_open(&algorithm_broadcast_direct, CHECKER_BROADCAST, prove_roots);
}

static void
reduce_flat_all_shapes_sums(void **state)
{
    (void)state;
    prove_slots(&algorithm_reduce_flat, CHECKER_REDUCE, prove_roots);
}

static void
reduce_direct_all_shapes_sums(void **state)
{
    (void)state;
    prove_open(&algorithm_reduce_direct, CHECKER_REDUCE, prove_roots);
}

static void
alltoall_flat_all_shapes_exchanges(void **state)
{
    (void)state;
    prove_slots(&algorithm_alltoall_flat, CHECKER_ALLTOALL, prove_even);
}

static void
alltoall_direct_all_shapes_exchanges(void **state)
{
    (void)state;
    prove_open(&algorithm_alltoall_direct, CHECKER_ALLTOALL, prove_even);
}

static void
barrier_flat_all_sizes_hears_all(void **state)
{
    (void)state;
    prove_slots(&algorithm_barrier_flat, CHECKER_BARRIER,
                plan_case_both_places);
}

/* A plan of many rounds, run by one who does not wait. Only the root of a
 * broadcast could be so early; others hear that all are through. */
static void
expect_fault(enum checker_planted_fault slots)
{
    const struct checker_case scenario = {
        .algorithm = &algorithm_broadcast_flat,
        .goal = CHECKER_BROADCAST,
        .shape = {.size = 3, .count = 30, .granule = 1, .slot_capacity = 3},
        .n_schedules = 20,
        .slots = slots,
    };

    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
}

static void
slot_that_is_not_waited_for_is_found(void **state)
{
    (void)state;
    expect_fault(CHECKER_UNWAITED_WRITE);
    expect_fault(CHECKER_UNWAITED_READ);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_flat_all_shapes_sums),
        cmocka_unit_test(allreduce_flat_blocks_all_shapes_sums),
        cmocka_unit_test(allreduce_direct_all_shapes_sums),
        cmocka_unit_test(allgather_flat_all_shapes_gathers),
        cmocka_unit_test(allgather_direct_all_shapes_gathers),
        cmocka_unit_test(reduce_scatter_flat_all_shapes_scatters),
        cmocka_unit_test(reduce_scatter_direct_all_shapes_scatters),
        cmocka_unit_test(broadcast_flat_all_shapes_copies),
        cmocka_unit_test(broadcast_direct_all_shapes_copies),
        cmocka_unit_test(reduce_flat_all_shapes_sums),
        cmocka_unit_test(reduce_direct_all_shapes_sums),
        cmocka_unit_test(alltoall_flat_all_shapes_exchanges),
        cmocka_unit_test(alltoall_direct_all_shapes_exchanges),
        cmocka_unit_test(barrier_flat_all_sizes_hears_all),
        cmocka_unit_test(slot_that_is_not_waited_for_is_found),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
