/*
 * engine/op_pool.c - keeps operations that have ended for later calls
 *
 * A pooled operation keeps its plan, its scratch memory and its flows, so that
 * a repeated call allocates nothing.
 */

#include "engine/op_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/executor.h"
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
    struct op *op = TAILQ_FIRST(&engine->pool.ops);

    for (unsigned i = 0; op && i < OP_POOL_SEARCH_MAX; i++) {
        if (op->cache.algorithm == algorithm &&
            op->cache.context_id == context->id)
            return op;
        op = TAILQ_NEXT(op, link);
    }
    return TAILQ_FIRST(&engine->pool.ops);
}

/* Returns false if the pool is full. */
static bool
op_pool_put(struct engine *engine, struct op *op)
{
    pthread_mutex_lock(&engine->lock);
    const bool is_wanted = engine->pool.n_ops < LIMIT_POOLED_OPS;

    if (is_wanted) {
        TAILQ_INSERT_HEAD(&engine->pool.ops, op, link);
        engine->pool.n_ops++;
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
    struct op *op = atomic_exchange(&engine->pool.kept, NULL);

    /* A message needs no plan and leaves it in place. */
    if (!op || !algorithm ||
        (op->cache.algorithm == algorithm &&
         op->cache.context_id == context->id))
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
        TAILQ_REMOVE(&engine->pool.ops, op, link);
        engine->pool.n_ops--;
    }
    pthread_mutex_unlock(&engine->lock);
    return op;
}

void
op_begin_wait(struct op *op, uint64_t started_ns)
{
    const struct comm_context *context = op->run.context;
    const uint64_t time_limit_ns =
        atomic_load(&context->timeout_ms) * CLOCK_NS_PER_MS;

    op->run.wait = (struct op_wait){
        .started_ns = started_ns,
        .time_limit_ns = time_limit_ns,
        .deadline_ns = started_ns + time_limit_ns,
        .next_query_ns = started_ns + OP_QUERY_INTERVAL_FIRST_NS,
        .query_interval_ns = OP_QUERY_INTERVAL_FIRST_NS,
        .purpose = atomic_load(&context->purpose),
    };
    straggler_warning_plan(op);
}

struct op *
op_alloc(struct comm_context *context, const struct algorithm *algorithm)
{
    struct op *op = op_pool_take(context, algorithm);

    if (!op) {
        op = calloc(1, sizeof(*op));
        if (!op)
            return NULL;
        op->engine = context->engine;
        TAILQ_INIT(&op->cache.free_flows);
    }
    /* Another context's members may have lain at the same address. */
    if (op->cache.context_id != context->id)
        tracker_invalidate_plan(&op->cache.tracker);
    op->cache.context_id = context->id;
    op->run = (struct op_run){
        .context = context,
        .step_flows = TAILQ_HEAD_INITIALIZER(op->run.step_flows),
        .notified_fd = -1,
    };
    op_begin_wait(op, clock_now_ns());
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
op_chain_deinit(struct chain *chain)
{
    if (chain->destroy)
        chain->destroy(chain->owner);
    memset(chain, 0, sizeof(*chain));
}

void
op_free(struct op *op)
{
    struct engine *engine = op->engine;
    struct op *none = NULL;

    op_chain_deinit(&op->run.chain);
    if (!op_is_message(op))
        op->cache.algorithm = op->run.algorithm;
    if (op->run.residual && op->run.status == HOOP_OK)
        residual_return_to_context(op);
    else if (op->run.residual)
        residual_drop(op);
    if (op->cache.scratch_capacity <= LIMIT_POOLED_SCRATCH &&
        (atomic_compare_exchange_strong(&engine->pool.kept, &none, op) ||
         op_pool_put(engine, op)))
        return;
    op_destroy(op);
}
