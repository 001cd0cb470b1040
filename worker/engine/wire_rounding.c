/* engine/wire_rounding.c - collectives whose floats lose bits on the wire */

#include "engine/wire_rounding.h"

#include "engine/residual.h"

enum {
    /* Elements rounded at once: both operands stay in the L1 cache, and fit on
     * a small stack. */
    ROUNDED = 512
};

struct wire_rounding_part {
    size_t at; /* in bytes */
    size_t count;
    uint8_t *room;
};

enum codec_loss
wire_rounding_of(const struct op *op)
{
    return op->is_checking ? LOSS_NONE : op->loss;
}

/* Returns the part of operand rounded in room, or as it is if it arrived
 * rounded. */
static const uint8_t *
rounded(const struct op *op,
        const struct wire_rounding_operands *operands,
        const uint8_t *operand,
        const struct wire_rounding_part *part)
{
    if (operand == operands->arrived)
        return operand + part->at;
    loss_round(op->loss, operand + part->at, part->count, part->room);
    return part->room;
}

void
wire_rounding_combine(const struct op *op,
                      const struct wire_rounding_operands *operands,
                      uint8_t *to,
                      size_t count)
{
    uint8_t left[ROUNDED * sizeof(float)];
    uint8_t right[ROUNDED * sizeof(float)];

    /* What arrived is rounded already, and what lies here is never sent as it
     * is. */
    if (op->loss == LOSS_INT8) {
        op->reduce(to, operands->left, operands->right, count);
        return;
    }
    for (size_t i = 0; i < count; i += ROUNDED) {
        const size_t n = count - i < ROUNDED ? count - i : ROUNDED;
        const size_t at = i * sizeof(float);

        op->reduce(to + at,
                   rounded(op, operands, operands->left,
                           &(struct wire_rounding_part){at, n, left}),
                   rounded(op, operands, operands->right,
                           &(struct wire_rounding_part){at, n, right}),
                   n);
    }
}

void
wire_rounding_finish_block(const struct op *op, uint8_t *to, size_t count)
{
    if (op->loss == LOSS_INT8)
        residual_finish_block(op, to, count);
    else if (op->call.name == CALL_ALLREDUCE ||
             op->call.name == CALL_ALLREDUCE_COALESCED)
        loss_round(op->loss, to, count, to);
}

void
wire_rounding_finish(const struct op *op)
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
