/* tests/unit/examples/train_3d/adam_test.c - train_3d/adam.c */

#include <math.h>

#include "check.h"
#include "train_3d/adam.h"

/* The first step is the rate, whatever the gradient's size. */
static void
adam_first_step_is_the_rate(void **state)
{
    const float gradients[] = {100, -0.01F, 0};
    float values[] = {1, 1, 1};
    struct adam adam;

    (void)state;
    adam_init(&adam, 3, 0.5F);
    adam_step(
        &adam, 1,
        &(struct adam_part){.n = 3, .gradients = gradients, .values = values});
    assert_true(fabsf(values[0] - 0.5F) < 1e-4F);
    assert_true(fabsf(values[1] - 1.5F) < 1e-4F);
    assert_true(values[2] == 1);
    adam_deinit(&adam);
}

/* All at once, or in two parts: the same, to the bit. */
static void
adam_parts_make_the_whole(void **state)
{
    const float gradients[] = {1, -2, 3};
    float whole[] = {0, 0, 0};
    float parts[] = {0, 0, 0};
    struct adam a;
    struct adam b;

    (void)state;
    adam_init(&a, 3, 0.1F);
    adam_init(&b, 3, 0.1F);
    for (size_t step = 1; step <= 3; step++) {
        adam_step(&a, step, &(struct adam_part){0, 3, gradients, whole});
        adam_step(&b, step,
                  &(struct adam_part){1, 2, &gradients[1], &parts[1]});
        adam_step(&b, step, &(struct adam_part){0, 1, gradients, parts});
    }
    assert_memory_equal(whole, parts, sizeof(whole));
    adam_deinit(&a);
    adam_deinit(&b);
    adam_deinit(&b);
}

static void
adam_finds_the_lowest_point(void **state)
{
    float value = 3;
    struct adam adam;

    (void)state;
    adam_init(&adam, 1, 0.05F);
    for (size_t step = 1; step <= 500; step++) {
        const float gradient = 2 * (value - 1);

        adam_step(&adam, step, &(struct adam_part){0, 1, &gradient, &value});
    }
    assert_true(fabsf(value - 1) < 0.05F);
    adam_deinit(&adam);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adam_first_step_is_the_rate),
        cmocka_unit_test(adam_parts_make_the_whole),
        cmocka_unit_test(adam_finds_the_lowest_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
