/*
 * engine/shm_queue.c - the run queues of shared-memory operations
 *
 * In each context only the first operation of the queue may move. Its peers
 * send nothing by a socket: the progress owner polls the shared regions. Before
 * it sleeps it says so in them, so that the peers wake it.
 */

#include "engine/shm_queue.h"

#include "engine/shm_executor.h"
#include "engine/state.h"
#include "transport/shm/region.h"

void
shm_queue_add(struct op *op)
{
    struct comm_context *context = op->run.context;
    struct engine *engine = op->engine;

    if (!op->run.algorithm->is_shm && !op->run.chain.next)
        return;
    if (TAILQ_EMPTY(&context->shm_ops))
        TAILQ_INSERT_TAIL(&engine->contexts.shm_running, context,
                          shm_contexts_link);
    TAILQ_INSERT_TAIL(&context->shm_ops, op, run.shm_queue_link);
    op->run.is_shm_queued = true;
}

void
shm_queue_remove(struct op *op)
{
    struct comm_context *context = op->run.context;

    op->run.is_shm_queued = false;
    /* An operation that ended well has finished its last round. */
    if (shm_queue_first(context) == op && op->run.status != HOOP_OK)
        shm_executor_abort(op);
    TAILQ_REMOVE(&context->shm_ops, op, run.shm_queue_link);
    if (TAILQ_EMPTY(&context->shm_ops)) {
        TAILQ_REMOVE(&op->engine->contexts.shm_running, context,
                     shm_contexts_link);
        shm_region_clear_sleeping(context->shm_region);
        return;
    }
    op_mark_dirty(shm_queue_first(context));
}

static bool
can_first_op_progress(const struct comm_context *context)
{
    const struct op *op = shm_queue_first(context);

    return op_is_shm(op) && op->run.state == OP_RUNNING &&
           shm_executor_can_progress(op);
}

void
shm_queue_mark_ready(struct engine *engine)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &engine->contexts.shm_running, shm_contexts_link)
    {
        if (can_first_op_progress(context))
            op_mark_dirty(shm_queue_first(context));
    }
}

void
shm_queue_stop_sleeping(struct engine *engine)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &engine->contexts.shm_running, shm_contexts_link)
    {
        shm_region_clear_sleeping(context->shm_region);
    }
    shm_queue_mark_ready(engine);
}

bool
shm_queue_prepare_sleep(struct engine *engine)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &engine->contexts.shm_running, shm_contexts_link)
    {
        shm_region_set_sleeping(context->shm_region);
        if (can_first_op_progress(context))
            return false;
    }
    return true;
}
