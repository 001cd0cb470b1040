/*
 * tests/sim/plan_check_test.c - collectives without a root are proved
 *
 * Every algorithm of the registry that sends messages. The collective is named
 * by the argument, so that they are proved side by side.
 */

#include "check.h"
#include "plan_proof.h"

/* Blocks are cut on single elements, then on more. */
static void
prove_cut(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        scenario.shape.granule = 1;
        plan_case_even(scenario, plan_case_all_counts);
        scenario.shape.granule = 4;
        plan_case_even(scenario, plan_case_all_counts);
    }
}

static void
prove_blocks(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_blocks(scenario);
    }
}

static void
prove_barrier(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= 4 * PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_both_places(scenario);
    }
}

static void
allreduce_all_shapes_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLREDUCE, PROOF_MESSAGES, prove_cut);
}

static void
reduce_scatter_all_shapes_scatters(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_REDUCE_SCATTER, PROOF_MESSAGES, prove_blocks);
}

static void
allgather_all_shapes_gathers(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLGATHER, PROOF_MESSAGES, prove_blocks);
}

static void
barrier_all_sizes_hears_all(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_BARRIER, PROOF_MESSAGES, prove_barrier);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_all_shapes_sums),
        cmocka_unit_test(reduce_scatter_all_shapes_scatters),
        cmocka_unit_test(allgather_all_shapes_gathers),
        cmocka_unit_test(barrier_all_sizes_hears_all),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
