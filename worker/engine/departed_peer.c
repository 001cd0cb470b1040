/*
 * engine/departed_peer.c - operations that wait for a rank that has left
 *
 * A rank that leaves in good order has ended its own operations, so an
 * operation that still waits for it cannot end. If it is known why the rank
 * left, the failure says so.
 */

#include <stdio.h>
#include <string.h>

#include "engine/state.h"

/* Returns whether flow cannot end because its peer left before it sent or took
 * everything. */
static bool
waits_for_departed(const struct engine *engine, const struct step_flow *flow)
{
    const uint32_t peer = step_flow_peer(flow);

    if (peer == FLOW_ANY_PEER || !engine->lost[peer].has_left)
        return false;
    return flow->is_receive
               ? !transport_has_all(&flow->in)
               : flow->out.framed < flow->out.total || !flow->out.is_opened ||
                     flow->out.is_unconfirmed ||
                     (flow->out.handed < flow->out.total &&
                      transport_is_gone(engine->transport, peer));
}

static bool
has_no_source_left(const struct op *op)
{
    const struct engine *engine = op->engine;

    /* A single rank never had any source but itself. */
    if (op->message.in.key.peer != FLOW_ANY_PEER || op->context->size == 1)
        return false;
    for (uint32_t i = 0; i < op->context->size; i++) {
        if (i != op->context->rank &&
            !engine->lost[op->context->ranks[i]].has_left)
            return false;
    }
    return true;
}

/* A rank that left early may have done so because of a loss that is known
 * here. */
static struct failure_notice
departed_failure(const struct engine *engine, uint32_t departed)
{
    char name[ROSTER_NAME_MAX];
    struct failure_notice failure_notice =
        failure_make(HOOP_E_PEER_LOST, departed, "%s has left the job",
                     roster_name(engine->roster, departed, name));
    const size_t n_text = strlen(failure_notice.why);

    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        if (!engine->lost[rank].is_lost)
            continue;
        snprintf(failure_notice.why + n_text,
                 sizeof(failure_notice.why) - n_text, "; before that %s %s%s",
                 roster_name(engine->roster, rank, name),
                 engine->lost[rank].has_given_up ? "" : "was lost: ",
                 engine->lost[rank].why);
        break;
    }
    return failure_notice;
}

bool
op_waits_for_departed(struct op *op, struct failure_notice *out_notice)
{
    const struct engine *engine = op->engine;

    if (engine->n_left == 0)
        return false;
    if (op->is_shm)
        shm_executor_list_awaited(op);
    const struct step_flow *flow =
        op->is_message ? &op->message : TAILQ_FIRST(&op->flows);
    if (op->is_message && op->message.is_receive && has_no_source_left(op)) {
        *out_notice = failure_make(HOOP_E_PEER_LOST, HOOP_NO_RANK,
                                   "every other rank has left the job");
        return true;
    }
    for (; flow; flow = op->is_message ? NULL : TAILQ_NEXT(flow, link)) {
        if (!waits_for_departed(engine, flow))
            continue;
        *out_notice = departed_failure(engine, step_flow_peer(flow));
        return true;
    }
    return false;
}
