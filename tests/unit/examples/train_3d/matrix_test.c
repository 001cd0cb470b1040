/* tests/unit/examples/train_3d/matrix_test.c - train_3d/matrix.c */

#include <math.h>

#include "check.h"
#include "train_3d/matrix.h"

/* Longer than the lanes of dot(), and no multiple of them. */
static void
dot_of_any_length_is_the_sum_of_products(void **state)
{
    float a[21];
    float b[21];

    (void)state;
    for (size_t n = 0; n <= 21; n++) {
        float expected = 0;

        for (size_t i = 0; i < n; i++) {
            a[i] = (float)i - 3;
            b[i] = 2 * (float)i;
            expected += a[i] * b[i];
        }
        assert_true(dot(a, b, n) == expected);
    }
}

static void
linear_forward_multiplies_by_the_transposed_weight(void **state)
{
    float input[] = {1, 2, 3, 4, 5, 6};
    float weight[] = {1, 0, -1, 2, 2, 2, 0, 1, 0, 1, 1, 0};
    const float expected[] = {-2, 12, 2, 3, -2, 30, 5, 9};
    float out[8];

    (void)state;
    linear_forward((struct matrix){input, 2, 3}, (struct matrix){weight, 4, 3},
                   (struct matrix){out, 2, 4});
    for (size_t i = 0; i < 8; i++)
        assert_true(out[i] == expected[i]);
}

static void
linear_backward_gives_both_gradients(void **state)
{
    float input[] = {1, 2, 3, 4};
    float weight[] = {1, 2, 3, 4, 5, 6};
    float out_grad[] = {1, 0, 2, 0, 1, 0};
    float input_grad[] = {9, 9, 9, 9};
    float weight_grad[] = {1, 1, 1, 1, 1, 1};
    const float expected_input[] = {11, 14, 3, 4};
    const float expected_weight[] = {2, 3, 4, 5, 3, 5};

    (void)state;
    linear_backward((struct matrix){out_grad, 2, 3},
                    (struct matrix){weight, 3, 2},
                    (struct matrix){input_grad, 2, 2});
    linear_backward_weight((struct matrix){out_grad, 2, 3},
                           (struct matrix){input, 2, 2},
                           (struct matrix){weight_grad, 3, 2});
    for (size_t i = 0; i < 4; i++)
        assert_true(input_grad[i] == expected_input[i]);
    for (size_t i = 0; i < 6; i++)
        assert_true(weight_grad[i] == expected_weight[i]);
}

static void
matrix_of_nothing_is_fine(void **state)
{
    const struct matrix none = matrix_create(0, 7);

    (void)state;
    assert_int_equal(matrix_count(none), 0);
    matrix_free(none);
    matrix_free((struct matrix){0});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_of_any_length_is_the_sum_of_products),
        cmocka_unit_test(linear_forward_multiplies_by_the_transposed_weight),
        cmocka_unit_test(linear_backward_gives_both_gradients),
        cmocka_unit_test(matrix_of_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
