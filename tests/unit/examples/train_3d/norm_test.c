/* tests/unit/examples/train_3d/norm_test.c - train_3d/norm.c */

#include <math.h>

#include "check.h"
#include "slope.h"
#include "train_3d/noise.h"
#include "train_3d/norm.h"

enum {
    ROWS = 3,
    COLUMNS = 5,
};

struct fixture {
    struct matrix input;
    struct matrix gain;
    struct matrix out;
    struct matrix weights; /* the loss is the sum of weights * out */
};

static struct matrix
noise_matrix(const char *name, size_t n_rows)
{
    const struct matrix matrix = matrix_create(n_rows, COLUMNS);

    for (size_t i = 0; i < matrix_count(matrix); i++)
        matrix.at[i] = noise_signed((struct noise){1, name}, i);
    return matrix;
}

static struct fixture
fixture_make(void)
{
    return (struct fixture){
        .input = noise_matrix("input", ROWS),
        .gain = noise_matrix("gain", 1),
        .out = matrix_create(ROWS, COLUMNS),
        .weights = noise_matrix("weights", ROWS),
    };
}

static void
fixture_free(struct fixture *fixture)
{
    matrix_free(fixture->input);
    matrix_free(fixture->gain);
    matrix_free(fixture->out);
    matrix_free(fixture->weights);
}

static double
fixture_loss(void *owner)
{
    struct fixture *fixture = owner;

    norm_forward(fixture->input, fixture->gain, fixture->out);
    return (double)dot(fixture->out.at, fixture->weights.at, ROWS * COLUMNS);
}

static void
norm_rows_have_the_length_of_their_gain(void **state)
{
    struct fixture fixture = fixture_make();

    (void)state;
    for (size_t i = 0; i < COLUMNS; i++)
        fixture.gain.at[i] = 2;
    fixture_loss(&fixture);
    for (size_t row = 0; row < ROWS; row++) {
        const float *out = matrix_row(fixture.out, row);

        assert_true(fabsf(dot(out, out, COLUMNS) - 4 * COLUMNS) < 0.01F);
    }
    fixture_free(&fixture);
}

static void
norm_gradients_are_slopes(void **state)
{
    struct fixture fixture = fixture_make();
    struct norm_gradients gradients = {matrix_create(ROWS, COLUMNS),
                                       matrix_create(1, COLUMNS)};
    struct slope slope = {fixture_loss, &fixture, fixture.input,
                          gradients.input, 0.01F};

    (void)state;
    norm_backward(fixture.input, fixture.gain, fixture.weights, gradients);
    assert_true(slope_error(&slope) < 1e-3);
    slope.values = fixture.gain;
    slope.gradient = gradients.gain;
    assert_true(slope_error(&slope) < 1e-3);

    matrix_free(gradients.input);
    matrix_free(gradients.gain);
    fixture_free(&fixture);
}

/* As the model calls it: the gradient of the output becomes the input's. */
static void
norm_backward_in_place_is_the_same(void **state)
{
    struct fixture fixture = fixture_make();
    struct norm_gradients apart = {matrix_create(ROWS, COLUMNS),
                                   matrix_create(1, COLUMNS)};
    struct norm_gradients same = {fixture.weights, matrix_create(1, COLUMNS)};

    (void)state;
    norm_backward(fixture.input, fixture.gain, fixture.weights, apart);
    norm_backward(fixture.input, fixture.gain, fixture.weights, same);
    assert_memory_equal(apart.input.at, same.input.at,
                        ROWS * COLUMNS * sizeof(float));
    assert_memory_equal(apart.gain.at, same.gain.at, COLUMNS * sizeof(float));

    matrix_free(apart.input);
    matrix_free(apart.gain);
    matrix_free(same.gain);
    fixture_free(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_rows_have_the_length_of_their_gain),
        cmocka_unit_test(norm_gradients_are_slopes),
        cmocka_unit_test(norm_backward_in_place_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
