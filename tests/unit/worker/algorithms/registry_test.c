/* tests/unit/worker/algorithms/registry_test.c - what the list of algorithms
 * holds */

#include <string.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "check.h"
#include "plan/nodes.h"

static void
entries_of_one_collective_stand_side_by_side(void **state)
{
    size_t n_all = 0;
    size_t n_found = 0;
    const struct registry_algorithm *all = registry_all_entries(&n_all);

    for (int i = 0; i < COLLECTIVE_KINDS; i++) {
        const enum collective_kind collective = (enum collective_kind)i;
        size_t n = 0;
        const struct registry_algorithm *some =
            registry_collective_entries(collective, &n);

        for (size_t j = 0; j < n; j++) {
            assert_int_equal(some[j].collective, collective);
            assert_ptr_equal(
                registry_find_algorithm(collective, some[j].algorithm->name),
                &some[j]);
            assert_ptr_equal(registry_entry_of_algorithm(some[j].algorithm),
                             &some[j]);
        }
        n_found += n;
    }
    assert_int_equal(n_found, n_all);
    for (size_t i = 1; i < n_all; i++)
        assert_true(all[i].collective >= all[i - 1].collective);
}

/* The engine and the model call the functions of a shared-memory plan directly,
 * and a composed algorithm has none. */
static void
composed_algorithm_has_no_functions_and_is_no_shared_memory_plan(void **state)
{
    size_t n_all = 0;
    const struct registry_algorithm *all = registry_all_entries(&n_all);

    for (size_t i = 0; i < n_all; i++) {
        const struct algorithm *algorithm = all[i].algorithm;

        assert_int_equal(algorithm->n_rounds == NULL,
                         algorithm->compose != NULL);
        assert_int_equal(algorithm->plan_round == NULL,
                         algorithm->compose != NULL);
        assert_false(algorithm->compose && algorithm->is_shm);
        assert_false(algorithm->compose && algorithm->n_scratch);
        assert_false(algorithm->is_direct && !algorithm->is_shm);
    }
}

/* Whoever finds no other way takes the first. */
static void
first_of_each_collective_suits_everything(void **state)
{
    const size_t counts[] = {1, 2};
    const struct plan_shape shape = {
        .size = 2, .granule = 1, .counts = counts, .recv_counts = counts};

    for (int i = 0; i < COLLECTIVE_KINDS; i++) {
        size_t n = 0;
        const struct registry_algorithm *first =
            registry_collective_entries((enum collective_kind)i, &n);

        assert_true(n == 0 || registry_algorithm_suits_shape(first, &shape));
    }
}

static void
entry_for_even_blocks_does_not_suit_counts(void **state)
{
    const size_t counts[] = {1, 2};
    const struct registry_algorithm entry = {
        .collective = COLLECTIVE_ALLTOALL,
        .algorithm = &algorithm_allgather_ring,
        .is_even_only = true,
    };
    struct plan_shape shape = {.size = 2, .granule = 1, .count = 1};

    assert_true(registry_algorithm_suits_shape(&entry, &shape));
    shape.counts = counts;
    assert_false(registry_algorithm_suits_shape(&entry, &shape));
    shape = (struct plan_shape){.size = 2, .granule = 1, .recv_counts = counts};
    assert_false(registry_algorithm_suits_shape(&entry, &shape));
}

static const struct registry_algorithm for_nodes = {
    .algorithm = &algorithm_allreduce_ring,
    .needs_nodes = true,
};

static bool
nodes_suit(const struct registry_algorithm *entry,
           const uint32_t *names,
           uint32_t n_ranks)
{
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    const struct plan_shape shape = {
        .size = n_ranks, .granule = 1, .nodes = nodes};
    const bool suits = registry_algorithm_suits_shape(entry, &shape);
    plan_nodes_destroy(nodes);
    return suits;
}

static void
entry_for_nodes_needs_several_and_one_of_several_ranks(void **state)
{
    const struct plan_shape unknown = {.size = 3, .granule = 1};

    assert_false(registry_algorithm_suits_shape(&for_nodes, &unknown));
    assert_false(nodes_suit(&for_nodes, (const uint32_t[]){4, 4, 4}, 3));
    assert_false(nodes_suit(&for_nodes, (const uint32_t[]){4, 5, 6}, 3));
    assert_true(nodes_suit(&for_nodes, (const uint32_t[]){4, 5, 4}, 3));
}

/* Where each rank has its own, it is still pointless. */
static void
entry_for_nodes_may_suit_one_node_too(void **state)
{
    const struct plan_shape unknown = {.size = 3, .granule = 1};
    struct registry_algorithm entry = for_nodes;

    entry.suits_one_node = true;
    assert_true(registry_algorithm_suits_shape(&entry, &unknown));
    assert_true(nodes_suit(&entry, (const uint32_t[]){4, 4, 4}, 3));
    assert_false(nodes_suit(&entry, (const uint32_t[]){4, 5, 6}, 3));
    assert_true(nodes_suit(&entry, (const uint32_t[]){4, 5, 4}, 3));
}

static void
entry_that_is_flat_needs_a_slot_for_all_ranks(void **state)
{
    const struct registry_algorithm entry = {.algorithm =
                                                 &algorithm_barrier_flat};
    struct plan_shape shape = {.size = 3, .granule = 1};

    assert_false(registry_algorithm_suits_shape(&entry, &shape));
    shape.slot_capacity = 2;
    assert_false(registry_algorithm_suits_shape(&entry, &shape));
    shape.slot_capacity = 3;
    assert_true(registry_algorithm_suits_shape(&entry, &shape));
}

static void
names_are_read_back(void **state)
{
    for (int i = 0; i < COLLECTIVE_KINDS; i++) {
        enum collective_kind read = COLLECTIVE_BARRIER;

        assert_true(registry_parse_collective(
            registry_collective_name((enum collective_kind)i), &read));
        assert_int_equal(read, i);
    }
}

static void
name_that_is_none_is_refused(void **state)
{
    enum collective_kind collective = COLLECTIVE_SCAN;

    assert_false(registry_parse_collective("allgatherv", &collective));
    assert_int_equal(collective, COLLECTIVE_SCAN);
    assert_null(registry_find_algorithm(COLLECTIVE_ALLREDUCE, "dissemination"));
}

static void
blockwise_are_those_whose_count_is_a_block(void **state)
{
    assert_true(registry_is_blockwise(COLLECTIVE_ALLTOALL));
    assert_true(registry_is_blockwise(COLLECTIVE_GATHER));
    assert_false(registry_is_blockwise(COLLECTIVE_ALLREDUCE));
    assert_false(registry_is_blockwise(COLLECTIVE_BARRIER));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_one_collective_stand_side_by_side),
        cmocka_unit_test(
            composed_algorithm_has_no_functions_and_is_no_shared_memory_plan),
        cmocka_unit_test(first_of_each_collective_suits_everything),
        cmocka_unit_test(entry_for_even_blocks_does_not_suit_counts),
        cmocka_unit_test(
            entry_for_nodes_needs_several_and_one_of_several_ranks),
        cmocka_unit_test(entry_for_nodes_may_suit_one_node_too),
        cmocka_unit_test(entry_that_is_flat_needs_a_slot_for_all_ranks),
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(name_that_is_none_is_refused),
        cmocka_unit_test(blockwise_are_those_whose_count_is_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
