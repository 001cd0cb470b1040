/*
 * tests/sim/plan_check_rooted_test.c - collectives with a root are proved
 *
 * For every root. The collective is named by the argument, so that they are
 * proved side by side.
 */

#include "check.h"
#include "plan_proof.h"

static void
prove_whole(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_roots(scenario, plan_case_even);
    }
}

static void
prove_blocks(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_roots(scenario, plan_case_even);
        plan_case_roots(scenario, plan_case_uneven);
    }
}

static void
broadcast_all_shapes_copies(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_BROADCAST, PROOF_MESSAGES, prove_whole);
}

static void
reduce_all_shapes_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_REDUCE, PROOF_MESSAGES, prove_whole);
}

static void
gather_all_shapes_gathers(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_GATHER, PROOF_MESSAGES, prove_blocks);
}

static void
scatter_all_shapes_scatters(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_SCATTER, PROOF_MESSAGES, prove_blocks);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_all_shapes_copies),
        cmocka_unit_test(reduce_all_shapes_sums),
        cmocka_unit_test(gather_all_shapes_gathers),
        cmocka_unit_test(scatter_all_shapes_scatters),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
