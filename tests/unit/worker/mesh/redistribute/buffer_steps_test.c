/* tests/unit/worker/mesh/redistribute/buffer_steps_test.c - mesh/redistribute/transfer_plan.c */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "mesh/redistribute/transfer_plan.h"

/* On 2 x 2, of rank 1. */
struct case_of_legs {
    struct redistribution *redistribution;
    struct buffer_steps buffer_steps;
};

static struct case_of_legs way;

static const struct hoop_sharding whole = {0};
static const struct hoop_sharding rows = {.dims = {{1, {1}}}};
static const struct hoop_sharding columns = {.dims = {{0}, {1, {1}}}};
static const struct hoop_sharding addends = {.partial = {1, {1}}};
static const struct hoop_sharding other_addends = {.partial = {1, {0}}};

static void
plan_way_of(uint32_t rank,
            const struct hoop_sharding *from,
            const struct hoop_sharding *to,
            const struct hoop_shape *shape)
{
    const struct hoop_mesh_shape mesh = {2, {2, 2}};
    const struct redistribution_request request = {
        .from = {.mesh = mesh, .sharding = *from},
        .to = {.mesh = mesh, .sharding = *to},
        .n_ranks = 4,
        .shape = *shape,
        .dtype = HOOP_FLOAT32,
    };

    memset(&way, 0, sizeof(way));
    assert_int_equal(redistribution_create(&request, &way.redistribution),
                     HOOP_OK);
    const struct transfer_plan_request place = {
        .redistribution = way.redistribution, .rank = rank, .n_ranks = 4};
    assert_int_equal(buffer_steps_init(&way.buffer_steps, &place, HOOP_FLOAT32),
                     HOOP_OK);
}

static void
plan_way(const struct hoop_sharding *from,
         const struct hoop_sharding *to,
         const struct hoop_shape *shape)
{
    plan_way_of(1, from, to, shape);
}

static void
end_way(void)
{
    buffer_steps_deinit(&way.buffer_steps);
    redistribution_destroy(way.redistribution);
}

static bool
has_buffers(void)
{
    return way.buffer_steps.counts[BUFFER_FIRST] > 0 ||
           way.buffer_steps.counts[BUFFER_SECOND] > 0;
}

/* Large enough for lines to be worth it. */
static const struct hoop_shape large = {2, {1000, 2000}};

static void
no_steps_stay_in_the_input(void **state)
{
    (void)state;
    plan_way(&rows, &rows, &large);
    assert_int_equal(way.buffer_steps.n_buffer_steps, 0);
    assert_true(way.buffer_steps.is_local);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_INPUT);
    end_way();
}

static void
slice_is_a_view_of_the_input(void **state)
{
    (void)state;
    plan_way(&whole, &columns, &large);
    assert_true(way.buffer_steps.is_local);
    assert_false(has_buffers());
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_INPUT);
    assert_int_equal(way.buffer_steps.last.view.first, 1000);
    assert_int_equal(way.buffer_steps.last.view.strides[0], 2000);
    assert_int_equal(way.buffer_steps.last.view.shape.dims[1], 1000);
    end_way();
}

static void
rows_are_gathered_where_they_belong(void **state)
{
    (void)state;
    plan_way(&rows, &whole, &large);
    assert_int_equal(way.buffer_steps.n_buffer_steps, 1);
    assert_false(way.buffer_steps.is_local);
    assert_false(has_buffers());
    assert_int_equal(way.buffer_steps.buffer_steps[0].send_buffer, BUFFER_NONE);
    assert_int_equal(way.buffer_steps.buffer_steps[0].receive_buffer,
                     BUFFER_OUTPUT);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_OUTPUT);
    end_way();
}

static void
columns_that_are_gathered_are_sorted_behind(void **state)
{
    (void)state;
    plan_way(&columns, &whole, &large);
    assert_int_equal(way.buffer_steps.n_buffer_steps, 1);
    assert_int_equal(way.buffer_steps.buffer_steps[0].send_buffer, BUFFER_NONE);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_OUTPUT);
    if (way.buffer_steps.buffer_steps[0].step->kind == HOOP_STEP_ALLGATHER) {
        assert_int_equal(way.buffer_steps.buffer_steps[0].receive_buffer,
                         BUFFER_FIRST);
        assert_int_equal(way.buffer_steps.counts[BUFFER_FIRST], 2000000);
    }
    end_way();
}

/* One side of the two sorts: columns of rows that are one behind the other. */
static void
rows_become_columns_with_one_buffer(void **state)
{
    (void)state;
    plan_way(&rows, &columns, &large);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(way.buffer_steps.n_buffer_steps, 1);
    assert_int_equal(local_step->send_buffer, BUFFER_FIRST);
    assert_int_equal(local_step->receive_buffer, BUFFER_OUTPUT);
    assert_int_equal(way.buffer_steps.counts[BUFFER_FIRST],
                     local_step->transfer_plan->out_count);
    assert_int_equal(way.buffer_steps.counts[BUFFER_SECOND], 0);
    assert_false(local_step->has_kept);
    end_way();
}

/* Uneven parts go by an exchange, from where they lie, even to many. */
static void
exchange_of_runs_needs_no_buffer(void **state)
{
    const struct hoop_shape odd = {1, {1001}};
    const struct hoop_sharding parts = {.dims = {{2, {0, 1}}},
                                        .is_uneven = true};
    const struct hoop_sharding all = {.is_uneven = true};

    (void)state;
    plan_way(&parts, &all, &odd);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(local_step->step->kind, HOOP_STEP_EXCHANGE);
    assert_false(has_buffers());
    assert_non_null(local_step->transfer_plan->shape.firsts);
    assert_non_null(local_step->transfer_plan->shape.recv_firsts);
    assert_int_equal(local_step->transfer_plan->shape.recv_firsts[2], 501);
    end_way();
}

/* A corner stays where both sides sort. */
static void
exchange_does_not_sort_what_stays(void **state)
{
    const struct hoop_shape cube = {3, {5, 7, 6}};
    const struct hoop_sharding middle = {.dims = {{0}, {2, {0, 1}}},
                                         .is_uneven = true};
    const struct hoop_sharding turned = {.dims = {{0}, {0}, {2, {0, 1}}},
                                         .is_uneven = true};

    (void)state;
    plan_way(&middle, &turned, &cube);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(local_step->step->kind, HOOP_STEP_EXCHANGE);
    assert_int_equal(local_step->send_buffer, BUFFER_FIRST);
    assert_int_equal(local_step->receive_buffer, BUFFER_SECOND);
    assert_int_equal(local_step->after.buffer, BUFFER_OUTPUT);
    assert_true(local_step->has_kept);
    assert_int_equal(local_step->transfer_plan->shape.counts[1], 0);
    assert_int_equal(local_step->transfer_plan->out_count +
                         view_n_elements(&local_step->kept_out.shape),
                     view_n_elements(&local_step->before.view.shape));
    end_way();
}

/* Rank 3 is the second of its line, which has no block of number 3. */
static void
line_that_sorts_on_both_sides_keeps_nothing_back(void **state)
{
    const struct hoop_shape cube = {3, {8, 300, 400}};
    const struct hoop_sharding middle = {.dims = {{0}, {1, {1}}}};
    const struct hoop_sharding last = {.dims = {{0}, {0}, {1, {1}}}};

    (void)state;
    plan_way_of(3, &middle, &last, &cube);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(local_step->send_buffer, BUFFER_FIRST);
    assert_int_equal(local_step->receive_buffer, BUFFER_SECOND);
    if (local_step->step->kind == HOOP_STEP_ALL_TO_ALL)
        assert_false(local_step->has_kept);
    end_way();
}

/* Reduced into the output; whoever is not first fills that, the first not. */
static void
fill_goes_over_what_is_in_the_output(void **state)
{
    (void)state;
    plan_way(&addends, &other_addends, &large);
    const struct local_step *fill =
        &way.buffer_steps.buffer_steps[way.buffer_steps.n_buffer_steps - 1];
    assert_int_equal(fill->step->kind, HOOP_STEP_FILL);
    assert_false(fill->is_filled);
    assert_int_equal(fill->before.buffer, BUFFER_OUTPUT);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_OUTPUT);
    end_way();

    plan_way(&other_addends, &addends, &large);
    fill = &way.buffer_steps.buffer_steps[way.buffer_steps.n_buffer_steps - 1];
    assert_true(fill->is_filled);
    assert_int_equal(fill->before.buffer, BUFFER_OUTPUT);
    assert_int_equal(fill->after.buffer, BUFFER_OUTPUT);
    end_way();
}

static void
nothing_lies_nowhere(void **state)
{
    const struct hoop_shape empty = {2, {0, 4}};

    (void)state;
    plan_way(&whole, &columns, &empty);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_NONE);
    assert_false(has_buffers());
    end_way();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_steps_stay_in_the_input),
        cmocka_unit_test(slice_is_a_view_of_the_input),
        cmocka_unit_test(rows_are_gathered_where_they_belong),
        cmocka_unit_test(columns_that_are_gathered_are_sorted_behind),
        cmocka_unit_test(rows_become_columns_with_one_buffer),
        cmocka_unit_test(exchange_of_runs_needs_no_buffer),
        cmocka_unit_test(exchange_does_not_sort_what_stays),
        cmocka_unit_test(line_that_sorts_on_both_sides_keeps_nothing_back),
        cmocka_unit_test(fill_goes_over_what_is_in_the_output),
        cmocka_unit_test(nothing_lies_nowhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
