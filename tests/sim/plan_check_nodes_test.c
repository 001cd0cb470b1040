/*
 * tests/sim/plan_check_nodes_test.c - what is composed by nodes is proved
 *
 * For several layouts of the ranks on nodes. At large sizes, where a case costs
 * most, each size is met with some counts and roots, and each of these with
 * some sizes. The collective is named by the argument, so that they are proved
 * side by side.
 */

#include "check.h"
#include "plan/nodes.h"
#include "plan_proof.h"

enum {
    SIZE_MAX_FULL = 7,
    COUNT_STRIDE = 7,
};

enum layout {
    LAYOUT_UNKNOWN, /* no nodes are given */
    LAYOUT_TOGETHER,
    LAYOUT_APART,
    LAYOUT_PAIRS,
    LAYOUT_UNEVEN,
    LAYOUT_DEALT, /* to three nodes, one rank after another */
    LAYOUT_SCATTERED,
};

/* The name of a rank's node. */
static uint32_t
layout_node(enum layout layout, uint32_t rank)
{
    switch (layout) {
    case LAYOUT_UNKNOWN:
    case LAYOUT_TOGETHER:
        return 0;
    case LAYOUT_APART:
        return rank;
    case LAYOUT_PAIRS:
        return rank / 2;
    case LAYOUT_UNEVEN:
        return rank < 1 ? 0 : rank < 4 ? 1 : rank < 6 ? 2 : 3 + rank / 9;
    case LAYOUT_DEALT:
        return rank % 3;
    case LAYOUT_SCATTERED:
        return rank * rank % 5;
    }
    return 0;
}

static struct plan_nodes *
layout_create(enum layout layout, uint32_t size)
{
    struct plan_nodes *nodes = NULL;
    uint32_t names[PROOF_SIZE_MAX];

    for (uint32_t rank = 0; rank < size; rank++)
        names[rank] = layout_node(layout, rank);
    if (layout != LAYOUT_UNKNOWN)
        assert_int_equal(plan_nodes_create(names, size, &nodes), HOOP_OK);
    return nodes;
}

typedef void
prove_fn(struct checker_case scenario, struct plan_case_counts counts);

static void
prove_layouts(const struct registry_algorithm *entry, prove_fn *prove)
{
    struct checker_case scenario = plan_case(entry);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX; size++) {
        for (int layout = LAYOUT_UNKNOWN; layout <= LAYOUT_SCATTERED;
             layout++) {
            const struct plan_case_counts some = {
                (size + (uint32_t)layout) % COUNT_STRIDE, COUNT_STRIDE};
            struct plan_nodes *nodes = layout_create((enum layout)layout, size);

            scenario.shape.size = size;
            scenario.shape.nodes = nodes;
            prove(scenario,
                  size <= SIZE_MAX_FULL ? plan_case_all_counts : some);
            plan_nodes_destroy(nodes);
        }
    }
}

/* A third of them, another one for each size. */
static struct plan_case_counts
third_of(struct plan_case_counts counts, uint32_t size)
{
    return (struct plan_case_counts){
        .first = counts.first + size % 3 * counts.stride,
        .stride = 3 * counts.stride,
    };
}

/* Blocks are cut on single elements, then on more. */
static void
prove_cut(struct checker_case scenario, struct plan_case_counts counts)
{
    plan_case_even(scenario, counts);
    scenario.shape.granule = 4;
    plan_case_even(scenario, third_of(counts, scenario.shape.size));
}

static void
prove_given(struct checker_case scenario, struct plan_case_counts counts)
{
    plan_case_even(scenario, third_of(counts, scenario.shape.size));
    plan_case_uneven(scenario, third_of(counts, scenario.shape.size + 1));
}

static void
prove_roots(struct checker_case scenario, struct plan_case_counts counts)
{
    const uint32_t size = scenario.shape.size;
    const uint32_t stride = size <= SIZE_MAX_FULL ? 1 : size;

    for (uint32_t root = (uint32_t)counts.first % size; root < size;
         root += stride) {
        scenario.shape.root = root;
        plan_case_even(scenario,
                       (struct plan_case_counts){
                           (counts.first + root) % COUNT_STRIDE, COUNT_STRIDE});
    }
}

static void
prove_allreduce(const struct registry_algorithm *entry)
{
    prove_layouts(entry, prove_cut);
}

static void
prove_allgather(const struct registry_algorithm *entry)
{
    prove_layouts(entry, prove_given);
}

static void
prove_rooted(const struct registry_algorithm *entry)
{
    prove_layouts(entry, prove_roots);
}

static void
allreduce_hierarchical_all_layouts_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLREDUCE, PROOF_NODES, prove_allreduce);
}

static void
allgather_hierarchical_all_layouts_gathers(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_ALLGATHER, PROOF_NODES, prove_allgather);
}

static void
broadcast_hierarchical_all_layouts_copies(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_BROADCAST, PROOF_NODES, prove_rooted);
}

static void
reduce_hierarchical_all_layouts_sums(void **state)
{
    (void)state;
    proof_each(COLLECTIVE_REDUCE, PROOF_NODES, prove_rooted);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_hierarchical_all_layouts_sums),
        cmocka_unit_test(allgather_hierarchical_all_layouts_gathers),
        cmocka_unit_test(broadcast_hierarchical_all_layouts_copies),
        cmocka_unit_test(reduce_hierarchical_all_layouts_sums),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    plan_case_report();
    return n_failed;
}
