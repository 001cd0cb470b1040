/* engine/deadline.c - operations that nothing moves: ask, then end them */

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "engine/state.h"

/* Long for a network, short for a person. */
static const uint64_t ASK_AFTER_NS = 100000000;

/* What an answer to the last question may take. */
static const uint64_t GRACE_NS = 250000000;

static uint32_t
flow_peer(const struct step_flow *flow)
{
    return flow->is_receive ? flow->in.key.peer : flow->out.key.peer;
}

/* The one to blame: whoever has not answered, else the first. NULL: none. */
static const struct step_flow *
flow_to_blame(const struct op *op)
{
    const struct step_flow *flow;

    if (op->is_message)
        return &op->message;
    TAILQ_FOREACH(flow, &op->flows, link)
    {
        if (!flow->is_answered)
            return flow;
    }
    return TAILQ_FIRST(&op->flows);
}

/* Whom op is waiting for, as far as its flows tell. */
static void
describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct roster *roster = op->engine->roster;
    const struct step_flow *flow = flow_to_blame(op);
    char name[ROSTER_NAME_MAX];

    if (!flow || flow_peer(flow) == FLOW_ANY_PEER) {
        snprintf(text, LIMIT_ERROR_TEXT, "%s",
                 flow ? "a message from any rank" : "nobody");
        return;
    }
    const uint32_t peer = flow_peer(flow);
    const char *why = "";
    if (!transport_is_connected(op->engine->transport, peer))
        why = ", not connected";
    else if (!op->is_message && !flow->is_answered)
        why = "; it has not called this, or is stopped";
    const uint64_t done =
        flow->is_receive ? flow->in.arrived : flow->out.handed;
    const uint64_t total = flow->is_receive ? flow->in.total : flow->out.total;
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s %s (%" PRIu64 " of %" PRIu64 " bytes%s)",
             roster_name(roster, peer, name),
             flow->is_receive ? "to send" : "to receive", done, total, why);
}

static void
heartbeat(const struct channel *channel,
          uint32_t peer,
          uint64_t number,
          uint32_t flags)
{
    const struct frame frame = {
        .kind = FRAME_HEARTBEAT,
        .flags = flags,
        .epoch = channel->engine->roster->epoch,
        .comm = channel->id,
        .op = number,
    };

    transport_tell(channel->engine->transport, peer, &frame, NULL);
}

void
engine_asked(struct channel *channel, uint32_t peer, uint64_t number)
{
    if (number < atomic_load(&channel->op_next))
        heartbeat(channel, peer, number, 0);
}

void
engine_answered(struct channel *channel, uint32_t peer, uint64_t number)
{
    struct op *op;
    struct step_flow *flow;

    TAILQ_FOREACH(op, &channel->engine->running, link)
    {
        if (op->channel != channel || op->is_message || op->number != number)
            continue;
        TAILQ_FOREACH(flow, &op->flows, link)
        {
            if (flow_peer(flow) == peer)
                flow->is_answered = true;
        }
    }
}

static bool
has_all_answers(const struct op *op)
{
    const struct step_flow *flow = flow_to_blame(op);

    return flow && flow->is_answered;
}

/*
 * The deadline has come. Whoever is waited for may wait itself, for the rank
 * that never called: ask, and put the end off until the answers are here. A
 * rank whose neighbours have all answered lets those speak first who know of
 * one that has not. True when op is to wait on.
 */
static bool
op_grace(struct op *op, uint64_t now_ns)
{
    struct step_flow *flow;

    if (op->is_message || op->n_graces == 2 ||
        (op->n_graces == 1 && !has_all_answers(op)))
        return false;
    if (op->n_graces++ == 0) {
        TAILQ_FOREACH(flow, &op->flows, link)
        {
            flow->is_answered = false;
            heartbeat(op->channel, flow_peer(flow), op->number, FRAME_ASKS);
        }
    }
    op->deadline_ns = now_ns + GRACE_NS;
    return true;
}

static void
op_expire(struct op *op, uint64_t now_ns)
{
    const struct roster *roster = op->engine->roster;
    char whom[LIMIT_ERROR_TEXT];
    char name[ROSTER_NAME_MAX];
    char text[LIMIT_ERROR_TEXT];

    describe_wait(op, whom);
    snprintf(text, sizeof(text),
             "%s timed out after %.1f s, waiting for %.500s",
             roster_name(roster, roster->rank, name),
             (double)(now_ns - op->started_ns) / (double)CLOCK_NS_PER_S, whom);
    op_fail(op, HOOP_E_TIMEOUT, text);
}

/*
 * Nothing comes: perhaps the peer called something else and waits, too. A
 * grant says what was called here, also where the bytes would need none.
 */
static void
op_ask(struct op *op)
{
    struct step_flow *flow;

    op->has_asked = true;
    TAILQ_FOREACH(flow, &op->flows, link)
    {
        if (!flow->is_receive || flow->in.arrived > 0)
            continue;
        flow->in.is_announced = true;
        transport_receive_more(op->engine->transport, &flow->in);
    }
}

uint64_t
op_due_ns(const struct op *op)
{
    const uint64_t ask_ns = op->started_ns + ASK_AFTER_NS;

    if (op->is_message || op->has_asked || ask_ns > op->deadline_ns)
        return op->deadline_ns;
    return ask_ns;
}

void
engine_check_deadlines(struct engine *engine, uint64_t now_ns)
{
    uint64_t deadline_ns = CLOCK_NEVER;
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->deadline_ns <= now_ns && !op_grace(op, now_ns)) {
            op_expire(op, now_ns);
            continue;
        }
        if (op_due_ns(op) <= now_ns)
            op_ask(op);
        if (op_due_ns(op) < deadline_ns)
            deadline_ns = op_due_ns(op);
    }
    engine->deadline_ns = deadline_ns;
}
