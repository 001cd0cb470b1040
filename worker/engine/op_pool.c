/*
 * engine/op_pool.c - keeps operations that have ended for later calls
 *
 * A pooled operation keeps its plan, its scratch memory and its flows, so that
 * a repeated call allocates nothing.
 */

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/state.h"
#include "engine/wire_loss.h"

enum {
    /* A longer search would cost more than planning. */
    OP_POOL_SEARCH_MAX = 4,
};

/* Find an operation, preferably one that still has this call's plan. The caller
 * holds the lock. */
static struct op *
op_pool_find(const struct engine *engine,
             const struct comm_context *context,
             const struct algorithm *algorithm)
{
    struct op *op = TAILQ_FIRST(&engine->op_pool);

    for (unsigned i = 0; op && i < OP_POOL_SEARCH_MAX; i++) {
        if (op->algorithm == algorithm && op->context_id == context->id)
            return op;
        op = TAILQ_NEXT(op, link);
    }
    return TAILQ_FIRST(&engine->op_pool);
}

/* Returns false if the pool is full. */
static bool
op_pool_put(struct engine *engine, struct op *op)
{
    pthread_mutex_lock(&engine->lock);
    const bool is_wanted = engine->n_pooled < LIMIT_POOLED_OPS;

    if (is_wanted) {
        TAILQ_INSERT_HEAD(&engine->op_pool, op, link);
        engine->n_pooled++;
    }
    pthread_mutex_unlock(&engine->lock);
    return is_wanted;
}

/* Take the operation that ended last if it has this call's plan. */
static struct op *
op_pool_take_last(const struct comm_context *context,
                  const struct algorithm *algorithm)
{
    struct engine *engine = context->engine;
    struct op *op = atomic_exchange(&engine->kept, NULL);

    /* A message needs no plan and leaves it in place. */
    if (!op || !algorithm ||
        (op->algorithm == algorithm && op->context_id == context->id))
        return op;
    if (!op_pool_put(engine, op))
        op_destroy(op);
    return NULL;
}

static struct op *
op_pool_take(const struct comm_context *context,
             const struct algorithm *algorithm)
{
    struct engine *engine = context->engine;
    struct op *op = op_pool_take_last(context, algorithm);

    if (op)
        return op;
    pthread_mutex_lock(&engine->lock);
    op = op_pool_find(engine, context, algorithm);
    if (op) {
        TAILQ_REMOVE(&engine->op_pool, op, link);
        engine->n_pooled--;
    }
    pthread_mutex_unlock(&engine->lock);
    return op;
}

struct op *
op_alloc(struct comm_context *context, const struct algorithm *algorithm)
{
    struct op *op = op_pool_take(context, algorithm);

    if (!op) {
        op = calloc(1, sizeof(*op));
        if (!op)
            return NULL;
        TAILQ_INIT(&op->step_flows);
        TAILQ_INIT(&op->free_flows);
    }
    /* Another context's members may have lain at the same address. */
    if (op->context_id != context->id)
        tracker_invalidate_plan(&op->tracker);
    op->engine = context->engine;
    op->context = context;
    op->context_id = context->id;
    op->state = OP_NEW;
    op->n_deadline_extensions = 0;
    op->status = HOOP_OK;
    op->waiter = NULL;
    op->notified_fd = -1;
    op->partner = NULL;
    op->received = NULL;
    op->label.faults = 0;
    op->stage = 0;
    op->is_begun_by_waiter = false;
    op->is_call_check_stage = false;
    op->is_shm = false;
    op->is_inline = false;
    op->rounds.n_rounds_done_inline = 0;
    op->rounds.was_next_round_posted = false;
    op->rounds.is_wake_pending = false;
    atomic_init(&op->is_cancelled, false);
    memset(op->signatures, 0, sizeof(op->signatures));
    op->started_ns = clock_now_ns();
    op->query_interval_ns = OP_QUERY_INTERVAL_FIRST_NS;
    op->next_query_ns = op->started_ns + op->query_interval_ns;
    op->time_limit_ns = atomic_load(&context->timeout_ms) * CLOCK_NS_PER_MS;
    op->deadline_ns = op->started_ns + op->time_limit_ns;
    op->purpose = atomic_load(&context->purpose);
    straggler_warning_plan(op);
    atomic_init(&op->is_done, false);
    return op;
}

void
op_destroy(struct op *op)
{
    residual_drop(op);
    executor_deinit(op);
    free(op);
}

void
op_free(struct op *op)
{
    struct engine *engine = op->engine;
    struct op *none = NULL;

    op_chain_deinit(&op->chain);
    if (op->status == HOOP_OK)
        residual_return_to_context(op);
    residual_drop(op);
    if (op->scratch_capacity <= LIMIT_POOLED_SCRATCH &&
        (atomic_compare_exchange_strong(&engine->kept, &none, op) ||
         op_pool_put(engine, op)))
        return;
    op_destroy(op);
}
