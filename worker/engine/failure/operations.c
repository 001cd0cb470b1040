/* engine/failure/operations.c - finds the operations that a failure concerns */

#include "engine/failure/operations.h"

#include "engine/state.h"

struct comm_context *
engine_find_context(struct engine *engine, uint64_t id)
{
    struct comm_context *context;

    pthread_mutex_lock(&engine->lock);
    TAILQ_FOREACH(context, &engine->contexts.open, link)
    {
        if (context->id == id)
            break;
    }
    pthread_mutex_unlock(&engine->lock);
    return context;
}

bool
context_has_member(const struct comm_context *context, uint32_t world_rank)
{
    /* Fast path for the world's communicator and those that begin like it. */
    if (world_rank < context->size && context->ranks[world_rank] == world_rank)
        return true;
    for (uint32_t i = 0; i < context->size; i++) {
        if (context->ranks[i] == world_rank)
            return true;
    }
    return false;
}

bool
op_needs_rank(const struct op *op, uint32_t world_rank)
{
    if (!op_is_message(op) || world_rank == op->engine->roster->rank)
        return context_has_member(op->run.context, world_rank);

    const uint32_t peer = step_flow_peer(&op->message.flow);
    return peer == world_rank ||
           (peer == FLOW_ANY_PEER &&
            context_has_member(op->run.context, world_rank));
}

/* Collectives begin in the order of their numbers, and the list is in the order
 * in which they began. */
struct op *
context_find_running_op(const struct comm_context *context, uint64_t number)
{
    struct op *op;

    TAILQ_FOREACH(op, &context->engine->progress.running, link)
    {
        if (op->run.context == context && !op_is_message(op) &&
            op->run.number >= number)
            return op->run.number == number ? op : NULL;
    }
    return NULL;
}

bool
op_receives_from(const struct op *op, uint32_t source, uint64_t tag)
{
    const struct recv_request *in = &op->message.flow.in;

    return op_is_message(op) && op->message.flow.is_receive &&
           !in->is_matched && op->run.label.tag == tag &&
           (in->key.peer == source || in->key.peer == FLOW_ANY_PEER);
}
