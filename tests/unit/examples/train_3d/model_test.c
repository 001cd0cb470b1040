/* tests/unit/examples/train_3d/model_test.c - train_3d/model.c and layer.c */

#include <math.h>

#include "alone.h"
#include "check.h"
#include "slope.h"
#include "train_3d/model.h"

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

        assert_int_equal(model_forward(&cut->stages[i % cut->n_stages], &visit,
                                       cut->streams[i], cut->streams[i + 1]),
                         HOOP_OK);
    }
    for (size_t i = n_virtual; i > 0; i--) {
        const size_t at = i - 1;
        const struct visit visit = {at / cut->n_stages, micro_batch, tokens};

        assert_int_equal(model_backward(&cut->stages[at % cut->n_stages],
                                        &visit, cut->streams[i],
                                        cut->streams[at]),
                         HOOP_OK);
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

    assert_int_equal(
        model_forward(&cut.stages[0], &visit, cut.streams[0], cut.streams[1]),
        HOOP_OK);
    cut_free(&cut);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_gradients_are_slopes),
        cmocka_unit_test(model_in_stages_is_the_whole),
        cmocka_unit_test(model_untrained_loss_is_that_of_guessing),
        cmocka_unit_test(model_deinit_between_forward_and_backward_frees_all),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
