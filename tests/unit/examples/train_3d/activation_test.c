/* tests/unit/examples/train_3d/activation_test.c - train_3d/activation.c */

#include <math.h>

#include "check.h"
#include "train_3d/activation.h"

static float
activation_of(float x)
{
    float out = 0;

    activation_forward((struct matrix){&x, 1, 1}, (struct matrix){&out, 1, 1});
    return out;
}

static void
activation_keeps_large_and_drops_small(void **state)
{
    (void)state;
    assert_true(activation_of(0) == 0);
    assert_true(fabsf(activation_of(20) - 20) < 1e-5F);
    assert_true(fabsf(activation_of(-200)) < 1e-5F);
    assert_true(fabsf(activation_of(1) - 0.7310586F) < 1e-6F);
}

static void
activation_gradient_is_the_slope(void **state)
{
    (void)state;
    for (float x = -4; x <= 4; x += 0.5F) {
        const float step = 0.01F;
        const float seen =
            (activation_of(x + step) - activation_of(x - step)) / (2 * step);
        float out_grad = 3;
        float told = 0;

        activation_backward((struct matrix){&x, 1, 1},
                            (struct matrix){&out_grad, 1, 1},
                            (struct matrix){&told, 1, 1});
        assert_true(fabsf(told - 3 * seen) < 1e-3F);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_keeps_large_and_drops_small),
        cmocka_unit_test(activation_gradient_is_the_slope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
