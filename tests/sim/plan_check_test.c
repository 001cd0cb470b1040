/*
 * tests/sim/plan_check_test.c - collectives without a root are proved
 *
 * The collective is named by the argument, so that they are proved side by
 * side.
 */

#include "algorithms/algorithms.h"
#include "check.h"
#include "plan_proof.h"

static void
prove_cut(const struct algorithm *algorithm, size_t granule)
{
    struct checker_case scenario = plan_case(algorithm, CHECKER_ALLREDUCE);

    scenario.shape.granule = granule;
    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_even(scenario, plan_case_all_counts);
    }
}

static void
prove_blocks(const struct algorithm *algorithm, enum checker_collective goal)
{
    struct checker_case scenario = plan_case(algorithm, goal);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_blocks(scenario);
    }
}

static void
allreduce_ring_all_shapes_sums(void **state)
{
    (void)state;
    prove_cut(&algorithm_allreduce_ring, 1);
    prove_cut(&algorithm_allreduce_ring, 4);
}

static void
allreduce_recursive_doubling_all_shapes_sums(void **state)
{
    (void)state;
    prove_cut(&algorithm_allreduce_recursive_doubling, 1);
}

static void
allreduce_pairwise_all_shapes_sums(void **state)
{
    (void)state;
    prove_cut(&algorithm_allreduce_pairwise, 1);
    prove_cut(&algorithm_allreduce_pairwise, 4);
}

static void
allreduce_rabenseifner_all_shapes_sums(void **state)
{
    (void)state;
    prove_cut(&algorithm_allreduce_rabenseifner, 1);
    prove_cut(&algorithm_allreduce_rabenseifner, 4);
}

static void
reduce_scatter_ring_all_shapes_scatters(void **state)
{
    (void)state;
    prove_blocks(&algorithm_reduce_scatter_ring, CHECKER_REDUCE_SCATTER);
}

static void
reduce_scatter_halving_all_shapes_scatters(void **state)
{
    (void)state;
    prove_blocks(&algorithm_reduce_scatter_halving, CHECKER_REDUCE_SCATTER);
}

static void
reduce_scatter_pairwise_all_shapes_scatters(void **state)
{
    (void)state;
    prove_blocks(&algorithm_reduce_scatter_pairwise, CHECKER_REDUCE_SCATTER);
}

static void
allgather_ring_all_shapes_gathers(void **state)
{
    (void)state;
    prove_blocks(&algorithm_allgather_ring, CHECKER_ALLGATHER);
}

static void
allgather_bruck_all_shapes_gathers(void **state)
{
    (void)state;
    prove_blocks(&algorithm_allgather_bruck, CHECKER_ALLGATHER);
}

static void
allgather_tree_all_shapes_gathers(void **state)
{
    (void)state;
    prove_blocks(&algorithm_allgather_tree, CHECKER_ALLGATHER);
}

static void
prove_barrier(const struct algorithm *algorithm)
{
    struct checker_case scenario = plan_case(algorithm, CHECKER_BARRIER);

    for (uint32_t size = 1; size <= 4 * PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_both_places(scenario);
    }
}

static void
barrier_dissemination_all_sizes_hears_all(void **state)
{
    (void)state;
    prove_barrier(&algorithm_barrier_dissemination);
}

static void
barrier_tree_all_sizes_hears_all(void **state)
{
    (void)state;
    prove_barrier(&algorithm_barrier_tree);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_ring_all_shapes_sums),
        cmocka_unit_test(allreduce_recursive_doubling_all_shapes_sums),
        cmocka_unit_test(allreduce_pairwise_all_shapes_sums),
        cmocka_unit_test(allreduce_rabenseifner_all_shapes_sums),
        cmocka_unit_test(reduce_scatter_ring_all_shapes_scatters),
        cmocka_unit_test(reduce_scatter_halving_all_shapes_scatters),
        cmocka_unit_test(reduce_scatter_pairwise_all_shapes_scatters),
        cmocka_unit_test(allgather_ring_all_shapes_gathers),
        cmocka_unit_test(allgather_bruck_all_shapes_gathers),
        cmocka_unit_test(allgather_tree_all_shapes_gathers),
        cmocka_unit_test(barrier_dissemination_all_sizes_hears_all),
        cmocka_unit_test(barrier_tree_all_sizes_hears_all),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
