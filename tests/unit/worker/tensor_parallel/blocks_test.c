/* tests/unit/worker/tensor_parallel/blocks_test.c - blocks against index formulas */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "tensor_parallel/action.h"

enum {
    ROWS = 4,
    COLUMNS = 6,
    DEPTH = 2,
    COUNT = ROWS * COLUMNS * DEPTH,
};

static const struct hoop_shape shape = {3, {ROWS, COLUMNS, DEPTH}};

static const struct cuts cases[] = {
    {1, {{0, 2}}},         {1, {{1, 3}}},         {1, {{2, 2}}},
    {1, {{0, 1}}},         {2, {{0, 2}, {1, 3}}}, {2, {{1, 3}, {0, 2}}},
    {2, {{2, 2}, {0, 4}}}, {2, {{1, 6}, {2, 1}}}, {2, {{1, 2}, {2, 2}}},
};

/* Of the element at these indices: its block, and its index in that. */
static size_t
index_in_parts(const struct cuts *cuts, const size_t at[3])
{
    struct hoop_shape part = shape;
    size_t inside[] = {at[0], at[1], at[2]};
    size_t number = 0;

    for (uint32_t i = 0; i < cuts->n_cuts; i++)
        part.dims[cuts->cuts[i].dim] /= cuts->cuts[i].n_parts;
    for (uint32_t i = cuts->n_cuts; i > 0; i--) {
        const struct cut *cut = &cuts->cuts[i - 1];

        number = number * cut->n_parts + at[cut->dim] / part.dims[cut->dim];
        inside[cut->dim] %= part.dims[cut->dim];
    }
    return number * part.dims[0] * part.dims[1] * part.dims[2] +
           (inside[0] * part.dims[1] + inside[1]) * part.dims[2] + inside[2];
}

static void
fill(int16_t whole[COUNT], int16_t parts[COUNT], const struct cuts *cuts)
{
    for (size_t i = 0; i < COUNT; i++) {
        const size_t at[] = {i / DEPTH / COLUMNS, i / DEPTH % COLUMNS,
                             i % DEPTH};

        whole[i] = (int16_t)(i + 100);
        parts[index_in_parts(cuts, at)] = (int16_t)(i + 100);
    }
}

static void
blocks_are_where_the_formula_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct cuts *cuts = &cases[i];
        const uint32_t n_parts = cuts_n_blocks(cuts);
        int16_t elements[COUNT];
        int16_t expected[COUNT];
        int16_t got[COUNT];
        const struct hoop_tensor whole = {elements, HOOP_BFLOAT16, shape, NULL};
        const struct hoop_tensor back = {got, HOOP_BFLOAT16, shape, NULL};

        fill(elements, expected, cuts);
        memset(got, 0, sizeof(got));
        blocks_pack_parts(cuts, &whole, got);
        assert_memory_equal(got, expected, sizeof(got));
        memset(got, 0, sizeof(got));
        blocks_unpack_parts(cuts, &back, expected);
        assert_memory_equal(got, elements, sizeof(got));
        for (uint32_t j = 0; j < n_parts; j++) {
            memset(got, 0, sizeof(got));
            block_copy_out(cuts, &whole, j, got);
            assert_memory_equal(got, expected + j * (COUNT / n_parts),
                                sizeof(got) / n_parts);
        }
        memset(got, 0, sizeof(got));
        for (uint32_t j = 0; j < n_parts; j++)
            block_copy_in(cuts, &back, j, expected + j * (COUNT / n_parts));
        assert_memory_equal(got, elements, sizeof(got));
    }
}

static void
blocks_interleave_unless_they_are_rows(void **state)
{
    const struct hoop_shape flat = {2, {1, 6}};

    (void)state;
    assert_false(cuts_is_noncontiguous(&(struct cuts){1, {{0, 2}}}, &shape));
    assert_false(cuts_is_noncontiguous(&(struct cuts){1, {{1, 1}}}, &shape));
    assert_true(cuts_is_noncontiguous(&(struct cuts){1, {{1, 2}}}, &shape));
    assert_false(cuts_is_noncontiguous(&(struct cuts){1, {{1, 2}}}, &flat));
    assert_true(
        cuts_is_noncontiguous(&(struct cuts){2, {{0, 2}, {1, 2}}}, &shape));
    assert_false(cuts_is_noncontiguous(&(struct cuts){.n_cuts = 0}, &shape));
}

static void
shapes_are_divided_and_multiplied(void **state)
{
    const struct cuts cuts = {2, {{1, 3}, {0, 2}}};
    const struct hoop_shape large = {2, {SIZE_MAX / 2, 3}};
    struct hoop_shape part = shape;

    (void)state;
    assert_int_equal(cuts_divide_shape(&cuts, &part), HOOP_OK);
    assert_true(
        hoop_shape_equal(&part, &(struct hoop_shape){3, {2, 2, DEPTH}}));
    assert_int_equal(cuts_multiply_shape(&cuts, &part), HOOP_OK);
    assert_true(hoop_shape_equal(&part, &shape));
    part.dims[1] = 7;
    assert_int_equal(cuts_divide_shape(&cuts, &part), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "7 elements along dim 1 cannot be cut "
                                         "into 3 equal parts"));
    part = large;
    assert_int_equal(cuts_multiply_shape(&(struct cuts){1, {{0, 3}}}, &part),
                     HOOP_E_INVALID);
}

static void
nothing_is_copied_of_nothing(void **state)
{
    const struct cuts cuts = {2, {{0, 2}, {1, 2}}};
    const struct hoop_tensor none = {.dtype = HOOP_INT64, .shape = {2, {0, 4}}};

    (void)state;
    blocks_pack_parts(&cuts, &none, NULL);
    blocks_unpack_parts(&cuts, &none, NULL);
    block_copy_out(&cuts, &none, 3, NULL);
    block_copy_in(&cuts, &none, 3, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_where_the_formula_says),
        cmocka_unit_test(blocks_interleave_unless_they_are_rows),
        cmocka_unit_test(shapes_are_divided_and_multiplied),
        cmocka_unit_test(nothing_is_copied_of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
