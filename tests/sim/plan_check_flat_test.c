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
prove_slots(const struct registry_algorithm *entry,
            void (*prove)(struct checker_case))
{
    struct checker_case scenario = plan_case(entry);

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
prove_open(const struct registry_algorithm *entry,
           void (*prove)(struct checker_case))
{
    struct checker_case scenario = plan_case(entry);

    scenario.shape.has_cma = true;
    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        for (int is_long = 0; is_long < 2; is_long++) {
            scenario.shape.slot_capacity =
                is_long                                    ? 4 * (size_t)size
                : entry->collective == COLLECTIVE_ALLTOALL ? size
                                                           : 1;
            scenario.shape.granule = is_long ? 4 : 1;
            if (size < 6 || size % 2 == (uint32_t)is_long)
                prove(scenario);
        }
    }
}

static void
prove_regions(const struct registry_algorithm *entry,
              void (*prove)(struct checker_case))
{
    if (entry->algorithm->is_direct)
        prove_open(entry, prove);
    else
        prove_slots(entry, prove);
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
prove_order(struct checker_case scenario)
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
prove_even_and_uneven(struct checker_case scenario)
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
prove_allreduce(const struct registry_algorithm *entry)
{
    prove_regions(entry, prove_order);
    prove_regions(entry, prove_bits);
}

static void
prove_blocks(const struct registry_algorithm *entry)
{
    prove_regions(entry, prove_even_and_uneven);
}

static void
prove_rooted(const struct registry_algorithm *entry)
{
    prove_regions(entry, prove_roots);
}

static void
prove_alltoall(const struct registry_algorithm *entry)
{
    prove_regions(entry, prove_even);
}

static void
prove_barrier(const struct registry_algorithm *entry)
{
    prove_regions(entry, plan_case_both_places);
}

static void
allreduce_all_shapes_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLREDUCE, PROOF_SHM, prove_allreduce);
    proof_each(COLLECTIVE_ALLREDUCE, PROOF_DIRECT, prove_allreduce);
}

static void
allgather_all_shapes_gathers(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLGATHER, PROOF_SHM, prove_blocks);
    proof_each(COLLECTIVE_ALLGATHER, PROOF_DIRECT, prove_blocks);
}

static void
reduce_scatter_all_shapes_scatters(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_REDUCE_SCATTER, PROOF_SHM, prove_blocks);
    proof_each(COLLECTIVE_REDUCE_SCATTER, PROOF_DIRECT, prove_blocks);
}

static void
broadcast_all_shapes_copies(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_BROADCAST, PROOF_SHM, prove_rooted);
    proof_each(COLLECTIVE_BROADCAST, PROOF_DIRECT, prove_rooted);
}

static void
reduce_all_shapes_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_REDUCE, PROOF_SHM, prove_rooted);
    proof_each(COLLECTIVE_REDUCE, PROOF_DIRECT, prove_rooted);
}

static void
alltoall_all_shapes_exchanges(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLTOALL, PROOF_SHM, prove_alltoall);
    proof_each(COLLECTIVE_ALLTOALL, PROOF_DIRECT, prove_alltoall);
}

static void
barrier_all_sizes_hears_all(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_BARRIER, PROOF_SHM, prove_barrier);
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
        cmocka_unit_test(allreduce_all_shapes_sums),
        cmocka_unit_test(allgather_all_shapes_gathers),
        cmocka_unit_test(reduce_scatter_all_shapes_scatters),
        cmocka_unit_test(broadcast_all_shapes_copies),
        cmocka_unit_test(reduce_all_shapes_sums),
        cmocka_unit_test(alltoall_all_shapes_exchanges),
        cmocka_unit_test(barrier_all_sizes_hears_all),
        cmocka_unit_test(slot_that_is_not_waited_for_is_found),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
