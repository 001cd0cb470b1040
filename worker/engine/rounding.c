/*
 * engine/rounding.c - collectives whose floats lose bits on their way
 *
 * No test of its own: tests/integration/lossy_test.c.
 */

#include "engine/rounding.h"

enum {
    /* Elements rounded at once: both operands stay in the L1 cache. */
    ROUNDED = 2048
};

enum codec_loss
rounding_of(const struct op *op)
{
    return op->is_checking ? LOSS_NONE : op->loss;
}

void
rounding_combine(const struct op *op,
                 const struct rounding_operands *operands,
                 uint8_t *to,
                 size_t count)
{
    uint8_t left[ROUNDED * sizeof(float)];
    uint8_t right[ROUNDED * sizeof(float)];

    for (size_t i = 0; i < count; i += ROUNDED) {
        const size_t n = count - i < ROUNDED ? count - i : ROUNDED;
        const size_t at = i * sizeof(float);

        loss_round(op->loss, operands->left + at, n, left);
        loss_round(op->loss, operands->right + at, n, right);
        op->reduce(to + at, left, right, n);
    }
}

void
rounding_settle(const struct op *op, uint8_t *to, size_t count)
{
    if (op->call.name == CALL_ALLREDUCE ||
        op->call.name == CALL_ALLREDUCE_COALESCED)
        loss_round(op->loss, to, count, to);
}

void
rounding_finish(const struct op *op)
{
    const struct plan_shape *shape = &op->shape;
    const size_t *counts = shape->counts;
    size_t first = counts ? 0 : shape->rank * shape->count;

    if (op->call.name != CALL_ALLGATHER && op->call.name != CALL_ALLGATHERV)
        return;
    for (uint32_t rank = 0; counts && rank < shape->rank; rank++)
        first += counts[rank];

    uint8_t *own = op->output + first * sizeof(float);
    loss_round(op->loss, own, counts ? counts[shape->rank] : shape->count, own);
}
