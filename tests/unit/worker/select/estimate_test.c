/* tests/unit/worker/select/estimate_test.c - select/estimate.c */

#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "check.h"
#include "select/estimate.h"
#include "select/link.h"

static struct plan_nodes *
nodes_of(uint32_t n_ranks, uint32_t n_each)
{
    CLEANUP(free) uint32_t *names = calloc(n_ranks, sizeof(*names));
    struct plan_nodes *nodes = NULL;

    assert_non_null(names);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        names[rank] = rank / n_each;
    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    return nodes;
}

static double
cost_of(const struct plan_nodes *nodes,
        const struct registry_algorithm *entry,
        uint64_t n_bytes)
{
    const struct simulation_machine machine = link_typical_machine();
    const struct estimate_environment place = {
        .nodes = nodes,
        .machine = &machine,
        .shm_region = {.slot_capacity = 1 << 16}};
    double ns = -1;

    assert_non_null(entry);
    assert_ok(estimate_cost(&place, entry, n_bytes, &ns));
    return ns;
}

/* Whatever there is, at whatever size: something finite, and not nothing. */
static void
every_algorithm_has_a_cost_at_every_size(void **state)
{
    static const uint32_t sizes[] = {2, 3, 8, 65, 1000, 3000};
    size_t n_entries;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct plan_nodes *nodes = nodes_of(sizes[i], 8);

        for (size_t j = 0; j < n_entries; j++) {
            if (entries[j].algorithm->is_shm && sizes[i] > 64)
                continue;

            const double small_ns = cost_of(nodes, &entries[j], 0);
            const double large_ns = cost_of(nodes, &entries[j], 1 << 24);

            assert_true(small_ns > 1e2 && small_ns < 1e12);
            assert_true(large_ns >= small_ns * 0.5 && large_ns < 1e13);
        }
        plan_nodes_destroy(nodes);
    }
}

static void
cost_grows_with_the_ranks_of_a_ring(void **state)
{
    static const uint32_t sizes[] = {32, 64, 128, 512, 2048, 8192};
    const struct registry_algorithm *ring =
        registry_find_algorithm(COLLECTIVE_ALLREDUCE, "ring");
    double before_ns = 0;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct plan_nodes *nodes = nodes_of(sizes[i], 1);
        const double ns = cost_of(nodes, ring, 1 << 16);

        /* By the messages: as many as ranks. */
        if (i > 0) {
            const double growth = (double)sizes[i] / (double)sizes[i - 1];

            assert_true(ns > before_ns * growth / 1.6);
            assert_true(ns < before_ns * growth * 1.6);
        }
        before_ns = ns;
        plan_nodes_destroy(nodes);
    }
}

/* Where simulating stops, and one stands for many. */
static void
chain_of_thousands_is_as_long_as_its_ranks(void **state)
{
    const struct registry_algorithm *chain =
        registry_find_algorithm(COLLECTIVE_BROADCAST, "chain");
    struct plan_nodes *few = nodes_of(1000, 1);
    struct plan_nodes *many = nodes_of(6000, 1);
    const double ratio = cost_of(many, chain, 64) / cost_of(few, chain, 64);

    assert_true(ratio > 5 && ratio < 7);
    plan_nodes_destroy(few);
    plan_nodes_destroy(many);
}

static void
algorithms_for_nodes_need_some(void **state)
{
    const struct registry_algorithm entry = {
        .collective = COLLECTIVE_ALLREDUCE,
        .algorithm = &algorithm_allreduce_ring,
        .needs_nodes = true,
    };
    const struct simulation_machine machine = link_typical_machine();
    struct plan_nodes *one = nodes_of(8, 8);
    struct plan_nodes *two = nodes_of(8, 4);

    assert_false(estimate_can_choose(
        &(struct estimate_environment){.nodes = one, .machine = &machine},
        &entry));
    assert_true(estimate_can_choose(
        &(struct estimate_environment){.nodes = two, .machine = &machine},
        &entry));
    plan_nodes_destroy(one);
    plan_nodes_destroy(two);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_a_cost_at_every_size),
        cmocka_unit_test(cost_grows_with_the_ranks_of_a_ring),
        cmocka_unit_test(chain_of_thousands_is_as_long_as_its_ranks),
        cmocka_unit_test(algorithms_for_nodes_need_some),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
