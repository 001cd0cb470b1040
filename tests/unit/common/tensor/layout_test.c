/* tests/unit/common/tensor/layout_test.c - tensor/layout.c */

#include <string.h>

#include "check.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"

static uint8_t source[4096];
static uint8_t target[4096];

static struct hoop_tensor
tensor_of(void *bytes,
          enum hoop_dtype dtype,
          const struct hoop_shape *shape,
          const size_t *strides)
{
    return (struct hoop_tensor){
        .data = bytes, .dtype = dtype, .shape = *shape, .strides = strides};
}

static bool
is_dense(struct hoop_shape shape, const size_t *strides)
{
    const struct hoop_tensor tensor =
        tensor_of(source, HOOP_INT8, &shape, strides);

    return layout_is_dense(&tensor);
}

static void
dense_is_what_strides_of_ones_do_not_hide(void **state)
{
    const struct hoop_shape shape = {3, {2, 3, 4}};
    const struct hoop_shape ones = {3, {1, 3, 1}};
    const struct hoop_shape empty = {3, {2, 0, 4}};

    assert_true(is_dense(shape, NULL));
    assert_true(is_dense(shape, (size_t[]){12, 4, 1}));
    assert_false(is_dense(shape, (size_t[]){12, 1, 3}));
    assert_false(is_dense(shape, (size_t[]){16, 4, 1}));
    assert_false(is_dense(shape, (size_t[]){24, 8, 2}));
    assert_false(is_dense(shape, (size_t[]){0, 4, 1}));
    assert_true(is_dense(ones, (size_t[]){99, 1, 77}));
    assert_false(is_dense(ones, (size_t[]){99, 2, 77}));
    assert_true(is_dense(empty, (size_t[]){9, 9, 9}));
    assert_true(is_dense((struct hoop_shape){0, {0}}, (size_t[]){9}));
}

/* Where element i of shape lies. */
static size_t
place(const struct hoop_tensor *tensor, size_t i)
{
    size_t at = 0;
    size_t dense = 1;

    for (uint32_t d = tensor->shape.n_dims; d > 0; d--) {
        const size_t size = tensor->shape.dims[d - 1];

        at += i % size * (tensor->strides ? tensor->strides[d - 1] : dense);
        i /= size;
        dense *= size;
    }
    return at * dtype_size(tensor->dtype);
}

static void
check_copy(enum hoop_dtype dtype,
           struct hoop_shape shape,
           const size_t *from_strides,
           const size_t *to_strides)
{
    const struct hoop_tensor from =
        tensor_of(source, dtype, &shape, from_strides);
    const struct hoop_tensor to = tensor_of(target, dtype, &shape, to_strides);
    uint8_t expected[sizeof(target)];
    size_t count = 1;

    for (uint32_t d = 0; d < shape.n_dims; d++)
        count *= shape.dims[d];
    memset(expected, 0xee, sizeof(expected));
    memset(target, 0xee, sizeof(target));
    for (size_t i = 0; i < count; i++)
        memcpy(expected + place(&to, i), source + place(&from, i),
               dtype_size(dtype));
    layout_copy(&from, &to);
    assert_memory_equal(target, expected, sizeof(target));
}

static void
copy_puts_each_element_at_its_place(void **state)
{
    const enum hoop_dtype dtypes[] = {HOOP_INT8, HOOP_BFLOAT16, HOOP_FLOAT32,
                                      HOOP_INT64, HOOP_COMPLEX128};
    const struct hoop_shape shape = {3, {3, 4, 5}};
    static const size_t strides[][3] = {
        {20, 5, 1}, {1, 3, 12}, {5, 15, 1}, {40, 10, 2},
        {32, 8, 1}, {4, 1, 12}, {20, 1, 4},
    };

    for (size_t i = 0; i < sizeof(source); i++)
        source[i] = (uint8_t)(i * 7 % 223);
    for (unsigned d = 0; d < 5; d++) {
        check_copy(dtypes[d], shape, NULL, NULL);
        for (unsigned i = 0; i < 7; i++) {
            check_copy(dtypes[d], shape, strides[i], NULL);
            check_copy(dtypes[d], shape, NULL, strides[i]);
            for (unsigned k = 0; k < 7; k++)
                check_copy(dtypes[d], shape, strides[i], strides[k]);
        }
    }
}

static void
copy_takes_any_number_of_dimensions(void **state)
{
    const struct hoop_shape eight = {8, {2, 1, 2, 2, 1, 2, 2, 2}};

    check_copy(HOOP_INT16, eight, (size_t[]){1, 9, 2, 4, 9, 8, 16, 32}, NULL);
    check_copy(HOOP_INT16, eight, NULL, (size_t[]){1, 9, 2, 4, 9, 8, 16, 32});
    check_copy(HOOP_INT16, (struct hoop_shape){0, {0}}, NULL, (size_t[]){3});
    check_copy(HOOP_INT16, (struct hoop_shape){1, {6}}, (size_t[]){3}, NULL);
    /* One element read many times. */
    check_copy(HOOP_INT16, (struct hoop_shape){2, {3, 4}}, (size_t[]){0, 1},
               NULL);
    check_copy(HOOP_INT16, (struct hoop_shape){2, {3, 4}}, (size_t[]){0, 0},
               NULL);
}

static void
copy_of_nothing_touches_nothing(void **state)
{
    const struct hoop_shape shape = {3, {2, 0, 4}};
    const struct hoop_tensor from = tensor_of(NULL, HOOP_INT8, &shape, NULL);
    const struct hoop_tensor to =
        tensor_of(NULL, HOOP_INT8, &shape, (size_t[]){1, 2, 3});

    layout_copy(&from, &to);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_is_what_strides_of_ones_do_not_hide),
        cmocka_unit_test(copy_puts_each_element_at_its_place),
        cmocka_unit_test(copy_takes_any_number_of_dimensions),
        cmocka_unit_test(copy_of_nothing_touches_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
