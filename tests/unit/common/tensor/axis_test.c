/* tests/unit/common/tensor/axis_test.c - tensor/axis.c
 *
 * Every shape of one to four dimensions and small sizes, along each dimension,
 * against a loop over indices.
 */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "dtype/dtype.h"
#include "tensor/axis.h"
#include "tensor/layout.h"

enum {
    BYTES_MAX = 4096,
    UNTOUCHED = 0xee,
};

static uint8_t whole[BYTES_MAX];
static uint8_t part[BYTES_MAX];
static uint8_t back[BYTES_MAX];

static void
axis_is_before_at_and_behind(void **state)
{
    const struct hoop_shape shape = {3, {2, 3, 4}};
    struct axis axis;

    assert_ok(axis_of(&shape, 1, HOOP_INT16, &axis));
    assert_int_equal(axis.n_outer, 2);
    assert_int_equal(axis.length, 3);
    assert_int_equal(axis.n_inner, 4);
    assert_int_equal(axis_count(&axis, 2), 16);
    assert_int_equal(axis_bytes(&axis, 2), 32);
    assert_ok(axis_of(&shape, -1, HOOP_INT16, &axis));
    assert_int_equal(axis.n_outer, 6);
    assert_int_equal(axis.length, 4);
    assert_int_equal(axis.n_inner, 1);
}

static void
axis_of_nothing_is_invalid(void **state)
{
    const struct hoop_shape shape = {2, {2, 3}};
    const struct hoop_shape large = {2, {INT64_MAX, 1}};
    const struct hoop_shape scalar = {.n_dims = 0};
    struct axis axis;

    assert_int_equal(axis_of(NULL, 0, HOOP_INT8, &axis), HOOP_E_INVALID);
    assert_int_equal(axis_of(&shape, 2, HOOP_INT8, &axis), HOOP_E_INVALID);
    assert_int_equal(axis_of(&shape, -3, HOOP_INT8, &axis), HOOP_E_INVALID);
    assert_int_equal(axis_of(&scalar, -1, HOOP_INT8, &axis), HOOP_E_INVALID);
    assert_ok(axis_of(&large, 0, HOOP_INT8, &axis));
    assert_int_equal(axis_of(&large, 0, HOOP_INT16, &axis), HOOP_E_INVALID);
}

/* Byte b of element (row, run, inner), by the definition. */
static size_t
place(const struct axis *axis, size_t row, size_t run, size_t rest)
{
    const size_t run_bytes = axis->n_inner * axis->element_size;

    return (row * axis->length + run) * run_bytes + rest;
}

static void
check_part(const struct axis *axis, size_t first, size_t n)
{
    const size_t run_bytes = axis->n_inner * axis->element_size;
    size_t at = 0;

    memset(part, UNTOUCHED, sizeof(part));
    memset(back, UNTOUCHED, sizeof(back));
    axis_take(axis, whole, first, n, part);
    for (size_t row = 0; row < axis->n_outer; row++) {
        for (size_t run = first; run < first + n; run++) {
            for (size_t rest = 0; rest < run_bytes; rest++, at++)
                assert_int_equal(part[at], whole[place(axis, row, run, rest)]);
        }
    }
    assert_int_equal(at, axis_bytes(axis, n));
    assert_int_equal(part[at], UNTOUCHED);
    axis_put(axis, back, first, n, part);
    for (size_t row = 0; row < axis->n_outer; row++) {
        for (size_t i = 0; i < axis->length * run_bytes; i++) {
            const size_t run = i / run_bytes;
            const bool is_in = run >= first && run < first + n;

            at = row * axis->length * run_bytes + i;
            assert_int_equal(back[at], is_in ? whole[at] : UNTOUCHED);
        }
    }
}

static void
check_parts(const struct axis *axis, uint32_t n_parts)
{
    const size_t n = axis->length / n_parts;
    const size_t n_bytes = axis_bytes(axis, n);

    memset(part, UNTOUCHED, sizeof(part));
    memset(back, UNTOUCHED, sizeof(back));
    axis_divide(axis, whole, n_parts, part);
    assert_int_equal(part[n_parts * n_bytes], UNTOUCHED);
    for (uint32_t i = 0; i < n_parts; i++) {
        uint8_t one[BYTES_MAX];

        axis_take(axis, whole, i * n, n, one);
        assert_memory_equal(part + i * n_bytes, one, n_bytes);
    }
    axis_join(axis, back, n_parts, part);
    assert_memory_equal(back, whole, axis_bytes(axis, axis->length));
    assert_int_equal(back[axis_bytes(axis, axis->length)], UNTOUCHED);
}

static void
check_shape(const struct hoop_shape *shape, enum hoop_dtype dtype)
{
    for (int32_t dim = -(int32_t)shape->n_dims; dim < (int32_t)shape->n_dims;
         dim++) {
        struct axis axis;

        assert_ok(axis_of(shape, dim, dtype, &axis));
        assert_in_range(axis_bytes(&axis, axis.length), 0, BYTES_MAX - 1);
        for (size_t first = 0; first <= axis.length; first++) {
            for (size_t n = 0; first + n <= axis.length; n++)
                check_part(&axis, first, n);
        }
        for (uint32_t n_parts = 1; n_parts <= 4; n_parts++) {
            if (axis.length % n_parts == 0)
                check_parts(&axis, n_parts);
        }
    }
}

static void
parts_are_where_the_indices_say(void **state)
{
    const enum hoop_dtype dtypes[] = {HOOP_INT8, HOOP_BFLOAT16, HOOP_FLOAT32,
                                      HOOP_INT64, HOOP_COMPLEX128};

    for (size_t i = 0; i < BYTES_MAX; i++)
        whole[i] = (uint8_t)(i * 7 % 223);
    for (unsigned i = 0; i < 5 * 5 * 4 * 3 * 4; i++) {
        const struct hoop_shape shape = {
            .n_dims = i / 300 + 1,
            .dims = {i % 5, i / 5 % 5, i / 25 % 4, i / 100 % 3},
        };

        check_shape(&shape, dtypes[i % 5]);
    }
}

static void
many_rows_are_done_in_turns(void **state)
{
    const struct hoop_shape shape = {3, {1000, 6, 50}};
    const size_t count = 1000 * 6 * 50;
    int32_t *large = malloc(count * sizeof(*large));
    int32_t *sorted = malloc(count * sizeof(*sorted));
    struct axis axis;

    assert_true(large && sorted);
    for (size_t i = 0; i < count; i++)
        large[i] = (int32_t)i;
    assert_ok(axis_of(&shape, 1, HOOP_INT32, &axis));
    axis_divide(&axis, large, 3, sorted);
    for (size_t i = 0; i < count; i++) {
        const size_t row = i / 100 % 1000;

        assert_int_equal(sorted[i], row * 300 + i / 100000 * 100 + i % 100);
    }
    memset(large, 0, count * sizeof(*large));
    axis_join(&axis, large, 3, sorted);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(large[i], i);
    free(large);
    free(sorted);
}

static void
parts_of_nothing_need_no_address(void **state)
{
    const struct hoop_shape shape = {2, {SIZE_MAX / 4, 0}};
    struct axis axis;

    assert_ok(axis_of(&shape, 1, HOOP_INT8, &axis));
    axis_take(&axis, NULL, 0, 0, NULL);
    axis_put(&axis, NULL, 0, 0, NULL);
    axis_divide(&axis, NULL, 3, NULL);
    axis_join(&axis, NULL, 3, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axis_is_before_at_and_behind),
        cmocka_unit_test(axis_of_nothing_is_invalid),
        cmocka_unit_test(parts_are_where_the_indices_say),
        cmocka_unit_test(many_rows_are_done_in_turns),
        cmocka_unit_test(parts_of_nothing_need_no_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
