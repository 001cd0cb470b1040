/*
 * engine/shm_queue.c - the run queues of shared-memory operations
 *
 * In each context only the first operation of the queue may move. Its peers
 * send nothing by a socket: the progress owner polls the shared regions. Before
 * it sleeps it says so in them, so that the peers wake it.
 */

#include "base/error.h"
#include "engine/state.h"
#include "net/wakeup.h"
#include "transport/shm/region.h"

struct op *
shm_queue_first(const struct comm_context *context)
{
    return TAILQ_FIRST(&context->shm_ops);
}

void
shm_queue_add(struct op *op)
{
    struct comm_context *context = op->run.context;
    struct engine *engine = op->engine;

    if (!context->shm_region ||
        (!op->run.algorithm->is_shm && !op->run.chain.next))
        return;
    if (TAILQ_EMPTY(&context->shm_ops))
        TAILQ_INSERT_TAIL(&engine->shm_contexts, context, shm_contexts_link);
    TAILQ_INSERT_TAIL(&context->shm_ops, op, run.shm_queue_link);
    op->run.is_shm_queued = true;
}

void
shm_queue_remove(struct op *op)
{
    struct comm_context *context = op->run.context;

    if (!op->run.is_shm_queued)
        return;
    op->run.is_shm_queued = false;
    /* An operation that ended well has finished its last round. */
    if (shm_queue_first(context) == op && op->run.status != HOOP_OK)
        shm_executor_abort(op);
    TAILQ_REMOVE(&context->shm_ops, op, run.shm_queue_link);
    if (TAILQ_EMPTY(&context->shm_ops)) {
        TAILQ_REMOVE(&op->engine->shm_contexts, context, shm_contexts_link);
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

    TAILQ_FOREACH(context, &engine->shm_contexts, shm_contexts_link)
    {
        if (can_first_op_progress(context))
            op_mark_dirty(shm_queue_first(context));
    }
}

void
shm_queue_stop_sleeping(struct engine *engine)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &engine->shm_contexts, shm_contexts_link)
    {
        shm_region_clear_sleeping(context->shm_region);
    }
    shm_queue_mark_ready(engine);
}

bool
shm_queue_prepare_sleep(struct engine *engine)
{
    struct comm_context *context;

    TAILQ_FOREACH(context, &engine->shm_contexts, shm_contexts_link)
    {
        shm_region_set_sleeping(context->shm_region);
        if (can_first_op_progress(context))
            return false;
    }
    return true;
}

void
shm_queue_skip_failed(const struct op *op)
{
    struct comm_context *context = op->run.context;

    if (context->op_history.failed_newest <= context->last_announced_failed_op)
        return;
    context->last_announced_failed_op = op->run.number - 1;
    shm_region_skip_to_op(context->shm_region, op->run.number);
    shm_queue_wake_peers(context);
}

void
shm_queue_wake_peers(const struct comm_context *context)
{
    uint64_t sleepers = shm_region_take_sleepers(context->shm_region);

    while (sleepers > 0) {
        const unsigned rank = (unsigned)__builtin_ctzll(sleepers);

        sleepers &= sleepers - 1;
        wakeup_signal(
            atomic_load(&context->engine->wakeup_fds[context->ranks[rank]]));
    }
}

enum hoop_status
engine_publish_cma_address(struct engine *engine, struct cma_address *out_place)
{
    pthread_mutex_lock(&engine->lock);
    const enum hoop_status status =
        cma_export_address(&engine->cma_cookie, out_place);
    pthread_mutex_unlock(&engine->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
engine_wakeup_handle(const struct engine *engine,
                     struct wakeup_handle *out_place)
{
    return transport_wakeup_handle(engine->transport, out_place);
}

enum hoop_status
engine_import_wakeup(struct engine *engine,
                     uint32_t rank,
                     const struct wakeup_handle *place)
{
    int none = -1;
    int fd = -1;

    if (atomic_load(&engine->wakeup_fds[rank]) >= 0)
        return HOOP_OK;
    const enum hoop_status status = wakeup_import(place, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    /* In a container of its own the process would have another pid here. */
    atomic_store(&engine->heartbeats[rank].is_process_visible_by_pid,
                 place->pid == engine->roster->members[rank].pid);
    /* Another thread may have been faster, for another communicator. */
    if (!atomic_compare_exchange_strong(&engine->wakeup_fds[rank], &none, fd))
        descriptor_close(fd);
    return HOOP_OK;
}

void
context_set_shm_region(struct comm_context *context,
                       struct shm_region *shm_region)
{
    context->cached_op = op_alloc(context, NULL);
    /* The progress owner may be looking for departed peers:
     * engine/failure/departure.c. */
    pthread_mutex_lock(&context->engine->lock);
    context->shm_region = shm_region;
    pthread_mutex_unlock(&context->engine->lock);
}

struct plan_shm_region
context_plan_shm_region(const struct comm_context *context)
{
    return (struct plan_shm_region){
        .slot_capacity = context_shm_slot_bytes(context),
        .has_cma =
            context->shm_region && shm_region_has_cma(context->shm_region),
    };
}

size_t
context_shm_slot_bytes(const struct comm_context *context)
{
    return context->shm_region ? shm_region_bytes_per_slot(context->shm_region)
                               : 0;
}
