/* train_3d/layer.c - half a transformer block, divided by tensor parallelism */

#include "train_3d/layer.h"

#include <math.h>
#include <stdio.h>

#include "train_3d/activation.h"
#include "train_3d/norm.h"

enum {
    NAME_BYTES = 48,
};

struct span
dimensions_rows(const struct dimensions *dimensions)
{
    const size_t n_rows = dimensions->n_windows * dimensions->n_positions;

    if (dimensions->rows == ROWS_REPLICATED)
        return span_all(n_rows);
    return span_part(n_rows, dimensions->part, dimensions->n_parts);
}

/* The outputs of the first linear and the inputs of the second, in all parts
 * together. */
struct widths {
    size_t first;
    size_t second;
};

static struct widths
widths_of(enum layer_kind kind, const struct dimensions *dimensions)
{
    if (kind == LAYER_ATTENTION)
        return (struct widths){3 * dimensions->width, dimensions->width};
    return (struct widths){dimensions->hidden, dimensions->hidden};
}

static void
linear_init(struct parameter *parameter,
            const char *name,
            const struct dimensions *dimensions,
            struct span rows,
            struct span columns)
{
    parameter_init(parameter, &(struct parameter_options){
                                  .name = name,
                                  .seed = dimensions->seed,
                                  .rows = rows,
                                  .columns = columns,
                                  .reach = sqrtf(3 / (float)columns.whole),
                              });
}

void
layer_init(struct layer *layer,
           enum layer_kind kind,
           const struct dimensions *dimensions,
           size_t number)
{
    const char *kind_name =
        kind == LAYER_ATTENTION ? "attention" : "perceptron";
    const struct widths widths = widths_of(kind, dimensions);
    const struct span width = span_all(dimensions->width);
    const size_t part = dimensions->part;
    const size_t n_parts = dimensions->n_parts;
    char name[NAME_BYTES];

    *layer = (struct layer){
        .kind = kind,
        .attention =
            {
                .n_sequences = dimensions->n_windows,
                .n_positions = dimensions->n_positions,
                .n_heads = dimensions->n_heads / n_parts,
                .head_width = dimensions->width / dimensions->n_heads,
            },
    };
    parameter_init(&layer->norm, &(struct parameter_options){
                                     .name = "",
                                     .rows = span_all(1),
                                     .columns = width,
                                     .middle = 1,
                                 });
    snprintf(name, sizeof(name), "block %zu %s first", number, kind_name);
    linear_init(&layer->first, name, dimensions,
                span_part(widths.first, part, n_parts), width);
    snprintf(name, sizeof(name), "block %zu %s second", number, kind_name);
    linear_init(&layer->second, name, dimensions, width,
                span_part(widths.second, part, n_parts));
}

void
layer_deinit(struct layer *layer)
{
    parameter_deinit(&layer->norm);
    parameter_deinit(&layer->first);
    parameter_deinit(&layer->second);
}

void
layer_tape_init(struct layer_tape *tape,
                const struct layer *layer,
                const struct dimensions *dimensions)
{
    const struct span rows = dimensions_rows(dimensions);
    const size_t n_weights = layer->kind == LAYER_ATTENTION
                                 ? attention_weights(&layer->attention)
                                 : 0;

    *tape = (struct layer_tape){
        .input = matrix_create(rows.count, dimensions->width),
        .normed = matrix_create(rows.whole, dimensions->width),
        .first = matrix_create(rows.whole, layer->first.value.n_rows),
        .middle = matrix_create(rows.whole, layer->second.value.n_columns),
        .weights = matrix_create(1, n_weights),
    };
}

void
layer_tape_deinit(struct layer_tape *tape)
{
    matrix_free(tape->input);
    matrix_free(tape->normed);
    matrix_free(tape->first);
    matrix_free(tape->middle);
    matrix_free(tape->weights);
}

void
workspace_init(struct workspace *workspace,
               const struct dimensions *dimensions,
               hoop_comm_t *comm)
{
    const struct span rows = dimensions_rows(dimensions);
    const struct widths a = widths_of(LAYER_ATTENTION, dimensions);
    const struct widths b = widths_of(LAYER_PERCEPTRON, dimensions);
    const size_t first = a.first > b.first ? a.first : b.first;
    const size_t second = a.second > b.second ? a.second : b.second;

    *workspace = (struct workspace){
        .region = {.rows = dimensions->rows, .comm = comm},
        .mine = matrix_create(rows.count, dimensions->width),
        .all = matrix_create(rows.whole, dimensions->width),
        .inner = matrix_create(rows.whole, first / dimensions->n_parts),
        .outer = matrix_create(rows.whole, second / dimensions->n_parts),
    };
}

void
workspace_deinit(struct workspace *workspace)
{
    matrix_free(workspace->mine);
    matrix_free(workspace->all);
    matrix_free(workspace->inner);
    matrix_free(workspace->outer);
}

/* Uses the beginning of room as a matrix of the size of other. */
static struct matrix
room_for(struct matrix room, struct matrix other)
{
    return (struct matrix){room.at, other.n_rows, other.n_columns};
}

static void
middle_forward(const struct layer *layer, struct layer_tape *tape)
{
    switch (layer->kind) {
    case LAYER_ATTENTION:
        attention_forward(&layer->attention, tape->first, tape->weights.at,
                          tape->middle);
        return;
    case LAYER_PERCEPTRON:
        activation_forward(tape->first, tape->middle);
        return;
    }
}

static void
middle_backward(const struct layer *layer,
                const struct layer_tape *tape,
                struct matrix middle_grad,
                struct matrix first_grad)
{
    switch (layer->kind) {
    case LAYER_ATTENTION:
        attention_backward(
            &layer->attention,
            &(struct attention_tape){tape->first, tape->weights.at},
            middle_grad, first_grad);
        return;
    case LAYER_PERCEPTRON:
        activation_backward(tape->first, middle_grad, first_grad);
        return;
    }
}

enum hoop_status
layer_forward(const struct layer *layer,
              struct layer_tape *tape,
              struct workspace *workspace,
              struct matrix out)
{
    norm_forward(tape->input, layer->norm.value, workspace->mine);
    enum hoop_status status =
        region_enter(&workspace->region, workspace->mine, tape->normed);
    if (status != HOOP_OK)
        return status;

    linear_forward(tape->normed, layer->first.value, tape->first);
    middle_forward(layer, tape);
    linear_forward(tape->middle, layer->second.value, workspace->all);

    status = region_leave(&workspace->region, workspace->all, workspace->mine);
    if (status != HOOP_OK)
        return status;
    matrix_copy(tape->input, out);
    matrix_add(out, workspace->mine);
    return HOOP_OK;
}

enum hoop_status
layer_backward(struct layer *layer,
               const struct layer_tape *tape,
               struct workspace *workspace,
               struct matrix gradient)
{
    const struct matrix first_grad = room_for(workspace->inner, tape->first);
    const struct matrix middle_grad = room_for(workspace->outer, tape->middle);
    const struct norm_gradients norm = {workspace->mine, layer->norm.gradient};

    enum hoop_status status =
        region_leave_backward(&workspace->region, gradient, workspace->all);
    if (status != HOOP_OK)
        return status;

    linear_backward_weight(workspace->all, tape->middle,
                           layer->second.gradient);
    linear_backward(workspace->all, layer->second.value, middle_grad);
    middle_backward(layer, tape, middle_grad, first_grad);
    linear_backward_weight(first_grad, tape->normed, layer->first.gradient);
    linear_backward(first_grad, layer->first.value, workspace->all);

    status = region_enter_backward(&workspace->region, workspace->all,
                                   workspace->mine);
    if (status != HOOP_OK)
        return status;
    norm_backward(tape->input, layer->norm.value, workspace->mine, norm);
    matrix_add(gradient, workspace->mine);
    return HOOP_OK;
}
