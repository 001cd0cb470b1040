/* tests/unit/worker/mesh/redistribute/view_test.c - mesh/redistribute/transfer_plan.c */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "mesh/grid.h"
#include "mesh/redistribute/participants.h"
#include "mesh/redistribute/transfer_plan.h"

/* 3 rows of 4: 0, 1, 2, ... */
static const struct hoop_shape matrix_shape = {2, {3, 4}};

struct board {
    int16_t at[12];
};

static struct board
board_of_numbers(void)
{
    struct board board;

    for (int16_t i = 0; i < 12; i++)
        board.at[i] = i;
    return board;
}

static struct hoop_part
box_of(size_t row, size_t column, size_t n_rows, size_t n_columns)
{
    return (struct hoop_part){.offset = {row, column},
                              .shape = {2, {n_rows, n_columns}}};
}

static void
view_of_whole_tensor_has_its_strides(void **state)
{
    const struct view view = view_of_shape(&matrix_shape);

    assert_int_equal(view.first, 0);
    assert_int_equal(view.strides[0], 4);
    assert_int_equal(view.strides[1], 1);
    assert_int_equal(shape_n_elements(&view.shape), 12);
}

static void
view_of_no_dimensions_is_one_element(void **state)
{
    const struct hoop_shape none = {0};
    const struct view view = view_of_shape(&none);
    const struct hoop_part box = {.shape = none};
    size_t first;

    assert_int_equal(shape_n_elements(&view.shape), 1);
    assert_true(view_has_contiguous_boxes(&view, &box, 1, &first));
    assert_int_equal(first, 0);
}

static void
cut_of_a_cut_adds_up(void **state)
{
    const struct hoop_part outer = box_of(1, 1, 2, 3);
    const struct hoop_part inner = box_of(1, 1, 1, 2);
    const struct view whole = view_of_shape(&matrix_shape);
    const struct view half = view_cut(&whole, &outer);
    const struct view cut = view_cut(&half, &inner);

    assert_int_equal(cut.first, 2 * 4 + 2);
    assert_int_equal(shape_n_elements(&cut.shape), 2);
    assert_int_equal(cut.strides[0], 4);
}

static void
rows_are_a_run_and_columns_are_not(void **state)
{
    const struct hoop_part rows[] = {box_of(1, 0, 1, 4), box_of(2, 0, 1, 4)};
    const struct hoop_part columns[] = {box_of(0, 0, 3, 2), box_of(0, 2, 3, 2)};
    const struct view view = view_of_shape(&matrix_shape);
    size_t first = 77;

    assert_true(view_has_contiguous_boxes(&view, rows, 2, &first));
    assert_int_equal(first, 4);
    assert_false(view_has_contiguous_boxes(&view, columns, 2, &first));
    assert_false(view_has_contiguous_boxes(&view, columns, 1, &first));
}

static void
run_minds_order_gaps_and_repetition(void **state)
{
    const struct hoop_part turned[] = {box_of(1, 0, 1, 4), box_of(0, 0, 1, 4)};
    const struct hoop_part apart[] = {box_of(0, 0, 1, 4), box_of(2, 0, 1, 4)};
    const struct hoop_part twice[] = {box_of(0, 0, 1, 4), box_of(0, 0, 1, 4)};
    const struct view view = view_of_shape(&matrix_shape);
    size_t first;

    assert_false(view_has_contiguous_boxes(&view, turned, 2, &first));
    assert_false(view_has_contiguous_boxes(&view, apart, 2, &first));
    assert_false(view_has_contiguous_boxes(&view, twice, 2, &first));
}

static void
run_skips_what_is_empty(void **state)
{
    const struct hoop_part boxes[] = {
        {.shape = {.n_dims = 1}}, box_of(1, 0, 1, 2),       box_of(0, 0, 0, 3),
        box_of(1, 2, 1, 2),       {.shape = {.n_dims = 1}},
    };
    const struct view view = view_of_shape(&matrix_shape);
    size_t first = 77;

    assert_true(
        view_has_contiguous_boxes(&view, boxes, COUNT_OF(boxes), &first));
    assert_int_equal(first, 4);
    assert_true(view_has_contiguous_boxes(&view, boxes, 1, &first));
    assert_int_equal(first, 0);
}

static void
runs_may_lie_anywhere_and_overlap(void **state)
{
    const struct hoop_part boxes[] = {box_of(2, 0, 1, 4), box_of(0, 0, 0, 4),
                                      box_of(1, 1, 1, 3), box_of(1, 0, 2, 4)};
    const struct hoop_part columns = box_of(0, 2, 3, 2);
    const struct view view = view_of_shape(&matrix_shape);
    size_t firsts[4];

    assert_true(view_has_dense_boxes(&view, boxes, 4, firsts));
    assert_int_equal(firsts[0], 8);
    assert_int_equal(firsts[1], 0);
    assert_int_equal(firsts[2], 5);
    assert_int_equal(firsts[3], 4);
    assert_false(view_has_dense_boxes(&view, &columns, 1, firsts));
}

static void
packed_columns_lie_one_behind_the_other(void **state)
{
    static const int16_t expected[] = {2, 3, 6, 7, 10, 11, 4, 5, 6, 7};
    const struct hoop_part boxes[] = {box_of(0, 2, 3, 2), box_of(0, 0, 0, 4),
                                      box_of(1, 0, 1, 4)};
    const struct view view = view_of_shape(&matrix_shape);
    struct board board = board_of_numbers();
    const struct view_memory memory = {HOOP_INT16, board.at};
    int16_t packed[COUNT_OF(expected)] = {0};

    view_pack(&view, &memory, boxes, COUNT_OF(boxes), packed);
    assert_memory_equal(packed, expected, sizeof(expected));
}

static void
unpacked_boxes_are_where_they_were(void **state)
{
    const struct hoop_part boxes[] = {box_of(0, 2, 3, 2), box_of(0, 0, 3, 2)};
    const struct view view = view_of_shape(&matrix_shape);
    struct board board = board_of_numbers();
    struct board other;
    int16_t packed[12];

    memset(&other, 0xff, sizeof(other));
    const struct view_memory memory = {HOOP_INT16, board.at};
    const struct view_memory other_memory = {HOOP_INT16, other.at};
    view_pack(&view, &memory, boxes, 2, packed);
    view_unpack(&view, &other_memory, boxes, 2, packed);
    assert_memory_equal(other.at, board.at, sizeof(board.at));
}

static void
copy_between_views_of_different_strides(void **state)
{
    static const int16_t expected[] = {-1, 1, 2, -1, 5, 6, -1, -1, -1};
    const struct hoop_shape small = {2, {3, 3}};
    const struct hoop_part box = box_of(0, 1, 2, 2);
    const struct view whole = view_of_shape(&matrix_shape);
    const struct view to_whole = view_of_shape(&small);
    const struct view from = view_cut(&whole, &box);
    const struct view to = view_cut(&to_whole, &box);
    struct board board = board_of_numbers();
    int16_t values[9];

    memset(values, 0xff, sizeof(values));
    view_copy(&from, &(struct view_memory){HOOP_INT16, board.at}, &to,
              &(struct view_memory){HOOP_INT16, values});
    assert_memory_equal(values, expected, sizeof(expected));
}

static void
nothing_needs_no_memory(void **state)
{
    const struct hoop_shape empty = {2, {0, 4}};
    const struct hoop_part boxes[] = {{.shape = {.n_dims = 1}},
                                      {.shape = empty}};
    const struct view view = view_of_shape(&empty);
    const struct view_memory memory = {HOOP_FLOAT64, NULL};

    view_copy(&view, &memory, &view, &memory);
    view_pack(&view, &memory, boxes, 2, NULL);
    view_unpack(&view, &memory, boxes, 2, NULL);
}

/* On 2 x 2, of rank 1. */
struct case_of_legs {
    struct redistribution *redistribution;
    struct buffer_steps buffer_steps;
};

static struct case_of_legs way;

static const struct hoop_sharding whole = {0};
static const struct hoop_sharding rows_sharding = {.dims = {{1, {1}}}};
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
    assert_ok(redistribution_create(&request, &way.redistribution));
    const struct transfer_plan_request place = {
        .redistribution = way.redistribution, .rank = rank, .n_ranks = 4};
    assert_ok(buffer_steps_init(&way.buffer_steps, &place, HOOP_FLOAT32));
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
    redistribution_unref(way.redistribution);
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
    plan_way(&rows_sharding, &rows_sharding, &large);
    assert_int_equal(way.buffer_steps.n_buffer_steps, 0);
    assert_true(way.buffer_steps.is_local);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_INPUT);
    end_way();
}

static void
slice_is_a_view_of_the_input(void **state)
{
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
    plan_way(&rows_sharding, &whole, &large);
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

/* One side of the two sorts: columns of rows_sharding that are one behind the other. */
static void
rows_become_columns_with_one_buffer(void **state)
{
    plan_way(&rows_sharding, &columns, &large);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(way.buffer_steps.n_buffer_steps, 1);
    assert_int_equal(local_step->send_buffer, BUFFER_FIRST);
    assert_int_equal(local_step->receive_buffer, BUFFER_OUTPUT);
    assert_int_equal(way.buffer_steps.counts[BUFFER_FIRST],
                     local_step->transfer_plan->out_count);
    assert_int_equal(way.buffer_steps.counts[BUFFER_SECOND], 0);
    assert_false(local_step->has_own_block);
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

    plan_way(&parts, &all, &odd);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(local_step->step->kind, HOOP_STEP_EXCHANGE);
    assert_false(has_buffers());
    assert_non_null(local_step->transfer_plan->shape.firsts);
    assert_non_null(local_step->transfer_plan->shape.recv_displacements);
    assert_int_equal(local_step->transfer_plan->shape.recv_displacements[2],
                     501);
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

    plan_way(&middle, &turned, &cube);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(local_step->step->kind, HOOP_STEP_EXCHANGE);
    assert_int_equal(local_step->send_buffer, BUFFER_FIRST);
    assert_int_equal(local_step->receive_buffer, BUFFER_SECOND);
    assert_int_equal(local_step->after.buffer, BUFFER_OUTPUT);
    assert_true(local_step->has_own_block);
    assert_int_equal(local_step->transfer_plan->shape.counts[1], 0);
    assert_int_equal(local_step->transfer_plan->out_count +
                         shape_n_elements(&local_step->own_block_before.shape),
                     shape_n_elements(&local_step->before.view.shape));
    end_way();
}

/* Rank 3 is the second of its line, which has no block of number 3. */
static void
line_that_sorts_on_both_sides_keeps_nothing_back(void **state)
{
    const struct hoop_shape cube = {3, {8, 300, 400}};
    const struct hoop_sharding middle = {.dims = {{0}, {1, {1}}}};
    const struct hoop_sharding last = {.dims = {{0}, {0}, {1, {1}}}};

    plan_way_of(3, &middle, &last, &cube);
    const struct local_step *local_step = &way.buffer_steps.buffer_steps[0];
    assert_int_equal(local_step->send_buffer, BUFFER_FIRST);
    assert_int_equal(local_step->receive_buffer, BUFFER_SECOND);
    if (local_step->step->kind == HOOP_STEP_ALL_TO_ALL)
        assert_false(local_step->has_own_block);
    end_way();
}

/* Reduced into the output; whoever is not first fills that, the first not. */
static void
fill_goes_over_what_is_in_the_output(void **state)
{
    plan_way(&addends, &other_addends, &large);
    const struct local_step *fill =
        &way.buffer_steps.buffer_steps[way.buffer_steps.n_buffer_steps - 1];
    assert_int_equal(fill->step->kind, HOOP_STEP_FILL);
    assert_false(fill->is_neutral_fill);
    assert_int_equal(fill->before.buffer, BUFFER_OUTPUT);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_OUTPUT);
    end_way();

    plan_way(&other_addends, &addends, &large);
    fill = &way.buffer_steps.buffer_steps[way.buffer_steps.n_buffer_steps - 1];
    assert_true(fill->is_neutral_fill);
    assert_int_equal(fill->before.buffer, BUFFER_OUTPUT);
    assert_int_equal(fill->after.buffer, BUFFER_OUTPUT);
    end_way();
}

static void
nothing_lies_nowhere(void **state)
{
    const struct hoop_shape empty = {2, {0, 4}};

    plan_way(&whole, &columns, &empty);
    assert_int_equal(way.buffer_steps.last.buffer, BUFFER_NONE);
    assert_false(has_buffers());
    end_way();
}

/*
 * Every place has the same part of a tensor on the fine grid as on its own.
 */

static void
refinement_has_the_borders_of_both(void **state)
{
    static const struct {
        struct hoop_mesh_shape one;
        struct hoop_mesh_shape other;
        struct hoop_mesh_shape fine;
    } rows[] = {
        {{2, {2, 4}}, {3, {2, 2, 2}}, {3, {2, 2, 2}}},
        {{1, {8}}, {2, {2, 4}}, {2, {2, 4}}},
        {{2, {4, 2}}, {2, {2, 4}}, {3, {2, 2, 2}}},
        {{2, {2, 6}}, {3, {2, 3, 2}}, {3, {2, 3, 2}}},
        {{3, {1, 4, 1}}, {2, {4, 1}}, {1, {4}}},
        {{2, {3, 4}}, {2, {6, 2}}, {3, {3, 2, 2}}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hoop_mesh_shape fine = {0};
        struct hoop_mesh_shape again = {0};

        assert_true(
            mesh_shapes_common_refinement(&rows[i].one, &rows[i].other, &fine));
        assert_true(mesh_shapes_common_refinement(&rows[i].other, &rows[i].one,
                                                  &again));
        assert_int_equal(fine.n_axes, rows[i].fine.n_axes);
        assert_memory_equal(fine.sizes, rows[i].fine.sizes,
                            fine.n_axes * sizeof(uint32_t));
        assert_memory_equal(fine.sizes, again.sizes,
                            fine.n_axes * sizeof(uint32_t));
    }
}

static void
refinement_of_grids_that_cross_does_not_exist(void **state)
{
    static const struct hoop_mesh_shape rows[][2] = {
        {{2, {2, 3}}, {2, {3, 2}}},
        {{2, {2, 2}}, {1, {8}}},
        {{2, {4, 2}}, {1, {4}}},
        {{2, {1, 1}}, {1, {1}}},
    };
    struct hoop_mesh_shape fine = {0};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_false(
            mesh_shapes_common_refinement(&rows[i][0], &rows[i][1], &fine));
        assert_false(
            mesh_shapes_common_refinement(&rows[i][1], &rows[i][0], &fine));
    }
    assert_int_equal(fine.n_axes, 0);
}

/* Of 10 x 9, uneven, so that every part's offset counts. */
static void
parts_are_alike(const struct hoop_mesh_shape *coarse,
                const struct hoop_mesh_shape *fine,
                const struct hoop_sharding *sharding,
                uint32_t n_places)
{
    const struct hoop_shape shape = {2, {10, 9}};
    const struct hoop_sharding refined =
        refinement_refine_sharding(coarse, fine, sharding);

    for (uint32_t place = 0; place < n_places; place++) {
        struct hoop_part one;
        struct hoop_part other;

        assert_ok(hoop_sharding_part(sharding, coarse, &shape, place, &one));
        assert_ok(hoop_sharding_part(&refined, fine, &shape, place, &other));
        assert_true(hoop_shape_equal(&one.shape, &other.shape));
        assert_memory_equal(one.offset, other.offset, 2 * sizeof(size_t));
    }
}

static void
sharding_that_is_refined_gives_the_same_parts(void **state)
{
    static const struct hoop_sharding shardings[] = {
        {.is_uneven = true},
        {.dims = {{1, {0}}}, .is_uneven = true},
        {.dims = {{1, {1}}}, .is_uneven = true},
        {.dims = {{1, {1}}, {1, {0}}}, .is_uneven = true},
        {.dims = {{0}, {2, {0, 1}}}, .is_uneven = true},
        {.dims = {{2, {1, 0}}}, .is_uneven = true},
        {.dims = {{1, {1}}}, .partial = {1, {0}}, .is_uneven = true},
    };
    static const struct hoop_mesh_shape coarse[] = {{2, {4, 2}}, {2, {2, 4}}};
    static const struct hoop_mesh_shape fine = {3, {2, 2, 2}};

    for (size_t i = 0; i < COUNT_OF(shardings) * COUNT_OF(coarse); i++)
        parts_are_alike(&coarse[i % 2], &fine, &shardings[i / 2], 8);
}

static void
sharding_that_is_refined_names_all_axes(void **state)
{
    static const struct hoop_mesh_shape coarse = {3, {4, 1, 2}};
    static const struct hoop_mesh_shape fine = {3, {2, 2, 2}};
    static const struct hoop_sharding sharding = {
        .dims = {{2, {2, 1}}}, .partial = {1, {0}}, .partial_op = HOOP_MAX};
    static const struct hoop_sharding expected = {
        .dims = {{1, {2}}}, .partial = {2, {0, 1}}, .partial_op = HOOP_MAX};
    const struct hoop_sharding refined =
        refinement_refine_sharding(&coarse, &fine, &sharding);

    assert_true(hoop_sharding_equal(&refined, &expected));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view_of_whole_tensor_has_its_strides),
        cmocka_unit_test(view_of_no_dimensions_is_one_element),
        cmocka_unit_test(cut_of_a_cut_adds_up),
        cmocka_unit_test(rows_are_a_run_and_columns_are_not),
        cmocka_unit_test(run_minds_order_gaps_and_repetition),
        cmocka_unit_test(run_skips_what_is_empty),
        cmocka_unit_test(runs_may_lie_anywhere_and_overlap),
        cmocka_unit_test(packed_columns_lie_one_behind_the_other),
        cmocka_unit_test(unpacked_boxes_are_where_they_were),
        cmocka_unit_test(copy_between_views_of_different_strides),
        cmocka_unit_test(nothing_needs_no_memory),
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
        cmocka_unit_test(refinement_has_the_borders_of_both),
        cmocka_unit_test(refinement_of_grids_that_cross_does_not_exist),
        cmocka_unit_test(sharding_that_is_refined_gives_the_same_parts),
        cmocka_unit_test(sharding_that_is_refined_names_all_axes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
