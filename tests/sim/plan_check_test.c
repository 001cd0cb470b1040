/*
 * tests/sim/plan_check_test.c - every algorithm of the registry is proved
 *
 * Plans of messages for all sizes, counts and roots; those composed by nodes
 * for several layouts of the ranks; those in shared memory with slots from the
 * smallest that an algorithm can do with, which makes for many rounds, to one
 * that holds everything. At large sizes, where a case costs most, each size is
 * met with some counts and roots, and each of these with some sizes. The
 * argument is a pattern of names, so that collectives are proved side by side.
 */

#include <stdio.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "check.h"
#include "plan/nodes.h"
#include "plan_proof.h"

enum {
    SIZE_MAX_ALL_COUNTS = 9,
    SIZE_MAX_ALL_LAYOUTS = 7,
    SIZE_MAX_ALL_SLOTS = 5,
    COUNT_STRIDE = 7,
    ENTRIES_MAX = 100,
};

static const enum checker_collective goals[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = CHECKER_ALLREDUCE,
    [COLLECTIVE_REDUCE] = CHECKER_REDUCE,
    [COLLECTIVE_BROADCAST] = CHECKER_BROADCAST,
    [COLLECTIVE_ALLGATHER] = CHECKER_ALLGATHER,
    [COLLECTIVE_REDUCE_SCATTER] = CHECKER_REDUCE_SCATTER,
    [COLLECTIVE_GATHER] = CHECKER_GATHER,
    [COLLECTIVE_SCATTER] = CHECKER_SCATTER,
    [COLLECTIVE_ALLTOALL] = CHECKER_ALLTOALL,
    [COLLECTIVE_SCAN] = CHECKER_SCAN,
    [COLLECTIVE_EXSCAN] = CHECKER_EXSCAN,
    [COLLECTIVE_BARRIER] = CHECKER_BARRIER,
};

static struct plan_case_counts
counts_of(uint32_t size)
{
    if (size <= SIZE_MAX_ALL_COUNTS)
        return plan_case_all_counts;
    return (struct plan_case_counts){size % COUNT_STRIDE, COUNT_STRIDE};
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

/* Each to each; the blocks of an alltoallv differ. */
static void
prove_exchange(struct checker_case scenario, bool is_even_only)
{
    const struct plan_case_counts counts = counts_of(scenario.shape.size);

    plan_case_even(scenario, counts);
    for (size_t i = counts.first; !is_even_only && i <= PROOF_COUNT_MAX;
         i += counts.stride)
        prove_pattern(scenario, i);
}

/* All that can vary for one size. */
static void
prove_size(struct checker_case scenario, bool is_even_only)
{
    switch (scenario.goal) {
    case CHECKER_ALLREDUCE:
        plan_case_even(scenario, plan_case_all_counts);
        scenario.shape.granule = 4;
        plan_case_even(scenario, plan_case_all_counts);
        return;
    case CHECKER_ALLGATHER:
    case CHECKER_REDUCE_SCATTER:
        plan_case_blocks(scenario);
        return;
    case CHECKER_BROADCAST:
    case CHECKER_REDUCE:
        plan_case_roots(scenario, plan_case_even);
        return;
    case CHECKER_GATHER:
    case CHECKER_SCATTER:
        plan_case_roots(scenario, plan_case_even);
        plan_case_roots(scenario, plan_case_uneven);
        return;
    case CHECKER_ALLTOALL:
        prove_exchange(scenario, is_even_only);
        return;
    case CHECKER_SCAN:
    case CHECKER_EXSCAN:
        /* The order, too. */
        scenario.arithmetic = ARITHMETIC_COMPOSE;
        plan_case_even(scenario, counts_of(scenario.shape.size));
        return;
    case CHECKER_BARRIER:
        plan_case_both_places(scenario);
        return;
    }
}

/* Plans in shared memory. Where the order of the ranks is kept, it is
 * proved. */
static void
prove_slot(struct checker_case scenario)
{
    const struct plan_case_counts counts = counts_of(scenario.shape.size);

    if (scenario.goal == CHECKER_ALLREDUCE || scenario.goal == CHECKER_REDUCE ||
        scenario.goal == CHECKER_REDUCE_SCATTER)
        scenario.arithmetic = ARITHMETIC_COMPOSE;
    if (scenario.goal == CHECKER_BARRIER) {
        plan_case_both_places(scenario);
        return;
    }
    if (scenario.goal == CHECKER_BROADCAST || scenario.goal == CHECKER_REDUCE) {
        plan_case_roots(scenario, plan_case_even);
        return;
    }
    plan_case_even(scenario, counts);
    if (scenario.goal == CHECKER_ALLGATHER ||
        scenario.goal == CHECKER_REDUCE_SCATTER)
        plan_case_uneven(scenario, counts);
    if (scenario.goal == CHECKER_ALLREDUCE) {
        scenario.arithmetic = ARITHMETIC_HASH;
        plan_case_even(scenario, (struct plan_case_counts){1, 9});
    }
}

/* Of large sizes, each is met with one slot. What reads in place needs none for
 * each rank, but for an exchange. */
static void
prove_slots(struct checker_case scenario)
{
    const size_t size = scenario.shape.size;
    const bool is_direct = scenario.algorithm->is_direct;
    const size_t smallest =
        is_direct && scenario.goal != CHECKER_ALLTOALL ? 1 : size;
    const size_t capacities[] = {4 * size, smallest, size + 3, 50 * size};
    const size_t n_capacities = is_direct ? 2 : COUNT_OF(capacities);

    scenario.shape.has_cma = is_direct;
    for (size_t i = 0; i < n_capacities; i++) {
        scenario.shape.slot_capacity = capacities[i];
        scenario.shape.granule = i == 0 ? 4 : 1;
        if (size <= SIZE_MAX_ALL_SLOTS || size % n_capacities == i)
            prove_slot(scenario);
    }
}

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

/* A third of them, another one for each size. */
static struct plan_case_counts
third_of(struct plan_case_counts counts, uint32_t size)
{
    return (struct plan_case_counts){
        .first = counts.first + size % 3 * counts.stride,
        .stride = 3 * counts.stride,
    };
}

static void
prove_roots(struct checker_case scenario, struct plan_case_counts counts)
{
    const uint32_t size = scenario.shape.size;
    const uint32_t stride = size <= SIZE_MAX_ALL_LAYOUTS ? 1 : size;

    for (uint32_t root = (uint32_t)counts.first % size; root < size;
         root += stride) {
        scenario.shape.root = root;
        plan_case_even(scenario,
                       (struct plan_case_counts){
                           (counts.first + root) % COUNT_STRIDE, COUNT_STRIDE});
    }
}

static void
prove_layout(struct checker_case scenario, struct plan_case_counts counts)
{
    const uint32_t size = scenario.shape.size;

    if (scenario.goal == CHECKER_ALLREDUCE) {
        /* Blocks are cut on single elements, then on more. */
        plan_case_even(scenario, counts);
        scenario.shape.granule = 4;
        plan_case_even(scenario, third_of(counts, size));
    } else if (scenario.goal == CHECKER_ALLGATHER) {
        plan_case_even(scenario, third_of(counts, size));
        plan_case_uneven(scenario, third_of(counts, size + 1));
    } else {
        prove_roots(scenario, counts);
    }
}

static void
prove_layouts(struct checker_case scenario)
{
    const uint32_t size = scenario.shape.size;
    uint32_t names[PROOF_SIZE_MAX];

    for (int layout = LAYOUT_UNKNOWN; layout <= LAYOUT_SCATTERED; layout++) {
        const struct plan_case_counts some = {
            (size + (uint32_t)layout) % COUNT_STRIDE, COUNT_STRIDE};
        struct plan_nodes *nodes = NULL;

        for (uint32_t rank = 0; rank < size; rank++)
            names[rank] = layout_node((enum layout)layout, rank);
        if (layout != LAYOUT_UNKNOWN)
            assert_ok(plan_nodes_create(names, size, &nodes));
        scenario.shape.nodes = nodes;
        prove_layout(scenario, size <= SIZE_MAX_ALL_LAYOUTS
                                   ? plan_case_all_counts
                                   : some);
        plan_nodes_destroy(nodes);
    }
}

static void
algorithm_does_what_its_collective_says(void **state)
{
    const struct registry_algorithm *entry = *state;
    const enum checker_collective goal = goals[entry->collective];
    const bool is_cheap = goal == CHECKER_BARRIER && !entry->algorithm->is_shm;
    struct checker_case scenario = plan_case(entry->algorithm, goal);

    for (uint32_t size = 1; size <= PROOF_SIZE_MAX * (is_cheap ? 4 : 1);
         size++) {
        scenario.shape.size = size;
        if (entry->algorithm->is_shm)
            prove_slots(scenario);
        else if (entry->needs_nodes)
            prove_layouts(scenario);
        else
            prove_size(scenario, entry->is_even_only);
    }
}

/* A plan of many rounds, run by one who does not wait. Only the root of a
 * broadcast could be so early; others hear that all are through. */
static void
slot_that_is_not_waited_for_is_found(void **state)
{
    static const enum checker_planted_fault faults[] = {CHECKER_UNWAITED_WRITE,
                                                        CHECKER_UNWAITED_READ};

    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        const struct checker_case scenario = {
            .algorithm = &algorithm_broadcast_flat,
            .goal = CHECKER_BROADCAST,
            .shape = {.size = 3, .count = 30, .granule = 1, .slot_capacity = 3},
            .n_schedules = 20,
            .slots = faults[i],
        };

        assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    }
}

int
main(int argc, char **argv)
{
    static char names[ENTRIES_MAX][64];
    struct CMUnitTest tests[ENTRIES_MAX + 1];
    size_t n_entries = 0;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (size_t i = 0; i < n_entries && i < ENTRIES_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "%s:%s",
                 registry_collective_name(entries[i].collective),
                 entries[i].algorithm->name);
        tests[i] = (struct CMUnitTest){
            .name = names[i],
            .test_func = algorithm_does_what_its_collective_says,
            .initial_state = (void *)(uintptr_t)&entries[i],
        };
    }
    tests[n_entries] = (struct CMUnitTest)cmocka_unit_test(
        slot_that_is_not_waited_for_is_found);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed =
        _cmocka_run_group_tests("plans", tests, n_entries + 1, NULL, NULL);
    plan_case_report();
    return n_failed;
}
