/* engine/deadline.c - operations that nothing moves: ask, then end them */

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "engine/state.h"

static uint64_t
flow_done(const struct step_flow *flow)
{
    return flow->is_receive ? flow->in.arrived : flow->out.handed;
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

/* What the one that is waited for does instead. */
static void
describe_peer(const struct op *op,
              const struct step_flow *flow,
              char text[CALL_TEXT_MAX + 64])
{
    char call[CALL_TEXT_MAX] = "";
    const char *verb = op->is_message ? "it is in" : "it has not called this";
    const char *link = op->is_message ? " " : ", but ";

    if (flow->is_busy)
        call_describe(&flow->busy_with.call,
                      channel_call_number(op->channel, flow->busy_with.offset),
                      call);
    if (step_flow_peer(flow) != op->engine->roster->rank &&
        !transport_is_connected(op->engine->transport, step_flow_peer(flow)))
        snprintf(text, CALL_TEXT_MAX + 64, ", not connected");
    else if (flow->is_busy && flow->busy_with.call.name != CALL_UNKNOWN)
        snprintf(text, CALL_TEXT_MAX + 64, "; %s%s%s", verb, link, call);
    else if (flow->is_busy)
        snprintf(text, CALL_TEXT_MAX + 64, "; %s",
                 op->is_message ? "it is in no call" : verb);
    else if (!op->is_message && !flow->is_answered)
        snprintf(text, CALL_TEXT_MAX + 64,
                 "; it has not called this, or is stopped");
    else
        text[0] = '\0';
}

/* Whom op is waiting for, as far as its flows tell. */
static void
describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct roster *roster = op->engine->roster;
    const struct step_flow *flow = flow_to_blame(op);
    char name[ROSTER_NAME_MAX];

    if (!flow || step_flow_peer(flow) == FLOW_ANY_PEER) {
        snprintf(text, LIMIT_ERROR_TEXT, "%s",
                 flow ? "a message from any rank" : "nobody");
        return;
    }
    const uint32_t peer = step_flow_peer(flow);
    char why[CALL_TEXT_MAX + 64];
    describe_peer(op, flow, why);
    const uint64_t total = flow->is_receive ? flow->in.total : flow->out.total;
    char tag[32] = "";
    /* The library's own say nothing to anybody. */
    if (op->is_message && op->label.tag <= (uint64_t)1 << 62)
        snprintf(tag, sizeof(tag), ", tag %" PRIu64, op->label.tag);
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s %s (%" PRIu64 " of %" PRIu64 " bytes%s%s)",
             roster_name(roster, peer, name),
             flow->is_receive ? "to send" : "to receive", flow_done(flow),
             total, tag, why);
}

static bool
has_all_answers(const struct op *op)
{
    const struct step_flow *flow = flow_to_blame(op);

    return flow && flow->is_answered;
}

/* Ask each that op waits for, once. */
static void
ask_all(struct op *op)
{
    struct step_flow *flow;

    TAILQ_FOREACH(flow, &op->flows, link)
    {
        const struct step_flow *other = TAILQ_FIRST(&op->flows);

        while (other != flow &&
               (step_flow_peer(other) != step_flow_peer(flow) ||
                other->is_receive != flow->is_receive))
            other = TAILQ_NEXT(other, link);
        if (other == flow)
            inquiry_send(flow);
    }
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
            flow->is_busy = false;
        }
        ask_all(op);
    }
    op->deadline_ns = now_ns + OP_ANSWER_NS;
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
 * Nothing comes: perhaps the peer called something else and waits, too, or has
 * nothing to send. It may call later than it was asked: ask again. A message
 * asks once, shortly before its end, what its peer does instead.
 */
static void
op_ask(struct op *op, uint64_t now_ns)
{
    struct step_flow *flow;
    bool has_moved = false;

    if (op->is_message) {
        op->ask_ns = CLOCK_NEVER;
        inquiry_send(&op->message);
        return;
    }
    op->ask_after_ns *= 2;
    if (op->ask_after_ns > OP_ASK_AGAIN_NS)
        op->ask_after_ns = OP_ASK_AGAIN_NS;
    op->ask_ns = now_ns + op->ask_after_ns;
    TAILQ_FOREACH(flow, &op->flows, link)
    {
        has_moved |= flow_done(flow) != flow->n_seen;
        flow->n_seen = flow_done(flow);
    }
    if (!has_moved)
        ask_all(op);
}

uint64_t
op_due_ns(const struct op *op)
{
    if (op->n_graces > 0 || op->ask_ns > op->deadline_ns)
        return op->deadline_ns;
    return op->ask_ns;
}

void
engine_check_deadlines(struct engine *engine, uint64_t now_ns)
{
    uint64_t deadline_ns = CLOCK_NEVER;
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->is_flat && op_due_ns(op) <= now_ns)
            rounds_show(op);
        if (op->deadline_ns <= now_ns && !op_grace(op, now_ns)) {
            op_expire(op, now_ns);
            continue;
        }
        if (op_due_ns(op) <= now_ns)
            op_ask(op, now_ns);
        if (op_due_ns(op) < deadline_ns)
            deadline_ns = op_due_ns(op);
    }
    const uint64_t pulses_ns = engine_feel_pulses(engine, now_ns);
    const uint64_t suspects_ns = engine_check_suspects(engine, now_ns);

    deadline_ns = suspects_ns < deadline_ns ? suspects_ns : deadline_ns;
    deadline_ns = pulses_ns < deadline_ns ? pulses_ns : deadline_ns;
    engine->deadline_ns = deadline_ns;
}
