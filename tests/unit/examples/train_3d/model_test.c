/* tests/unit/examples/train_3d/model_test.c - train_3d/model.c and the files
 * beside it */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "alone.h"
#include "check.h"
#include "train_3d/activation.h"
#include "train_3d/attention.h"
#include "train_3d/loss.h"
#include "train_3d/matrix.h"
#include "train_3d/model.h"
#include "train_3d/noise.h"
#include "train_3d/norm.h"

/*
 * These functions tell whether a gradient is the slope of its loss.
 *
 * In float, a difference by one value drowns in rounding; one by all values
 * of a matrix at once does not.
 */

/* What depends on values; owner is the test's. */
typedef double
loss_fn(void *owner);

struct slope {
    loss_fn *loss;
    void *owner;
    struct matrix values; /* changed and put back */
    struct matrix gradient;
    float step;
};

enum {
    DIRECTIONS = 2,
};

static double
loss_at(const struct slope *slope,
        struct matrix kept,
        struct matrix direction,
        float factor)
{
    matrix_copy(kept, slope->values);
    add_scaled(slope->values.at, direction.at, factor, matrix_count(kept));
    return slope->loss(slope->owner);
}

static double
length_of(struct matrix matrix)
{
    return sqrt((double)dot(matrix.at, matrix.at, matrix_count(matrix)));
}

/* Of length 1. */
static void
direction_fill(struct matrix direction,
               const struct slope *slope,
               size_t number)
{
    const struct noise noise = {number, "direction"};
    const size_t n = matrix_count(direction);

    for (size_t i = 0; i < n; i++)
        direction.at[i] =
            number == 0 ? slope->gradient.at[i] : noise_signed(noise, i);
    const float length = (float)length_of(direction);
    for (size_t i = 0; i < n; i++)
        direction.at[i] /= length;
}

/*
 * How far the gradient is from differences of the loss, as a share of the
 * gradient's own length: in its direction, then in some directions by chance.
 */
static double
slope_error(const struct slope *slope)
{
    const struct matrix values = slope->values;
    const double length = length_of(slope->gradient);
    struct matrix kept = matrix_create(values.n_rows, values.n_columns);
    struct matrix direction = matrix_create(values.n_rows, values.n_columns);
    double error = 0;

    matrix_copy(values, kept);
    for (size_t i = 0; i < DIRECTIONS; i++) {
        direction_fill(direction, slope, i);
        const double above = loss_at(slope, kept, direction, slope->step);
        const double below = loss_at(slope, kept, direction, -slope->step);
        const double told = (double)dot(slope->gradient.at, direction.at,
                                        matrix_count(direction));
        const double seen = (above - below) / (2 * (double)slope->step);

        error = fmax(error, fabs(seen - told) / length);
    }
    matrix_copy(kept, values);
    matrix_free(kept);
    matrix_free(direction);
    return error;
}

enum {
    MICRO_BATCHES = 2,
};

static const struct dimensions dimensions = {
    .n_blocks = 4,
    .width = 8,
    .hidden = 12,
    .n_heads = 2,
    .n_positions = 5,
    .n_windows = 2,
    .n_parts = 1,
    .seed = 6,
};

static const unsigned char bytes[] = "To be, or not to be: that is the ...";
static const struct text text = {(unsigned char *)bytes, sizeof(bytes)};

/* A model that is cut into stages, all of them in this process. */
struct cut {
    struct model stages[4];
    size_t n_stages;
    size_t n_chunks;
    struct matrix streams[5]; /* between virtual stages, and two that are not */
};

static struct cut
cut_make(void **state, size_t n_stages, size_t n_chunks)
{
    struct cut cut = {.n_stages = n_stages, .n_chunks = n_chunks};

    for (size_t i = 0; i < n_stages; i++)
        model_init(&cut.stages[i], &(struct model_options){
                                       .dimensions = dimensions,
                                       .comm = alone_comm(state),
                                       .stage = i,
                                       .n_stages = n_stages,
                                       .n_chunks = n_chunks,
                                       .n_micro_batches = MICRO_BATCHES,
                                       .factor = 1,
                                   });
    for (size_t i = 0; i < 5; i++)
        cut.streams[i] = matrix_create(10, dimensions.width);
    return cut;
}

static void
cut_free(struct cut *cut)
{
    for (size_t i = 0; i < cut->n_stages; i++)
        model_deinit(&cut->stages[i]);
    for (size_t i = 0; i < 5; i++)
        matrix_free(cut->streams[i]);
}

static void
cut_visit(struct cut *cut, size_t micro_batch)
{
    const size_t n_virtual = cut->n_stages * cut->n_chunks;
    const struct windows windows = {
        .first = micro_batch * dimensions.n_windows,
        .n_positions = dimensions.n_positions,
    };
    struct token tokens[10];

    text_cut(&text, &windows, span_all(10), tokens);
    for (size_t i = 0; i < n_virtual; i++) {
        const struct visit visit = {i / cut->n_stages, micro_batch, tokens};

        assert_ok(model_forward(&cut->stages[i % cut->n_stages], &visit,
                                cut->streams[i], cut->streams[i + 1]));
    }
    for (size_t i = n_virtual; i > 0; i--) {
        const size_t at = i - 1;
        const struct visit visit = {at / cut->n_stages, micro_batch, tokens};

        assert_ok(model_backward(&cut->stages[at % cut->n_stages], &visit,
                                 cut->streams[i], cut->streams[at]));
    }
}

/* Fresh gradients, and the loss of all micro-batches. */
static double
cut_loss(void *owner)
{
    struct cut *cut = owner;
    double loss = 0;

    for (size_t i = 0; i < cut->n_stages; i++)
        model_clear(&cut->stages[i]);
    for (size_t i = 0; i < MICRO_BATCHES; i++)
        cut_visit(cut, i);
    for (size_t i = 0; i < cut->n_stages; i++)
        loss += cut->stages[i].loss;
    return loss;
}

static void
model_gradients_are_slopes(void **state)
{
    struct cut cut = cut_make(state, 1, 1);
    const struct model *model = &cut.stages[0];

    assert_int_equal(model->n_parameters, 4 + 4 * 2 * 3);
    for (size_t i = 0; i < model->n_parameters; i++) {
        const struct parameter *parameter = model->parameters[i];
        const struct matrix gradient =
            matrix_create(parameter->value.n_rows, parameter->value.n_columns);
        const struct slope slope = {cut_loss, &cut, parameter->value, gradient,
                                    0.02F};

        cut_loss(&cut);
        matrix_copy(parameter->gradient, gradient);
        const double error = slope_error(&slope);
        if (error > 0.01)
            fail_msg("parameter %zu: %g", i, error);
        matrix_free(gradient);
    }
    cut_free(&cut);
}

/* Parameters of the whole, in the order of virtual stages. */
static const struct parameter *
cut_parameter(const struct cut *cut, size_t index)
{
    const size_t n_virtual = cut->n_stages * cut->n_chunks;

    for (size_t i = 0; i < n_virtual; i++) {
        const struct model *model = &cut->stages[i % cut->n_stages];
        const struct chunk *chunk = &model->chunks[i / cut->n_stages];

        if (index < chunk->n_parameters)
            return model->parameters[chunk->first_parameter + index];
        index -= chunk->n_parameters;
    }
    return NULL;
}

/* Cut into two stages, four, or two with two chunks: nothing is different, to
 * the bit. */
static void
model_in_stages_is_the_whole(void **state)
{
    static const size_t cuts[][2] = {{2, 1}, {4, 1}, {2, 2}, {1, 4}};
    struct cut whole = cut_make(state, 1, 1);
    const double loss = cut_loss(&whole);

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct cut cut = cut_make(state, cuts[i][0], cuts[i][1]);

        assert_true(cut_loss(&cut) == loss);
        for (size_t j = 0; j < whole.stages[0].n_parameters; j++) {
            const struct parameter *a = cut_parameter(&whole, j);
            const struct parameter *b = cut_parameter(&cut, j);

            assert_non_null(b);
            assert_memory_equal(a->value.at, b->value.at,
                                matrix_count(a->value) * sizeof(float));
            assert_memory_equal(a->gradient.at, b->gradient.at,
                                matrix_count(a->value) * sizeof(float));
        }
        cut_free(&cut);
    }
    cut_free(&whole);
}

/* An untrained model knows nothing: about log 128 for each of 20 bytes. */
static void
model_untrained_loss_is_that_of_guessing(void **state)
{
    struct cut cut = cut_make(state, 1, 1);
    const double loss = cut_loss(&cut) / 20;

    assert_true(fabs(loss - log(TEXT_BYTES)) < 1);
    cut_free(&cut);
}

/* A failure leaves micro-batches half-way. */
static void
model_deinit_between_forward_and_backward_frees_all(void **state)
{
    struct cut cut = cut_make(state, 1, 1);
    struct token tokens[10] = {0};
    const struct visit visit = {0, 1, tokens};

    assert_ok(
        model_forward(&cut.stages[0], &visit, cut.streams[0], cut.streams[1]));
    cut_free(&cut);
}

/* These cases test train_3d/activation.c. */

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
    assert_true(activation_of(0) == 0);
    assert_true(fabsf(activation_of(20) - 20) < 1e-5F);
    assert_true(fabsf(activation_of(-200)) < 1e-5F);
    assert_true(fabsf(activation_of(1) - 0.7310586F) < 1e-6F);
}

static void
activation_gradient_is_the_slope(void **state)
{
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

/* These cases test train_3d/attention.c. */

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

    fixture_loss(&fixture);
    for (size_t i = 0; i < attention_weights(&shape); i += 5) {
        float sum = 0;

        for (size_t from = 0; from < 5; from++)
            sum += fixture.weights.at[i + from];
        assert_true(fabsf(sum - 1) < 1e-6F);
    }
    fixture_free(&fixture);
}

/* These cases test train_3d/norm.c. */

enum {
    NORM_ROWS = 3,
    COLUMNS = 5,
};

struct norm_fixture {
    struct matrix input;
    struct matrix gain;
    struct matrix out;
    struct matrix weights; /* the loss is the sum of weights * out */
};

static struct matrix
norm_noise_matrix(const char *name, size_t n_rows)
{
    const struct matrix matrix = matrix_create(n_rows, COLUMNS);

    for (size_t i = 0; i < matrix_count(matrix); i++)
        matrix.at[i] = noise_signed((struct noise){1, name}, i);
    return matrix;
}

static struct norm_fixture
norm_fixture_make(void)
{
    return (struct norm_fixture){
        .input = norm_noise_matrix("input", NORM_ROWS),
        .gain = norm_noise_matrix("gain", 1),
        .out = matrix_create(NORM_ROWS, COLUMNS),
        .weights = norm_noise_matrix("weights", NORM_ROWS),
    };
}

static void
norm_fixture_free(struct norm_fixture *norm_fixture)
{
    matrix_free(norm_fixture->input);
    matrix_free(norm_fixture->gain);
    matrix_free(norm_fixture->out);
    matrix_free(norm_fixture->weights);
}

static double
norm_fixture_loss(void *owner)
{
    struct norm_fixture *norm_fixture = owner;

    norm_forward(norm_fixture->input, norm_fixture->gain, norm_fixture->out);
    return (double)dot(norm_fixture->out.at, norm_fixture->weights.at,
                       NORM_ROWS * COLUMNS);
}

static void
norm_rows_have_the_length_of_their_gain(void **state)
{
    struct norm_fixture norm_fixture = norm_fixture_make();

    for (size_t i = 0; i < COLUMNS; i++)
        norm_fixture.gain.at[i] = 2;
    norm_fixture_loss(&norm_fixture);
    for (size_t row = 0; row < NORM_ROWS; row++) {
        const float *out = matrix_row(norm_fixture.out, row);

        assert_true(fabsf(dot(out, out, COLUMNS) - 4 * COLUMNS) < 0.01F);
    }
    norm_fixture_free(&norm_fixture);
}

static void
norm_gradients_are_slopes(void **state)
{
    struct norm_fixture norm_fixture = norm_fixture_make();
    struct norm_gradients gradients = {matrix_create(NORM_ROWS, COLUMNS),
                                       matrix_create(1, COLUMNS)};
    struct slope slope = {norm_fixture_loss, &norm_fixture, norm_fixture.input,
                          gradients.input, 0.01F};

    norm_backward(norm_fixture.input, norm_fixture.gain, norm_fixture.weights,
                  gradients);
    assert_true(slope_error(&slope) < 1e-3);
    slope.values = norm_fixture.gain;
    slope.gradient = gradients.gain;
    assert_true(slope_error(&slope) < 1e-3);

    matrix_free(gradients.input);
    matrix_free(gradients.gain);
    norm_fixture_free(&norm_fixture);
}

/* As the model calls it: the gradient of the output becomes the input's. */
static void
norm_backward_in_place_is_the_same(void **state)
{
    struct norm_fixture norm_fixture = norm_fixture_make();
    struct norm_gradients apart = {matrix_create(NORM_ROWS, COLUMNS),
                                   matrix_create(1, COLUMNS)};
    struct norm_gradients same = {norm_fixture.weights,
                                  matrix_create(1, COLUMNS)};

    norm_backward(norm_fixture.input, norm_fixture.gain, norm_fixture.weights,
                  apart);
    norm_backward(norm_fixture.input, norm_fixture.gain, norm_fixture.weights,
                  same);
    assert_memory_equal(apart.input.at, same.input.at,
                        NORM_ROWS * COLUMNS * sizeof(float));
    assert_memory_equal(apart.gain.at, same.gain.at, COLUMNS * sizeof(float));

    matrix_free(apart.input);
    matrix_free(apart.gain);
    matrix_free(same.gain);
    norm_fixture_free(&norm_fixture);
}

/* These cases test train_3d/loss.c. */

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

    const double both =
        loss_of(&scores[0], 0, ignored) + loss_of(&scores[BYTES], 3, ignored);
    const double sum = loss_take((struct matrix){scores, 2, BYTES}, tokens, 1);
    assert_true(fabs(sum - both) < 1e-9);
}

/* These cases test train_3d/matrix.c. */

/* Longer than the lanes of dot(), and no multiple of them. */
static void
dot_of_any_length_is_the_sum_of_products(void **state)
{
    float a[21];
    float b[21];

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

    assert_int_equal(matrix_count(none), 0);
    matrix_free(none);
    matrix_free((struct matrix){0});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_gradients_are_slopes),
        cmocka_unit_test(model_in_stages_is_the_whole),
        cmocka_unit_test(model_untrained_loss_is_that_of_guessing),
        cmocka_unit_test(model_deinit_between_forward_and_backward_frees_all),
        cmocka_unit_test(activation_keeps_large_and_drops_small),
        cmocka_unit_test(activation_gradient_is_the_slope),
        cmocka_unit_test(attention_gradient_is_the_slope),
        cmocka_unit_test(attention_looks_at_its_own_past_only),
        cmocka_unit_test(attention_weights_of_a_position_sum_to_one),
        cmocka_unit_test(norm_rows_have_the_length_of_their_gain),
        cmocka_unit_test(norm_gradients_are_slopes),
        cmocka_unit_test(norm_backward_in_place_is_the_same),
        cmocka_unit_test(loss_of_equal_scores_is_the_logarithm),
        cmocka_unit_test(loss_gradient_is_the_slope_times_factor),
        cmocka_unit_test(loss_of_rows_adds_up),
        cmocka_unit_test(dot_of_any_length_is_the_sum_of_products),
        cmocka_unit_test(linear_forward_multiplies_by_the_transposed_weight),
        cmocka_unit_test(linear_backward_gives_both_gradients),
        cmocka_unit_test(matrix_of_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
