/* train_3d/model.c - the part of a language model that this rank computes */

#include "train_3d/model.h"

#include <stdlib.h>

#include "train_3d/loss.h"
#include "train_3d/memory.h"
#include "train_3d/norm.h"

enum {
    LAYERS_OF_BLOCK = 2,
    PARAMETERS_OF_LAYER = 3,
    PARAMETERS_OF_END = 2, /* in the first chunk, and in the last */
};

/* A parameter that every rank of the tensor-parallel group has as a whole. */
static void
whole_init(struct parameter *parameter,
           const char *name,
           const struct dimensions *dimensions,
           size_t n_rows,
           float reach)
{
    parameter_init(parameter, &(struct parameter_options){
                                  .name = name,
                                  .seed = dimensions->seed,
                                  .rows = span_all(n_rows),
                                  .columns = span_all(dimensions->width),
                                  .middle = reach > 0 ? 0 : 1,
                                  .reach = reach,
                              });
}

static void
ends_init(struct chunk *chunk, const struct dimensions *dimensions)
{
    /* Small values make all bytes almost equally likely before training. */
    const float reach = 1 / (float)dimensions->width;

    if (chunk->is_first) {
        whole_init(&chunk->embedding, "embedding", dimensions, TEXT_BYTES, 1);
        whole_init(&chunk->positions, "positions", dimensions,
                   dimensions->n_positions, 1);
    }
    if (chunk->is_last) {
        whole_init(&chunk->norm, "", dimensions, 1, 0);
        whole_init(&chunk->output, "output", dimensions, TEXT_BYTES, reach);
    }
}

static void
chunk_init(struct chunk *chunk,
           const struct model_options *options,
           size_t number)
{
    const struct dimensions *dimensions = &options->dimensions;
    const size_t n_stages = options->n_stages * options->n_chunks;
    const size_t stage = number * options->n_stages + options->stage;
    const struct span blocks = span_part(dimensions->n_blocks, stage, n_stages);

    *chunk = (struct chunk){
        .is_first = stage == 0,
        .is_last = stage == n_stages - 1,
        .n_layers = LAYERS_OF_BLOCK * blocks.count,
        .layers =
            zeros_create(LAYERS_OF_BLOCK * blocks.count, sizeof(struct layer)),
    };
    ends_init(chunk, dimensions);
    for (size_t i = 0; i < chunk->n_layers; i++)
        layer_init(&chunk->layers[i],
                   i % LAYERS_OF_BLOCK == 0 ? LAYER_ATTENTION
                                            : LAYER_PERCEPTRON,
                   dimensions, blocks.begin + i / LAYERS_OF_BLOCK);
}

static void
chunk_deinit(struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->n_layers; i++)
        layer_deinit(&chunk->layers[i]);
    free(chunk->layers);
    parameter_deinit(&chunk->embedding);
    parameter_deinit(&chunk->positions);
    parameter_deinit(&chunk->norm);
    parameter_deinit(&chunk->output);
}

static void
parameter_list(struct model *model, struct parameter *parameter)
{
    model->parameters[model->n_parameters++] = parameter;
}

static void
chunk_list(struct model *model, struct chunk *chunk)
{
    chunk->first_parameter = model->n_parameters;
    if (chunk->is_first) {
        parameter_list(model, &chunk->embedding);
        parameter_list(model, &chunk->positions);
    }
    for (size_t i = 0; i < chunk->n_layers; i++) {
        parameter_list(model, &chunk->layers[i].norm);
        parameter_list(model, &chunk->layers[i].first);
        parameter_list(model, &chunk->layers[i].second);
    }
    if (chunk->is_last) {
        parameter_list(model, &chunk->norm);
        parameter_list(model, &chunk->output);
    }
    chunk->n_parameters = model->n_parameters - chunk->first_parameter;
}

void
model_init(struct model *model, const struct model_options *options)
{
    const size_t n_chunks = options->n_chunks;
    const struct dimensions *dimensions = &options->dimensions;
    size_t n_parameters = 2 * PARAMETERS_OF_END;

    *model = (struct model){
        .options = *options,
        .chunks = zeros_create(n_chunks, sizeof(struct chunk)),
        .tapes = zeros_create(n_chunks * options->n_micro_batches,
                              sizeof(struct tape)),
        .gradient =
            matrix_create(dimensions_rows(dimensions).count, dimensions->width),
    };
    workspace_init(&model->workspace, dimensions, options->comm);
    for (size_t i = 0; i < n_chunks; i++) {
        chunk_init(&model->chunks[i], options, i);
        n_parameters += PARAMETERS_OF_LAYER * model->chunks[i].n_layers;
    }
    model->parameters = zeros_create(n_parameters, sizeof(struct parameter *));
    for (size_t i = 0; i < n_chunks; i++)
        chunk_list(model, &model->chunks[i]);
}

static void
tape_init(struct tape *tape,
          const struct chunk *chunk,
          const struct dimensions *dimensions)
{
    const size_t n_rows = dimensions_rows(dimensions).count;

    *tape = (struct tape){
        .layers = zeros_create(chunk->n_layers, sizeof(struct layer_tape)),
        .result = matrix_create(n_rows, dimensions->width),
    };
    for (size_t i = 0; i < chunk->n_layers; i++)
        layer_tape_init(&tape->layers[i], &chunk->layers[i], dimensions);
    if (chunk->is_last) {
        tape->normed = matrix_create(n_rows, dimensions->width);
        tape->scores = matrix_create(n_rows, TEXT_BYTES);
    }
}

static void
tape_deinit(struct tape *tape, const struct chunk *chunk)
{
    for (size_t i = 0; tape->layers && i < chunk->n_layers; i++)
        layer_tape_deinit(&tape->layers[i]);
    free(tape->layers);
    matrix_free(tape->result);
    matrix_free(tape->normed);
    matrix_free(tape->scores);
    *tape = (struct tape){0};
}

static struct tape *
tape_at(struct model *model, size_t micro_batch, size_t chunk)
{
    return &model->tapes[micro_batch * model->options.n_chunks + chunk];
}

void
model_deinit(struct model *model)
{
    const size_t n_chunks = model->options.n_chunks;
    const size_t n_tapes = n_chunks * model->options.n_micro_batches;

    for (size_t i = 0; i < n_tapes; i++)
        tape_deinit(&model->tapes[i], &model->chunks[i % n_chunks]);
    for (size_t i = 0; i < n_chunks; i++)
        chunk_deinit(&model->chunks[i]);
    free(model->tapes);
    free(model->chunks);
    free(model->parameters);
    workspace_deinit(&model->workspace);
    matrix_free(model->gradient);
    *model = (struct model){0};
}

void
model_clear(struct model *model)
{
    for (size_t i = 0; i < model->n_parameters; i++)
        matrix_clear(model->parameters[i]->gradient);
    model->loss = 0;
}

static void
embedding_forward(const struct chunk *chunk,
                  const struct token *tokens,
                  struct matrix out)
{
    for (size_t row = 0; row < out.n_rows; row++) {
        const struct token *token = &tokens[row];
        float *sum = matrix_row(out, row);

        for (size_t i = 0; i < out.n_columns; i++)
            sum[i] = matrix_row(chunk->embedding.value, token->seen)[i] +
                     matrix_row(chunk->positions.value, token->position)[i];
    }
}

static void
embedding_backward(struct chunk *chunk,
                   const struct token *tokens,
                   struct matrix gradient)
{
    const size_t n = gradient.n_columns;

    for (size_t row = 0; row < gradient.n_rows; row++) {
        const struct token *token = &tokens[row];
        const float *slopes = matrix_row(gradient, row);

        add_scaled(matrix_row(chunk->embedding.gradient, token->seen), slopes,
                   1, n);
        add_scaled(matrix_row(chunk->positions.gradient, token->position),
                   slopes, 1, n);
    }
}

static double
output_forward(const struct chunk *chunk,
               struct tape *tape,
               const struct token *tokens,
               float factor)
{
    norm_forward(tape->result, chunk->norm.value, tape->normed);
    linear_forward(tape->normed, chunk->output.value, tape->scores);
    return loss_take(tape->scores, tokens, factor);
}

static void
output_backward(struct chunk *chunk,
                const struct tape *tape,
                struct matrix gradient)
{
    linear_backward_weight(tape->scores, tape->normed, chunk->output.gradient);
    linear_backward(tape->scores, chunk->output.value, gradient);
    norm_backward(tape->result, chunk->norm.value, gradient,
                  (struct norm_gradients){gradient, chunk->norm.gradient});
}

enum hoop_status
model_forward(struct model *model,
              const struct visit *visit,
              struct matrix input,
              struct matrix out)
{
    const struct chunk *chunk = &model->chunks[visit->chunk];
    struct tape *tape = tape_at(model, visit->micro_batch, visit->chunk);

    tape_init(tape, chunk, &model->options.dimensions);
    if (chunk->is_first)
        embedding_forward(chunk, visit->tokens, tape->layers[0].input);
    else
        matrix_copy(input, tape->layers[0].input);

    for (size_t i = 0; i < chunk->n_layers; i++) {
        const struct matrix next =
            i + 1 < chunk->n_layers ? tape->layers[i + 1].input : tape->result;
        const enum hoop_status status = layer_forward(
            &chunk->layers[i], &tape->layers[i], &model->workspace, next);
        if (status != HOOP_OK)
            return status;
    }

    if (chunk->is_last)
        model->loss +=
            output_forward(chunk, tape, visit->tokens, model->options.factor);
    else
        matrix_copy(tape->result, out);
    return HOOP_OK;
}

enum hoop_status
model_backward(struct model *model,
               const struct visit *visit,
               struct matrix out_grad,
               struct matrix input_grad)
{
    struct chunk *chunk = &model->chunks[visit->chunk];
    struct tape *tape = tape_at(model, visit->micro_batch, visit->chunk);

    if (chunk->is_last)
        output_backward(chunk, tape, model->gradient);
    else
        matrix_copy(out_grad, model->gradient);

    for (size_t i = chunk->n_layers; i > 0; i--) {
        const enum hoop_status status =
            layer_backward(&chunk->layers[i - 1], &tape->layers[i - 1],
                           &model->workspace, model->gradient);
        if (status != HOOP_OK)
            return status;
    }

    if (chunk->is_first)
        embedding_backward(chunk, visit->tokens, model->gradient);
    else
        matrix_copy(model->gradient, input_grad);
    tape_deinit(tape, chunk);
    return HOOP_OK;
}
