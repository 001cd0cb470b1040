/* tests/unit/worker/mesh/redistribute/view_test.c - mesh/redistribute/transfer_plan.c */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "mesh/redistribute/transfer_plan.h"

/* 3 rows of 4: 0, 1, 2, ... */
static const struct hoop_shape shape = {2, {3, 4}};

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
    const struct view view = view_of_shape(&shape);

    (void)state;
    assert_int_equal(view.first, 0);
    assert_int_equal(view.strides[0], 4);
    assert_int_equal(view.strides[1], 1);
    assert_int_equal(view_n_elements(&view.shape), 12);
}

static void
view_of_no_dimensions_is_one_element(void **state)
{
    const struct hoop_shape none = {0};
    const struct view view = view_of_shape(&none);
    const struct hoop_part box = {.shape = none};
    size_t first;

    (void)state;
    assert_int_equal(view_n_elements(&view.shape), 1);
    assert_true(view_has_contiguous_boxes(&view, &box, 1, &first));
    assert_int_equal(first, 0);
}

static void
cut_of_a_cut_adds_up(void **state)
{
    const struct hoop_part outer = box_of(1, 1, 2, 3);
    const struct hoop_part inner = box_of(1, 1, 1, 2);
    const struct view whole = view_of_shape(&shape);
    const struct view half = view_cut(&whole, &outer);
    const struct view cut = view_cut(&half, &inner);

    (void)state;
    assert_int_equal(cut.first, 2 * 4 + 2);
    assert_int_equal(view_n_elements(&cut.shape), 2);
    assert_int_equal(cut.strides[0], 4);
}

static void
rows_are_a_run_and_columns_are_not(void **state)
{
    const struct hoop_part rows[] = {box_of(1, 0, 1, 4), box_of(2, 0, 1, 4)};
    const struct hoop_part columns[] = {box_of(0, 0, 3, 2), box_of(0, 2, 3, 2)};
    const struct view view = view_of_shape(&shape);
    size_t first = 77;

    (void)state;
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
    const struct view view = view_of_shape(&shape);
    size_t first;

    (void)state;
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
    const struct view view = view_of_shape(&shape);
    size_t first = 77;

    (void)state;
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
    const struct view view = view_of_shape(&shape);
    size_t firsts[4];

    (void)state;
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
    const struct view view = view_of_shape(&shape);
    struct board board = board_of_numbers();
    const struct view_memory memory = {HOOP_INT16, board.at};
    int16_t packed[COUNT_OF(expected)] = {0};

    (void)state;
    view_pack(&view, &memory, boxes, COUNT_OF(boxes), packed);
    assert_memory_equal(packed, expected, sizeof(expected));
}

static void
unpacked_boxes_are_where_they_were(void **state)
{
    const struct hoop_part boxes[] = {box_of(0, 2, 3, 2), box_of(0, 0, 3, 2)};
    const struct view view = view_of_shape(&shape);
    struct board board = board_of_numbers();
    struct board other;
    int16_t packed[12];

    (void)state;
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
    const struct view whole = view_of_shape(&shape);
    const struct view to_whole = view_of_shape(&small);
    const struct view from = view_cut(&whole, &box);
    const struct view to = view_cut(&to_whole, &box);
    struct board board = board_of_numbers();
    int16_t values[9];

    (void)state;
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

    (void)state;
    view_copy(&view, &memory, &view, &memory);
    view_pack(&view, &memory, boxes, 2, NULL);
    view_unpack(&view, &memory, boxes, 2, NULL);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
