/*
 * tests/sim/plan_check_exchange_test.c - all-to-all and scans are proved
 *
 * The collective is named by the argument, so that they are proved side by
 * side.
 */

#include "check.h"
#include "plan_proof.h"

/* At large sizes, where a case costs most, each size is met with some counts
 * and each count with some sizes. */
enum {
    SIZE_MAX_ALL_COUNTS = 9,
    COUNT_STRIDE = 7,
};

static struct plan_case_counts
counts_of(uint32_t size)
{
    if (size <= SIZE_MAX_ALL_COUNTS)
        return plan_case_all_counts;
    return (struct plan_case_counts){size % COUNT_STRIDE, COUNT_STRIDE};
}

static void
prove_alltoall(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_even(scenario, counts_of(size));
    }
}

/* The order, too. */
static void
prove_scan(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    scenario.arithmetic = ARITHMETIC_COMPOSE;
    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        scenario.shape.size = size;
        plan_case_even(scenario, counts_of(size));
    }
}

/* What rank a has for rank b: often nothing, sometimes much; every third
 * pattern is the same both ways, and so is what a rank has for itself. */
static size_t
uneven_count(size_t pattern, size_t a, size_t b)
{
    if (pattern % 3 == 0 && a > b)
        return uneven_count(pattern, b, a);

    const size_t draw = (pattern * 7 + a * 5 + b * 3 + a * b * pattern) % 13;

    if (draw == 12)
        return pattern;
    return draw < 4 ? 0 : draw - 3;
}

static void
prove_pattern(struct checker_case scenario, size_t pattern)
{
    static size_t to_each[PROOF_SIZE_MAX * PROOF_SIZE_MAX];
    static size_t from_each[PROOF_SIZE_MAX * PROOF_SIZE_MAX];
    const size_t size = scenario.shape.size;

    for (size_t a = 0; a < size; a++) {
        for (size_t b = 0; b < size; b++) {
            to_each[a * size + b] = uneven_count(pattern, a, b);
            from_each[b * size + a] = to_each[a * size + b];
        }
    }
    scenario.shape.count = pattern; /* says which one has failed */
    scenario.to_each = to_each;
    scenario.from_each = from_each;
    plan_case_both_places(scenario);
}

static void
prove_alltoallv(const struct registry_algorithm *entry)
{
    struct checker_case scenario = plan_case(entry);

    if (entry->is_even_only)
        return;
    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        const struct plan_case_counts patterns = counts_of(size);

        scenario.shape.size = size;
        for (size_t i = patterns.first; i <= PROOF_COUNT_MAX;
             i += patterns.stride)
            prove_pattern(scenario, i);
    }
}

static void
alltoall_all_shapes_exchanges(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLTOALL, PROOF_MESSAGES, prove_alltoall);
}

static void
alltoallv_uneven_blocks_exchanges(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLTOALL, PROOF_MESSAGES, prove_alltoallv);
}

static void
scan_all_shapes_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_SCAN, PROOF_MESSAGES, prove_scan);
}

static void
exscan_all_shapes_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_EXSCAN, PROOF_MESSAGES, prove_scan);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(alltoall_all_shapes_exchanges),
        cmocka_unit_test(alltoallv_uneven_blocks_exchanges),
        cmocka_unit_test(scan_all_shapes_sums),
        cmocka_unit_test(exscan_all_shapes_sums),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
