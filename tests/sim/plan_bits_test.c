/*
 * tests/sim/plan_bits_test.c - in which order algorithms combine
 *
 * Every all-reduce leaves the same bits on all ranks. Most algorithms combine
 * in the order of the ranks. A side that is wrong is found.
 */

#include <stdio.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "checker/checker.h"
#include "plan/nodes.h"

enum {
    SIZE_MAX_PROVED = 33
};

/* Three nodes of ranks side by side, or of ranks dealt one after another. */
enum layout {
    LAYOUT_BESIDE,
    LAYOUT_DEALT,
};

static struct plan_nodes *
layout_create(enum layout layout, uint32_t size)
{
    uint32_t names[SIZE_MAX_PROVED];
    struct plan_nodes *nodes = NULL;

    for (uint32_t rank = 0; rank < size; rank++)
        names[rank] = layout == LAYOUT_DEALT ? rank % 3 : rank * 3 / size;
    assert_ok(plan_nodes_create(names, size, &nodes));
    return nodes;
}

/* The error says what was wrong in which case. */
static enum hoop_status
verify_places(struct checker_case scenario)
{
    static uint64_t seed;

    for (int place = 0; place < 2; place++) {
        scenario.shape.is_in_place = place == 1;
        scenario.seed = seed++;
        scenario.n_schedules = 1;
        if (checker_verify_algorithm(&scenario) != HOOP_OK) {
            char why[LIMIT_ERROR_TEXT];

            snprintf(why, sizeof(why), "%s", error_text());
            return error_raise(HOOP_E_INTERNAL,
                               "%s, goal %d: size %u root %u count %zu place "
                               "%d: %s",
                               scenario.algorithm->name, (int)scenario.goal,
                               scenario.shape.size, scenario.shape.root,
                               scenario.shape.count, place, why);
        }
    }
    return HOOP_OK;
}

static enum hoop_status
verify_sizes(const struct checker_case *given, enum layout layout)
{
    static const size_t counts[] = {1, 6, 40};
    enum hoop_status status = HOOP_OK;

    for (uint32_t size = 1; status == HOOP_OK && size <= SIZE_MAX_PROVED;
         size++) {
        struct checker_case scenario = *given;
        struct plan_nodes *nodes = layout_create(layout, size);

        scenario.shape.size = size;
        scenario.shape.granule = 1;
        scenario.shape.slot_capacity = size;
        scenario.shape.has_cma = true;
        scenario.shape.nodes = nodes;
        for (size_t i = 0; status == HOOP_OK && i < COUNT_OF(counts); i++) {
            scenario.shape.count = counts[i];
            status = verify_places(scenario);
        }
        plan_nodes_destroy(nodes);
    }
    return status;
}

static void
prove_sizes(const struct checker_case *given, enum layout layout)
{
    if (verify_sizes(given, layout) != HOOP_OK)
        fail_msg("%s", error_text());
}

static void
allreduce_any_algorithm_has_the_same_bits_on_all_ranks(void **state)
{
    size_t n = 0;
    const struct registry_algorithm *entries =
        registry_collective_entries(COLLECTIVE_ALLREDUCE, &n);

    for (size_t i = 0; i < n; i++) {
        const struct checker_case scenario = {
            .algorithm = entries[i].algorithm,
            .goal = CHECKER_ALLREDUCE,
            .arithmetic = ARITHMETIC_HASH,
        };

        prove_sizes(&scenario, LAYOUT_BESIDE);
        if (entries[i].needs_nodes)
            prove_sizes(&scenario, LAYOUT_DEALT);
    }
}

/* The others combine in the order of the ranks. For scans see
 * plan_check_test.c. */
static bool
is_known_to_change_the_order(const struct algorithm *algorithm)
{
    return algorithm == &algorithm_allreduce_ring ||
           algorithm == &algorithm_allreduce_pairwise ||
           algorithm == &algorithm_allreduce_hierarchical;
}

/* Where a node has ranks side by side, and to rank 0. */
static void
most_algorithms_combine_in_the_order_of_ranks(void **state)
{
    size_t n_entries = 0;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (size_t i = 0; i < n_entries; i++) {
        const struct checker_case scenario = {
            .algorithm = entries[i].algorithm,
            .goal = entries[i].collective == COLLECTIVE_REDUCE
                        ? CHECKER_REDUCE
                        : CHECKER_ALLREDUCE,
            .arithmetic = ARITHMETIC_COMPOSE,
        };

        if (entries[i].collective != COLLECTIVE_ALLREDUCE &&
            entries[i].collective != COLLECTIVE_REDUCE)
            continue;
        if (!is_known_to_change_the_order(entries[i].algorithm))
            prove_sizes(&scenario, LAYOUT_BESIDE);
        else if (verify_sizes(&scenario, LAYOUT_BESIDE) == HOOP_OK)
            fail_msg("%s combines in the order of the ranks",
                     entries[i].algorithm->name);
    }
}

/* Rank 1 mistakes its side. */
static void
sided_plan_round(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t round)
{
    const size_t before = plan->n_steps;

    algorithm_allreduce_recursive_doubling.plan_round(plan, shape, round);
    for (size_t i = before; i < plan->n_steps && shape->rank == 1; i++)
        plan->steps[i].side = plan->steps[i].side == PLAN_OWN_IS_LEFT_OPERAND
                                  ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                  : PLAN_OWN_IS_LEFT_OPERAND;
}

static void
wrong_side_on_one_rank_is_found(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_recursive_doubling;
    struct checker_case scenario = {
        .algorithm = &algorithm,
        .goal = CHECKER_ALLREDUCE,
        .shape = {.size = 4, .count = 2, .granule = 1},
        .n_schedules = 1,
    };

    algorithm.plan_round = sided_plan_round;
    assert_ok(checker_verify_algorithm(&scenario));
    scenario.arithmetic = ARITHMETIC_COMPOSE;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    scenario.arithmetic = ARITHMETIC_HASH;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "otherwise"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            allreduce_any_algorithm_has_the_same_bits_on_all_ranks),
        cmocka_unit_test(most_algorithms_combine_in_the_order_of_ranks),
        cmocka_unit_test(wrong_side_on_one_rank_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
