/* engine/wire_loss.c - collectives whose floats lose bits on the wire */

#include "engine/wire_loss.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "codec/error_feedback.h"
#include "engine/state.h"
#include "plan/topology.h"

/* The residual of one tensor. given and made share one allocation. */
struct residual {
    TAILQ_ENTRY(residual) link;
    const void *place;
    enum call_name name;
    uint64_t signature;
    size_t n_input_residuals;
    size_t
        n_output_residuals; /* 0: the blocks that this rank owns are not sent on */
    uint8_t *given;
    uint8_t *made;
};

static size_t
residual_bytes(const struct residual *residual)
{
    return (residual->n_input_residuals + residual->n_output_residuals) *
           sizeof(float);
}

static void
residual_destroy(struct residual *residual)
{
    if (residual)
        free(residual->given);
    free(residual);
}

static bool
is_allreduce(const struct op *op)
{
    return op->run.label.call.name == CALL_ALLREDUCE ||
           op->run.label.call.name == CALL_ALLREDUCE_COALESCED;
}

/* Returns the block of the reduction that rank owns. */
static struct plan_span
op_reduction_block_of_rank(const struct op *op, uint32_t rank)
{
    return is_allreduce(op)
               ? partition_block_span(&op->run.shape, PLAN_INPUT, rank)
               : caller_block_span(&op->run.shape, PLAN_INPUT, rank);
}

/* Zeroed: nothing has been lost yet. */
static struct residual *
residual_create(const struct op *op, const void *place)
{
    const struct plan_span last =
        op_reduction_block_of_rank(op, op->run.shape.size - 1);
    struct residual *residual = calloc(1, sizeof(*residual));

    if (!residual)
        return NULL;
    residual->place = place;
    residual->name = (enum call_name)op->run.label.call.name;
    residual->signature = op->run.label.signature;
    residual->n_input_residuals = last.first + last.count;
    residual->n_output_residuals =
        is_allreduce(op)
            ? op_reduction_block_of_rank(op, op->run.shape.rank).count
            : 0;
    residual->given = calloc(1, residual_bytes(residual) + 1);
    residual->made =
        residual->given + residual->n_input_residuals * sizeof(float);
    if (residual->given)
        return residual;
    residual_destroy(residual);
    return NULL;
}

/* The caller holds the lock. */
static void
residual_remove(struct residuals *residuals, struct residual *residual)
{
    TAILQ_REMOVE(&residuals->list, residual, link);
    residuals->n--;
    residuals->n_bytes -= residual_bytes(residual);
}

/* Remove the tensor's residual from the list and return it. One of another
 * signature at the same place is stale and returned in *out_stale. The caller
 * holds the lock. */
static struct residual *
residual_take(const struct op *op,
              const void *place,
              struct residual **out_stale)
{
    struct residuals *residuals = &op->run.context->residuals;
    struct residual *residual;

    TAILQ_FOREACH(residual, &residuals->list, link)
    {
        if (residual->place == place &&
            residual->name == (enum call_name)op->run.label.call.name)
            break;
    }
    *out_stale = NULL;
    if (!residual)
        return NULL;
    residual_remove(residuals, residual);
    if (residual->signature == op->run.label.signature)
        return residual;
    *out_stale = residual;
    return NULL;
}

/* Compute what is sent of all blocks. This rank's own block is copied, because
 * it is not sent. */
static void
residual_compute_sent(const struct op *op, struct residual *residual)
{
    for (uint32_t rank = 0; rank < op->run.shape.size; rank++) {
        const struct plan_span block = op_reduction_block_of_rank(op, rank);
        const size_t at = block.first * sizeof(float);

        if (block.count == 0)
            continue;
        if (rank == op->run.shape.rank)
            memcpy(residual->given + at, op->run.input + at,
                   block.count * sizeof(float));
        else
            error_feedback_apply(op->run.loss, op->run.input + at, block.count,
                                 residual->given + at);
    }
}

enum hoop_status
residual_apply_to_input(struct op *op, const void *place)
{
    struct engine *engine = op->engine;
    struct residual *stale;

    pthread_mutex_lock(&engine->lock);
    struct residual *residual = residual_take(op, place, &stale);
    pthread_mutex_unlock(&engine->lock);
    residual_destroy(stale);
    if (!residual)
        residual = residual_create(op, place);
    if (!residual)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep what %zu floats lose",
                           op->run.shape.count);
    residual_compute_sent(op, residual);
    op->run.residual = residual;
    op->run.input = residual->given;
    op->run.shape.is_in_place = false;
    return HOOP_OK;
}

/* count floats at to, in the block that this rank owns, are finished: add what
 * was lost there last time, and round them. */
static void
residual_finish_block(const struct op *op, uint8_t *to, size_t count)
{
    const struct residual *residual = op->run.residual;
    const size_t first =
        op_reduction_block_of_rank(op, op->run.shape.rank).first *
        sizeof(float);
    const size_t at = (size_t)(to - op->run.output) - first;

    if (residual->n_output_residuals == 0)
        return;
    error_feedback_apply(op->run.loss, to, count, residual->made + at);
    loss_round(op->run.loss, residual->made + at, count, to);
}

/* Remove and return the least recently used residual if there are too many;
 * else NULL. The caller holds the lock. */
static struct residual *
residuals_evict_oldest(struct residuals *residuals)
{
    struct residual *oldest = TAILQ_LAST(&residuals->list, residual_list);

    if (residuals->n <= LIMIT_RESIDUALS &&
        residuals->n_bytes <= LIMIT_RESIDUAL_BYTES)
        return NULL;
    residual_remove(residuals, oldest);
    return oldest;
}

/* Returns NULL if the context has been closed. The caller holds the lock. */
static struct comm_context *
op_open_context(const struct op *op)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &op->engine->contexts.open, link)
    {
        if (context->id == op->cache.context_id)
            return context;
    }
    return NULL;
}

/* Add residual, and move those that it displaces to out_dropped. The caller
 * holds the lock. */
static void
residual_insert(struct residuals *residuals,
                struct residual *residual,
                struct residual_list *out_dropped)
{
    struct residual *oldest;

    TAILQ_INSERT_HEAD(&residuals->list, residual, link);
    residuals->n++;
    residuals->n_bytes += residual_bytes(residual);
    while ((oldest = residuals_evict_oldest(residuals)))
        TAILQ_INSERT_TAIL(out_dropped, oldest, link);
}

static void
residuals_destroy(struct residual_list *list)
{
    struct residual *residual;

    while ((residual = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, residual, link);
        residual_destroy(residual);
    }
}

void
residual_return_to_context(struct op *op)
{
    struct residual_list dropped = TAILQ_HEAD_INITIALIZER(dropped);

    pthread_mutex_lock(&op->engine->lock);
    struct comm_context *context = op_open_context(op);
    if (context)
        residual_insert(&context->residuals, op->run.residual, &dropped);
    pthread_mutex_unlock(&op->engine->lock);
    if (context)
        op->run.residual = NULL;
    residual_drop(op);
    residuals_destroy(&dropped);
}

void
residual_drop(struct op *op)
{
    residual_destroy(op->run.residual);
    op->run.residual = NULL;
}

void
residuals_clear(struct comm_context *context)
{
    residuals_destroy(&context->residuals.list);
}

enum {
    /* Elements rounded at once: both operands stay in the L1 cache, and fit on
     * a small stack. */
    ROUNDING_CHUNK_ELEMENTS = 512
};

struct wire_rounding_part {
    size_t at; /* in bytes */
    size_t count;
    uint8_t *room;
};

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
    loss_round(op->run.loss, operand + part->at, part->count, part->room);
    return part->room;
}

void
wire_rounding_combine(const struct op *op,
                      const struct wire_rounding_operands *operands,
                      uint8_t *to,
                      size_t count)
{
    uint8_t left[ROUNDING_CHUNK_ELEMENTS * sizeof(float)];
    uint8_t right[ROUNDING_CHUNK_ELEMENTS * sizeof(float)];

    /* What arrived is rounded already, and what lies here is never sent as it
     * is. */
    if (op->run.loss == LOSS_INT8) {
        op->run.reduce(to, operands->left, operands->right, count);
        return;
    }
    for (size_t i = 0; i < count; i += ROUNDING_CHUNK_ELEMENTS) {
        const size_t n = count - i < ROUNDING_CHUNK_ELEMENTS
                             ? count - i
                             : ROUNDING_CHUNK_ELEMENTS;
        const size_t at = i * sizeof(float);

        op->run.reduce(to + at,
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
    if (op->run.loss == LOSS_INT8)
        residual_finish_block(op, to, count);
    else if (op->run.label.call.name == CALL_ALLREDUCE ||
             op->run.label.call.name == CALL_ALLREDUCE_COALESCED)
        loss_round(op->run.loss, to, count, to);
}

void
wire_rounding_finish(const struct op *op)
{
    const struct plan_shape *shape = &op->run.shape;
    const size_t *counts = shape->counts;
    size_t first = counts ? 0 : shape->rank * shape->count;

    if (op->run.label.call.name != CALL_ALLGATHER &&
        op->run.label.call.name != CALL_ALLGATHERV)
        return;
    for (uint32_t rank = 0; counts && rank < shape->rank; rank++)
        first += counts[rank];

    uint8_t *own = op->run.output + first * sizeof(float);
    loss_round(op->run.loss, own, counts ? counts[shape->rank] : shape->count,
               own);
}
