/*
 * train_3d/attention.c - softmax attention to the positions so far
 *
 * Everything happens within one head of one sequence, which is called a view
 * below. Tensor parallelism divides the heads, so no rank needs data of
 * another.
 */

#include "train_3d/attention.h"

#include <math.h>
#include <string.h>

/* One head of one sequence. The query, key and value of a position begin at
 * triples + position * triple_stride; values have their own stride. */
struct view {
    const float *triples; /* query, key, value */
    size_t triple_stride;
    size_t value_stride;
    size_t n_positions;
    size_t width;
};

static size_t
triples_at(const struct attention *attention, size_t sequence, size_t head)
{
    const size_t row = sequence * attention->n_positions;

    return (row * attention->n_heads + head) * 3 * attention->head_width;
}

static size_t
values_at(const struct attention *attention, size_t sequence, size_t head)
{
    return triples_at(attention, sequence, head) / 3;
}

static size_t
weights_at(const struct attention *attention, size_t sequence, size_t head)
{
    return (sequence * attention->n_heads + head) * attention->n_positions *
           attention->n_positions;
}

size_t
attention_weights(const struct attention *attention)
{
    return weights_at(attention, attention->n_sequences, 0);
}

static struct view
view_of(const struct attention *attention, const float *triples)
{
    return (struct view){
        .triples = triples,
        .triple_stride = attention->n_heads * 3 * attention->head_width,
        .value_stride = attention->n_heads * attention->head_width,
        .n_positions = attention->n_positions,
        .width = attention->head_width,
    };
}

static const float *
query(const struct view *view, size_t position)
{
    return view->triples + position * view->triple_stride;
}

static const float *
key(const struct view *view, size_t position)
{
    return query(view, position) + view->width;
}

static const float *
value(const struct view *view, size_t position)
{
    return key(view, position) + view->width;
}

/* Turns the scores of the first n positions into weights that sum to 1. */
static void
softmax(float *scores, size_t n)
{
    float top = scores[0];
    float total = 0;

    /* The largest score is subtracted, since exp() could overflow without
     * that. */
    for (size_t i = 1; i < n; i++)
        top = fmaxf(top, scores[i]);
    for (size_t i = 0; i < n; i++) {
        scores[i] = expf(scores[i] - top);
        total += scores[i];
    }
    for (size_t i = 0; i < n; i++)
        scores[i] /= total;
}

static void
view_forward(const struct view *view, float *weights, float *out)
{
    const float scale = 1 / sqrtf((float)view->width);

    for (size_t to = 0; to < view->n_positions; to++) {
        float *row = weights + to * view->n_positions;
        float *mixed = out + to * view->value_stride;

        for (size_t from = 0; from <= to; from++)
            row[from] =
                scale * dot(query(view, to), key(view, from), view->width);
        softmax(row, to + 1);
        memset(mixed, 0, view->width * sizeof(float));
        for (size_t from = 0; from <= to; from++)
            add_scaled(mixed, value(view, from), row[from], view->width);
    }
}

void
attention_forward(const struct attention *attention,
                  struct matrix input,
                  float *weights,
                  struct matrix out)
{
    for (size_t sequence = 0; sequence < attention->n_sequences; sequence++) {
        for (size_t head = 0; head < attention->n_heads; head++) {
            const struct view view = view_of(
                attention, input.at + triples_at(attention, sequence, head));

            view_forward(&view, weights + weights_at(attention, sequence, head),
                         out.at + values_at(attention, sequence, head));
        }
    }
}

/* The backward of one position, to: row has the weights of the positions that
 * it attends to, and mixed_grad the gradient of its output. */
static void
position_backward(const struct view *view,
                  size_t to,
                  const float *row,
                  const float *mixed_grad,
                  float *triples_grad)
{
    const float scale = 1 / sqrtf((float)view->width);
    const size_t width = view->width;
    float *query_grad = triples_grad + to * view->triple_stride;
    float mean = 0;

    /* The weights sum to 1, so a gain that all of them share has no effect. */
    for (size_t from = 0; from <= to; from++)
        mean += row[from] * dot(mixed_grad, value(view, from), width);
    for (size_t from = 0; from <= to; from++) {
        float *key_grad = triples_grad + from * view->triple_stride + width;
        const float slope = dot(mixed_grad, value(view, from), width) - mean;
        const float score_grad = scale * row[from] * slope;

        add_scaled(query_grad, key(view, from), score_grad, width);
        add_scaled(key_grad, query(view, to), score_grad, width);
        add_scaled(key_grad + width, mixed_grad, row[from], width);
    }
}

void
attention_backward(const struct attention *attention,
                   const struct attention_tape *tape,
                   struct matrix out_grad,
                   struct matrix input_grad)
{
    const size_t n_views = attention->n_sequences * attention->n_heads;
    const size_t n_positions = attention->n_positions;

    matrix_clear(input_grad);
    for (size_t i = 0; i < n_views; i++) {
        const size_t sequence = i / attention->n_heads;
        const size_t head = i % attention->n_heads;
        const size_t triples = triples_at(attention, sequence, head);
        const size_t weights = weights_at(attention, sequence, head);
        const size_t values = values_at(attention, sequence, head);
        const struct view view = view_of(attention, tape->input.at + triples);

        for (size_t to = 0; to < n_positions; to++)
            position_backward(&view, to,
                              tape->weights + weights + to * n_positions,
                              out_grad.at + values + to * view.value_stride,
                              input_grad.at + triples);
    }
}
