/* tests/unit/worker/tensor_parallel/measure_test.c - tensor_parallel/move.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "tensor_parallel/move.h"

static const struct move_group second_of_two = {1, 2};
static const struct move_group second_of_three = {1, 3};

/* move_geometry_init() looks at no data. */
static enum hoop_status
measure(enum move move,
        const struct hoop_shape *shape,
        const size_t *sizes,
        const size_t *coming,
        struct measure *out_measure)
{
    const struct hoop_tensor tensor = {.dtype = HOOP_INT32, .shape = *shape};
    const struct move_call call = {
        .move = move, .tensor = &tensor, .sizes = sizes, .coming = coming};
    const bool is_of_three = sizes && sizes[2] != SIZE_MAX;

    return move_geometry_init(out_measure, &call,
                              is_of_three ? &second_of_three : &second_of_two);
}

struct even_case {
    enum move move;
    struct hoop_shape shape;
    struct hoop_shape result;
    size_t count;
};

static void
even_moves_change_one_dimension_or_two(void **state)
{
    static const struct even_case cases[] = {
        {MOVE_COPY, {3, {2, 3, 4}}, {3, {2, 3, 4}}, 24},
        {MOVE_ALL_REDUCE, {0, {0}}, {0, {0}}, 1},
        {MOVE_SPLIT_LAST, {3, {2, 3, 4}}, {3, {2, 3, 2}}, 12},
        {MOVE_SPLIT_FIRST, {3, {2, 3, 4}}, {3, {1, 3, 4}}, 12},
        {MOVE_GATHER_LAST, {3, {2, 3, 4}}, {3, {2, 3, 8}}, 24},
        {MOVE_GATHER_FIRST, {1, {5}}, {1, {10}}, 5},
        {MOVE_REDUCE_SCATTER_LAST, {2, {3, 4}}, {2, {3, 2}}, 6},
        {MOVE_REDUCE_SCATTER_FIRST, {2, {4, 3}}, {2, {2, 3}}, 6},
        {MOVE_ALL_TO_ALL, {2, {4, 3}}, {2, {4, 3}}, 6},
        {MOVE_ROWS_TO_COLUMNS, {3, {2, 3, 4}}, {2, {12, 2}}, 12},
        {MOVE_ROWS_TO_COLUMNS, {1, {4}}, {2, {2, 2}}, 2},
        {MOVE_COLUMNS_TO_ROWS, {3, {2, 3, 4}}, {2, {3, 8}}, 12},
        {MOVE_SPLIT_FIRST, {2, {0, 4}}, {2, {0, 4}}, 0},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct even_case *at = &cases[i];
        struct measure m;

        assert_ok(measure(at->move, &at->shape, NULL, NULL, &m));
        assert_true(hoop_shape_equal(&m.result, &at->result));
        assert_int_equal(m.count, at->count);
        assert_null(m.counts);
        assert_null(m.recv_counts);
        /* The move, and the shape that it begins with. */
        assert_int_equal(m.agreed[0], at->move);
        assert_int_equal(m.n_agreed, 2 + m.agreed[1]);
        move_geometry_deinit(&m);
    }
}

static void
assert_counts(const size_t *counts, const size_t *expected)
{
    assert_memory_equal(counts, expected, 3 * sizeof(*counts));
}

static void
lists_of_rows_become_counts_of_elements(void **state)
{
    const struct hoop_shape two_rows = {2, {2, 5}};
    const struct hoop_shape six_rows = {3, {6, 1, 5}};
    const size_t sizes[3] = {0, 2, 4};
    const size_t coming[3] = {1, 2, 0};
    struct measure m;

    assert_ok(measure(MOVE_GATHER_FIRST, &two_rows, sizes, NULL, &m));
    assert_int_equal(m.result.dims[0], 6);
    assert_counts(m.counts, (size_t[]){0, 10, 20});
    /* Not its own rows, but all of them. */
    assert_int_equal(m.n_agreed, 2 + 2 + 3);
    assert_int_equal(m.agreed[2], 0);
    assert_counts(m.agreed + 4, sizes);
    move_geometry_deinit(&m);

    assert_ok(measure(MOVE_REDUCE_SCATTER_FIRST, &six_rows, sizes, NULL, &m));
    assert_int_equal(m.result.dims[0], 2);
    assert_counts(m.counts, (size_t[]){0, 10, 20});
    move_geometry_deinit(&m);

    assert_ok(measure(MOVE_ALL_TO_ALL, &six_rows, sizes, coming, &m));
    assert_int_equal(m.result.dims[0], 3);
    assert_counts(m.counts, (size_t[]){0, 10, 20});
    assert_counts(m.recv_counts, (size_t[]){5, 10, 0});
    assert_int_equal(m.n_agreed, 2 + 3);
    move_geometry_deinit(&m);
}

static void
a_missing_list_means_equal_parts(void **state)
{
    const struct hoop_shape six_rows = {1, {6}};
    const size_t list[3] = {1, 2, 3};
    const struct hoop_tensor tensor = {.dtype = HOOP_INT32, .shape = six_rows};
    const struct move_call coming = {
        .move = MOVE_ALL_TO_ALL, .tensor = &tensor, .coming = list};
    struct measure m;

    assert_ok(measure(MOVE_ALL_TO_ALL, &six_rows, list, NULL, &m));
    assert_int_equal(m.result.dims[0], 6);
    assert_counts(m.recv_counts, (size_t[]){2, 2, 2});
    move_geometry_deinit(&m);
    assert_ok(move_geometry_init(&m, &coming, &second_of_three));
    assert_counts(m.counts, (size_t[]){2, 2, 2});
    assert_counts(m.recv_counts, list);
    move_geometry_deinit(&m);
}

struct wrong_case {
    enum move move;
    struct hoop_shape shape;
    size_t sizes[3]; /* of two ranks, but for SIZE_MAX: none */
    const char *text;
};

static void
what_does_not_fit_is_invalid(void **state)
{
    static const struct wrong_case cases[] = {
        {MOVE_SPLIT_LAST,
         {2, {4, 3}},
         {SIZE_MAX},
         "3 elements along the last dimension cannot be cut into 2 equal"},
        {MOVE_SPLIT_FIRST,
         {2, {3, 4}},
         {SIZE_MAX},
         "3 elements along the first dimension cannot"},
        {MOVE_REDUCE_SCATTER_LAST, {2, {4, 3}}, {SIZE_MAX}, "cannot be cut"},
        {MOVE_REDUCE_SCATTER_FIRST, {1, {5}}, {SIZE_MAX}, "cannot be cut"},
        {MOVE_ALL_TO_ALL, {1, {5}}, {SIZE_MAX}, "cannot be cut"},
        {MOVE_ROWS_TO_COLUMNS, {2, {2, 3}}, {SIZE_MAX}, "cannot be cut"},
        {MOVE_COLUMNS_TO_ROWS,
         {3, {1, 3, 2}},
         {SIZE_MAX},
         "3 elements along the first dimension"},
        {MOVE_GATHER_FIRST, {0, {0}}, {SIZE_MAX}, "without dimensions"},
        {MOVE_GATHER_FIRST, {1, {(size_t)1 << 62}}, {SIZE_MAX}, "2^63"},
        {MOVE_GATHER_FIRST,
         {1, {2}},
         {2, 3, SIZE_MAX},
         "the tensor has 2 rows, but the sizes give 3 to this rank"},
        {MOVE_GATHER_FIRST,
         {1, {2}},
         {SIZE_MAX - 1, 2, SIZE_MAX},
         "add up to more than 2^64"},
        {MOVE_REDUCE_SCATTER_FIRST,
         {1, {6}},
         {2, 3, SIZE_MAX},
         "the tensor has 6 rows, but the sizes give 5 to all"},
        {MOVE_ALL_TO_ALL, {1, {6}}, {2, 3, SIZE_MAX}, "give 5 to all"},
        {MOVE_SPLIT_FIRST, {1, {5}}, {2, 3, SIZE_MAX}, "sizes must be NULL"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct wrong_case *at = &cases[i];
        const size_t *sizes = at->sizes[0] == SIZE_MAX ? NULL : at->sizes;
        struct measure m;

        assert_int_equal(measure(at->move, &at->shape, sizes, NULL, &m),
                         HOOP_E_INVALID);
        if (!strstr(hoop_error_text(), at->text))
            fail_msg("case %zu: %s", i, hoop_error_text());
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_moves_change_one_dimension_or_two),
        cmocka_unit_test(lists_of_rows_become_counts_of_elements),
        cmocka_unit_test(a_missing_list_means_equal_parts),
        cmocka_unit_test(what_does_not_fit_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
