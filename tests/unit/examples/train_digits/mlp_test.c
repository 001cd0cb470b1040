/* tests/unit/examples/train_digits/mlp_test.c - train_digits/mlp.c */

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "train_digits/mlp.h"
#include "train_digits/random.h"

enum {
    HIDDEN = 5,
};

static struct image
image_make(uint64_t seed, uint32_t label)
{
    struct random random = {seed};
    struct image image = {.label = label};

    for (size_t i = 0; i < DIGITS_PIXELS; i++)
        image.pixels[i] = fabs(random_signed(&random));
    return image;
}

static double
loss_of(struct mlp *mlp, const struct image *image, double *scratch)
{
    return mlp_backward(mlp, image, scratch);
}

/* Against differences of the loss, for every parameter. */
static void
mlp_gradient_is_the_slope_of_the_loss(void **state)
{
    const double step = 1e-5;
    const struct image image = image_make(3, 4);
    struct mlp mlp;

    (void)state;
    assert_int_equal(mlp_init(&mlp, HIDDEN, 1), HOOP_OK);
    double *gradient = calloc(mlp.n_parameters, sizeof(double));
    double *scratch = calloc(mlp.n_parameters, sizeof(double));
    assert_non_null(gradient);
    assert_non_null(scratch);

    mlp_backward(&mlp, &image, gradient);
    for (size_t i = 0; i < mlp.n_parameters; i++) {
        const double kept = mlp.parameters[i];
        mlp.parameters[i] = kept + step;
        const double above = loss_of(&mlp, &image, scratch);
        mlp.parameters[i] = kept - step;
        const double below = loss_of(&mlp, &image, scratch);
        mlp.parameters[i] = kept;
        assert_true(fabs((above - below) / (2 * step) - gradient[i]) < 1e-6);
    }
    free(gradient);
    free(scratch);
    mlp_deinit(&mlp);
}

static void
mlp_gradients_of_images_add_up(void **state)
{
    const struct image images[] = {image_make(1, 0), image_make(2, 9)};
    struct mlp mlp;

    (void)state;
    assert_int_equal(mlp_init(&mlp, HIDDEN, 1), HOOP_OK);
    double *apart = calloc(2 * mlp.n_parameters, sizeof(double));
    double *together = calloc(mlp.n_parameters, sizeof(double));
    assert_non_null(apart);
    assert_non_null(together);

    for (size_t i = 0; i < 2; i++) {
        mlp_backward(&mlp, &images[i], &apart[i * mlp.n_parameters]);
        mlp_backward(&mlp, &images[i], together);
    }
    for (size_t i = 0; i < mlp.n_parameters; i++)
        assert_true(fabs(apart[i] + apart[mlp.n_parameters + i] - together[i]) <
                    1e-12);
    free(apart);
    free(together);
    mlp_deinit(&mlp);
}

static void
mlp_steps_learn_an_image(void **state)
{
    const struct image image = image_make(5, 8);
    const struct mlp_rates rates = {.rate = 0.05, .momentum = 0.5};
    struct mlp mlp;
    double last = INFINITY;

    (void)state;
    assert_int_equal(mlp_init(&mlp, HIDDEN, 1), HOOP_OK);
    for (size_t i = 0; i < 50; i++) {
        double *gradient = calloc(mlp.n_parameters, sizeof(double));
        assert_non_null(gradient);
        last = mlp_backward(&mlp, &image, gradient);
        mlp_step(&mlp, gradient, 1, rates);
        free(gradient);
    }
    assert_true(last < 0.05);
    assert_int_equal(mlp_classify(&mlp, &image), 8);
    mlp_deinit(&mlp);
}

static void
mlp_same_seed_gives_same_weights(void **state)
{
    struct mlp a;
    struct mlp b;

    (void)state;
    assert_int_equal(mlp_init(&a, HIDDEN, 9), HOOP_OK);
    assert_int_equal(mlp_init(&b, HIDDEN, 9), HOOP_OK);
    assert_int_equal(a.n_parameters, HIDDEN * 65 + 10 * (HIDDEN + 1));
    assert_memory_equal(a.parameters, b.parameters,
                        a.n_parameters * sizeof(double));
    mlp_deinit(&a);
    mlp_deinit(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mlp_gradient_is_the_slope_of_the_loss),
        cmocka_unit_test(mlp_gradients_of_images_add_up),
        cmocka_unit_test(mlp_steps_learn_an_image),
        cmocka_unit_test(mlp_same_seed_gives_same_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
