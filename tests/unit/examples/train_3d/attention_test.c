/* tests/unit/examples/train_3d/attention_test.c - train_3d/attention.c */

#include <math.h>
#include <stdbool.h>

#include "check.h"
#include "slope.h"
#include "train_3d/attention.h"
#include "train_3d/noise.h"

enum {
    ROWS = 2 * 5,
    HEADS = 3,
    WIDTH = 4,
};

static const struct attention shape = {
    .n_sequences = 2,
    .n_positions = 5,
    .n_heads = HEADS,
    .head_width = WIDTH,
};

struct fixture {
    struct matrix input;
    struct matrix weights; /* attention's */
    struct matrix out;
    struct matrix factors; /* the loss is the sum of factors * out */
};

static struct matrix
noise_matrix(const char *name, size_t n_columns)
{
    const struct matrix matrix = matrix_create(ROWS, n_columns);

    for (size_t i = 0; i < matrix_count(matrix); i++)
        matrix.at[i] = 2 * noise_signed((struct noise){1, name}, i);
    return matrix;
}

static struct fixture
fixture_make(void)
{
    return (struct fixture){
        .input = noise_matrix("input", 3 * HEADS * WIDTH),
        .weights = matrix_create(1, attention_weights(&shape)),
        .out = matrix_create(ROWS, HEADS * WIDTH),
        .factors = noise_matrix("factors", HEADS * WIDTH),
    };
}

static void
fixture_free(struct fixture *fixture)
{
    matrix_free(fixture->input);
    matrix_free(fixture->weights);
    matrix_free(fixture->out);
    matrix_free(fixture->factors);
}

static double
fixture_loss(void *owner)
{
    struct fixture *fixture = owner;

    attention_forward(&shape, fixture->input, fixture->weights.at,
                      fixture->out);
    return (double)dot(fixture->out.at, fixture->factors.at,
                       ROWS * HEADS * WIDTH);
}

static void
attention_gradient_is_the_slope(void **state)
{
    struct fixture fixture = fixture_make();
    const struct matrix gradient = matrix_create(ROWS, 3 * HEADS * WIDTH);
    const struct slope slope = {fixture_loss, &fixture, fixture.input, gradient,
                                0.01F};

    (void)state;
    fixture_loss(&fixture);
    attention_backward(
        &shape, &(struct attention_tape){fixture.input, fixture.weights.at},
        fixture.factors, gradient);
    assert_true(slope_error(&slope) < 2e-3);
    matrix_free(gradient);
    fixture_free(&fixture);
}

/* Nobody sees what comes later, another sequence or another head. */
static void
attention_looks_at_its_own_past_only(void **state)
{
    struct fixture fixture = fixture_make();
    const struct matrix before = matrix_create(ROWS, HEADS * WIDTH);

    (void)state;
    fixture_loss(&fixture);
    matrix_copy(fixture.out, before);

    /* The value of head 1 at position 3 of the second sequence. */
    matrix_row(fixture.input, 8)[(3 * 1 + 2) * WIDTH] += 1;
    fixture_loss(&fixture);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t i = 0; i < HEADS * WIDTH; i++) {
            const bool may_change = row >= 8 && i == WIDTH;
            const bool is_same =
                matrix_row(fixture.out, row)[i] == matrix_row(before, row)[i];

            assert_true(is_same != may_change);
        }
    }
    matrix_free(before);
    fixture_free(&fixture);
}

static void
attention_weights_of_a_position_sum_to_one(void **state)
{
    struct fixture fixture = fixture_make();

    (void)state;
    fixture_loss(&fixture);
    for (size_t i = 0; i < attention_weights(&shape); i += 5) {
        float sum = 0;

        for (size_t from = 0; from < 5; from++)
            sum += fixture.weights.at[i + from];
        assert_true(fabsf(sum - 1) < 1e-6F);
    }
    fixture_free(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_gradient_is_the_slope),
        cmocka_unit_test(attention_looks_at_its_own_past_only),
        cmocka_unit_test(attention_weights_of_a_position_sum_to_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
