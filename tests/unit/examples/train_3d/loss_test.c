/* tests/unit/examples/train_3d/loss_test.c - train_3d/loss.c */

#include <math.h>

#include "check.h"
#include "train_3d/loss.h"

enum {
    BYTES = 4,
};

static double
loss_of(const float *scores, unsigned char next, float *out_gradient)
{
    const struct token token = {.next = next};

    for (size_t i = 0; i < BYTES; i++)
        out_gradient[i] = scores[i];
    return loss_take((struct matrix){out_gradient, 1, BYTES}, &token, 0.5F);
}

static void
loss_of_equal_scores_is_the_logarithm(void **state)
{
    const float scores[BYTES] = {1000, 1000, 1000, 1000};
    float gradient[BYTES];

    (void)state;
    assert_true(fabs(loss_of(scores, 2, gradient) - log(4)) < 1e-6);
    assert_true(gradient[2] == 0.5F * (0.25F - 1));
    assert_true(gradient[3] == 0.5F * 0.25F);
}

static void
loss_gradient_is_the_slope_times_factor(void **state)
{
    const float step = 0.01F;
    float scores[BYTES] = {0.3F, -1, 2, 0.5F};
    float gradient[BYTES];
    float ignored[BYTES];

    (void)state;
    loss_of(scores, 1, gradient);
    for (size_t i = 0; i < BYTES; i++) {
        const float kept = scores[i];
        scores[i] = kept + step;
        const double above = loss_of(scores, 1, ignored);
        scores[i] = kept - step;
        const double below = loss_of(scores, 1, ignored);
        scores[i] = kept;
        const double seen = (above - below) / (2 * (double)step);

        assert_true(fabs(0.5 * seen - (double)gradient[i]) < 1e-4);
    }
}

static void
loss_of_rows_adds_up(void **state)
{
    float scores[2 * BYTES] = {5, 1, 0, 0, 0, 0, 0, 5};
    const struct token tokens[] = {{.next = 0}, {.next = 3}};
    float ignored[BYTES];

    (void)state;
    const double both =
        loss_of(&scores[0], 0, ignored) + loss_of(&scores[BYTES], 3, ignored);
    const double sum = loss_take((struct matrix){scores, 2, BYTES}, tokens, 1);
    assert_true(fabs(sum - both) < 1e-9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_of_equal_scores_is_the_logarithm),
        cmocka_unit_test(loss_gradient_is_the_slope_times_factor),
        cmocka_unit_test(loss_of_rows_adds_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
