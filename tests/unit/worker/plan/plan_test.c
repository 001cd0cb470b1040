/* tests/unit/worker/plan/plan_test.c - plan/plan.c */

#include "base/limits.h"
#include "check.h"
#include "plan/nodes.h"
#include "plan/plan.h"

static void
plan_send_store_copy_append_in_order(void **state)
{
    const struct plan_span input = {PLAN_INPUT, 3, 5};
    const struct plan_span output = {PLAN_OUTPUT, 7, 5};
    struct plan plan = {0};

    plan_add_send(&plan, 1, 10, input);
    plan_add_store(&plan, 2, 20, output);
    plan_add_copy(&plan, input, output);

    assert_ok(plan_status(&plan));
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 1);
    assert_int_equal(plan.steps[0].message, 10);
    assert_int_equal(plan.steps[0].from.first, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].message, 20);
    assert_int_equal(plan.steps[1].to.first, 7);
    assert_int_equal(plan.steps[2].kind, PLAN_COPY);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_OUTPUT);
    plan_deinit(&plan);
}

static void
plan_post_fetch_append_in_order(void **state)
{
    const struct plan_span input = {PLAN_INPUT, 3, 5};
    const struct plan_span output = {PLAN_OUTPUT, 7, 4};
    struct plan plan = {0};

    plan_add_post(&plan, input);
    plan_add_fetch(&plan, 2, 11, output);

    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_POST_TO_SLOT);
    assert_int_equal(plan.steps[0].from.first, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_FETCH);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].from.first, 11);
    assert_int_equal(plan.steps[1].from.count, 4);
    assert_int_equal(plan.steps[1].to.first, 7);
    plan_deinit(&plan);
}

static void
plan_await_is_kept_though_it_has_no_elements(void **state)
{
    struct plan plan = {0};

    plan_add_await(&plan, 3);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_FETCH);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[0].to.count, 0);
    plan_deinit(&plan);
}

static void
plan_add_step_of_no_elements_is_left_out(void **state)
{
    const struct plan_span empty = {PLAN_OUTPUT, 4, 0};
    struct plan plan = {0};

    plan_add_send(&plan, 1, 0, empty);
    plan_add_store(&plan, 1, 1, empty);
    plan_add_copy(&plan, empty, empty);
    plan_add_post(&plan, empty);
    plan_add_fetch(&plan, 1, 0, empty);
    plan_add_step(&plan, &(struct plan_step){.kind = PLAN_REDUCE, .to = empty});

    assert_int_equal(plan.n_steps, 0);
    assert_null(plan.steps);
    plan_deinit(&plan);
}

static void
plan_clear_keeps_memory(void **state)
{
    const struct plan_span span = {PLAN_OUTPUT, 0, 1};
    struct plan plan = {0};

    for (uint32_t i = 0; i < 1000; i++)
        plan_add_send(&plan, 1, i, span);
    assert_int_equal(plan.n_steps, 1000);
    assert_int_equal(plan.steps[999].message, 999);

    const struct plan_step *steps = plan.steps;

    plan_clear(&plan);
    assert_int_equal(plan.n_steps, 0);
    plan_add_send(&plan, 1, 0, span);
    assert_ptr_equal(plan.steps, steps);
    plan_deinit(&plan);
}

static void
plan_failure_is_latched_until_clear(void **state)
{
    const struct plan_span span = {PLAN_OUTPUT, 0, 1};
    struct plan plan = {.status = HOOP_E_EXHAUSTED};

    plan_add_send(&plan, 1, 0, span);
    assert_int_equal(plan.n_steps, 0);
    assert_int_equal(plan_status(&plan), HOOP_E_EXHAUSTED);
    plan_clear(&plan);
    assert_ok(plan_status(&plan));
    plan_deinit(&plan);
}

static void
nodes_are_numbered_by_their_lowest_rank(void **state)
{
    const uint32_t names[] = {70, 5, 70, 9, 5};
    const uint32_t node_of[] = {0, 1, 0, 2, 1};
    const uint32_t local_of[] = {0, 0, 1, 0, 1};
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(names, 5, &nodes));
    assert_int_equal(nodes->n_nodes, 3);
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_int_equal(nodes->node_of[rank], node_of[rank]);
        assert_int_equal(nodes->local_of[rank], local_of[rank]);
        assert_int_equal(
            plan_nodes_member_rank(nodes, node_of[rank], local_of[rank]), rank);
    }
    assert_int_equal(plan_nodes_node_size(nodes, 0), 2);
    assert_int_equal(plan_nodes_node_size(nodes, 1), 2);
    assert_int_equal(plan_nodes_node_size(nodes, 2), 1);
    assert_false(nodes->is_even);
    plan_nodes_destroy(nodes);
}

static void
nodes_with_as_many_ranks_each_are_even(void **state)
{
    const uint32_t names[] = {7, 5, 7, 9, 5, 9};
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(names, 6, &nodes));
    assert_true(nodes->is_even);
    plan_nodes_destroy(nodes);
    assert_ok(plan_nodes_create(names, 4, &nodes));
    assert_false(nodes->is_even);
    plan_nodes_destroy(nodes);
}

static void
nodes_of_one_rank_are_one(void **state)
{
    const uint32_t name = UINT32_MAX;
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(&name, 1, &nodes));
    assert_int_equal(nodes->n_nodes, 1);
    assert_int_equal(plan_nodes_member_rank(nodes, 0, 0), 0);
    plan_nodes_destroy(nodes);
    plan_nodes_destroy(NULL);
}

static void
access_of_a_step_names_what_it_waits_for(void **state)
{
    const struct plan_shape shape = {.size = 2, .is_in_place = true};
    struct plan_step step = {
        .kind = PLAN_REDUCE,
        .from = {PLAN_INPUT, 3, 4},
        .to = {PLAN_OUTPUT, 7, 4},
    };
    struct plan_access access = plan_step_access(&step, &shape);

    assert_int_equal(access.reads.buffer, PLAN_OUTPUT);
    assert_int_equal(access.reads.first, 3);
    assert_int_equal(access.writes.first, 7);
    step.to.first = 3;
    access = plan_step_access(&step, &shape);
    assert_int_equal(access.reads.count, 0);
    assert_int_equal(access.writes.count, 4);
    step.kind = PLAN_SEND;
    access = plan_step_access(&step, &(struct plan_shape){.size = 2});
    assert_int_equal(access.reads.buffer, PLAN_INPUT);
    assert_int_equal(access.reads.count, 4);
    assert_int_equal(access.writes.count, 0);
    step.kind = PLAN_STORE;
    access = plan_step_access(&step, &shape);
    assert_int_equal(access.reads.count, 0);
    assert_int_equal(access.writes.count, 4);
}

static void
slots_are_smaller_where_many_share(void **state)
{
    assert_int_equal(plan_shm_region_slot_bytes(2), LIMIT_SHM_REGION_SLOT_MAX);
    assert_int_equal(plan_shm_region_slot_bytes(LIMIT_SHM_REGION_RANKS),
                     LIMIT_SHM_REGION_SLOT_MIN);
    for (uint32_t n = 2; n <= LIMIT_SHM_REGION_RANKS; n++)
        assert_true(4 * n * plan_shm_region_slot_bytes(n) <= LIMIT_SHM_REGION);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_send_store_copy_append_in_order),
        cmocka_unit_test(plan_post_fetch_append_in_order),
        cmocka_unit_test(plan_await_is_kept_though_it_has_no_elements),
        cmocka_unit_test(plan_add_step_of_no_elements_is_left_out),
        cmocka_unit_test(plan_clear_keeps_memory),
        cmocka_unit_test(plan_failure_is_latched_until_clear),
        cmocka_unit_test(nodes_are_numbered_by_their_lowest_rank),
        cmocka_unit_test(nodes_with_as_many_ranks_each_are_even),
        cmocka_unit_test(nodes_of_one_rank_are_one),
        cmocka_unit_test(access_of_a_step_names_what_it_waits_for),
        cmocka_unit_test(slots_are_smaller_where_many_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
