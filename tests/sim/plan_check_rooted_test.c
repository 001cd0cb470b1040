/*
 * tests/sim/plan_check_rooted_test.c - collectives with a root are proved
 *
 * For every root. The collective is named by the argument, so that they are
 * proved side by side.
 */

#include "algorithms/algorithms.h"
#include "check.h"
#include "plan_proof.h"

static void
prove_whole(const struct algorithm *algorithm, enum checker_collective goal)
{
    struct checker_case scenario = plan_case(algorithm, goal);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_roots(scenario, plan_case_even);
    }
}

static void
prove_blocks(const struct algorithm *algorithm, enum checker_collective goal)
{
    struct checker_case scenario = plan_case(algorithm, goal);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_roots(scenario, plan_case_even);
        plan_case_roots(scenario, plan_case_uneven);
    }
}

static void
broadcast_chain_all_shapes_copies(void **state)
{
    (void)state;
    prove_whole(&algorithm_broadcast_chain, CHECKER_BROADCAST);
}

static void
broadcast_binomial_all_shapes_copies(void **state)
{
    (void)state;
    prove_whole(&algorithm_broadcast_binomial, CHECKER_BROADCAST);
}

static void
reduce_chain_all_shapes_sums(void **state)
{
    (void)state;
    prove_whole(&algorithm_reduce_chain, CHECKER_REDUCE);
}

static void
reduce_binomial_all_shapes_sums(void **state)
{
    (void)state;
    prove_whole(&algorithm_reduce_binomial, CHECKER_REDUCE);
}

static void
gather_linear_all_shapes_gathers(void **state)
{
    (void)state;
    prove_blocks(&algorithm_gather_linear, CHECKER_GATHER);
}

static void
gather_binomial_all_shapes_gathers(void **state)
{
    (void)state;
    prove_blocks(&algorithm_gather_binomial, CHECKER_GATHER);
}

static void
scatter_linear_all_shapes_scatters(void **state)
{
    (void)state;
    prove_blocks(&algorithm_scatter_linear, CHECKER_SCATTER);
}

static void
scatter_binomial_all_shapes_scatters(void **state)
{
    (void)state;
    prove_blocks(&algorithm_scatter_binomial, CHECKER_SCATTER);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_chain_all_shapes_copies),
        cmocka_unit_test(broadcast_binomial_all_shapes_copies),
        cmocka_unit_test(reduce_chain_all_shapes_sums),
        cmocka_unit_test(reduce_binomial_all_shapes_sums),
        cmocka_unit_test(gather_linear_all_shapes_gathers),
        cmocka_unit_test(gather_binomial_all_shapes_gathers),
        cmocka_unit_test(scatter_linear_all_shapes_scatters),
        cmocka_unit_test(scatter_binomial_all_shapes_scatters),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
