/*
 * engine/stranded.c - operations that wait for somebody who is gone
 *
 * A rank that leaves in good order has ended its own operations; whoever still
 * waits for it waits in vain. Why it left may be known here, and is said, too.
 */

#include <stdio.h>
#include <string.h>

#include "engine/state.h"

/* The flow cannot end: its peer left before it sent or took everything. */
static bool
is_stranded(const struct engine *engine, const struct step_flow *flow)
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
is_deserted(const struct op *op)
{
    const struct engine *engine = op->engine;

    /* Alone, a rank has never had anybody but itself to hear from. */
    if (op->message.in.key.peer != FLOW_ANY_PEER || op->channel->size == 1)
        return false;
    for (uint32_t i = 0; i < op->channel->size; i++) {
        if (i != op->channel->rank &&
            !engine->lost[op->channel->ranks[i]].has_left)
            return false;
    }
    return true;
}

/* Who leaves early may have had a reason that is known here. */
static struct verdict
leaver_verdict(const struct engine *engine, uint32_t leaver)
{
    char name[ROSTER_NAME_MAX];
    struct verdict verdict =
        verdict_of(HOOP_E_PEER_LOST, leaver, "%s has left the job",
                   roster_name(engine->roster, leaver, name));
    const size_t n_text = strlen(verdict.why);

    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        if (!engine->lost[rank].is_lost)
            continue;
        snprintf(verdict.why + n_text, sizeof(verdict.why) - n_text,
                 "; before that %s %s%s",
                 roster_name(engine->roster, rank, name),
                 engine->lost[rank].has_given_up ? "" : "was lost: ",
                 engine->lost[rank].why);
        break;
    }
    return verdict;
}

bool
op_stranded(struct op *op, struct verdict *out_verdict)
{
    const struct engine *engine = op->engine;

    if (engine->n_left == 0)
        return false;
    if (op->is_shm)
        rounds_show(op);
    const struct step_flow *flow =
        op->is_message ? &op->message : TAILQ_FIRST(&op->flows);
    if (op->is_message && op->message.is_receive && is_deserted(op)) {
        *out_verdict = verdict_of(HOOP_E_PEER_LOST, HOOP_NO_RANK,
                                  "every other rank has left the job");
        return true;
    }
    for (; flow; flow = op->is_message ? NULL : TAILQ_NEXT(flow, link)) {
        if (!is_stranded(engine, flow))
            continue;
        *out_verdict = leaver_verdict(engine, step_flow_peer(flow));
        return true;
    }
    return false;
}
