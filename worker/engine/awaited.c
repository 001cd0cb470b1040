/*
 * engine/awaited.c - whom an operation waits for, in words
 *
 * Every failure tells it, and every warning: the rank that is waited for, what
 * it does instead as far as it has said, and how much of its time has gone.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/patience.h"
#include "engine/state.h"

/* The one to blame: whoever has not answered, else the first. NULL: none. */
const struct step_flow *
op_awaited(const struct op *op)
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

/* state: what flow's peer does; flow may be NULL. */
static void
describe_flow(const struct op *op,
              const struct step_flow *flow,
              const char *state,
              char text[LIMIT_ERROR_TEXT])
{
    char name[ROSTER_NAME_MAX];
    char tag[32] = "";

    if (!flow || step_flow_peer(flow) == FLOW_ANY_PEER) {
        snprintf(text, LIMIT_ERROR_TEXT, "%s",
                 flow ? "a message from any rank" : "nobody");
        return;
    }
    const uint64_t total = flow->is_receive ? flow->in.total : flow->out.total;
    /* The library's own say nothing to anybody. */
    if (op->is_message && op->label.tag <= (uint64_t)1 << 62)
        snprintf(tag, sizeof(tag), ", tag %" PRIu64, op->label.tag);
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s %s (%" PRIu64 " of %" PRIu64 " bytes%s%s)",
             roster_name(op->engine->roster, step_flow_peer(flow), name),
             flow->is_receive ? "to send" : "to receive", step_flow_done(flow),
             total, tag, state);
}

void
op_describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct step_flow *flow = op_awaited(op);
    char state[CALL_TEXT_MAX + 64] = "";

    if (flow && step_flow_peer(flow) != FLOW_ANY_PEER)
        describe_peer(op, flow, state);
    describe_flow(op, flow, state, text);
}

/* Whose the deadline is. */
static const char *
deadline_origin(const struct op *op, uint64_t n_ns)
{
    const uint64_t session_ns =
        op->engine->options.timeout_ms * CLOCK_NS_PER_MS;

    return n_ns == session_ns ? "HOOP_TIMEOUT" : "its communicator";
}

static double
seconds(uint64_t n_ns)
{
    return (double)n_ns / (double)CLOCK_NS_PER_S;
}

void
op_describe_time(const struct op *op, char text[TIME_TEXT_MAX])
{
    const uint64_t n_ns = op->allowed_ns;

    snprintf(text, TIME_TEXT_MAX, "%.3f s of the %.*f s that %s allows",
             seconds(clock_now_ns() - op->started_ns),
             n_ns % CLOCK_NS_PER_S > 0 ? 2 : 0, seconds(n_ns),
             deadline_origin(op, n_ns));
}

/* Whether why tells of this rank, and so of its wait. */
static bool
is_told(const struct op *op, const char *why)
{
    const struct roster *roster = op->engine->roster;
    char name[ROSTER_NAME_MAX];

    roster_name(roster, roster->rank, name);
    return strncmp(why, name, strlen(name)) == 0;
}

void
op_add_wait(struct op *op, enum hoop_status status, const char *why)
{
    const struct roster *roster = op->engine->roster;
    const size_t n_text = strlen(op->text);
    const bool waits = op->state == OP_RUNNING && op_awaited(op) &&
                       status != HOOP_E_MISMATCH && !is_told(op, why);
    char whom[LIMIT_ERROR_TEXT];
    char name[ROSTER_NAME_MAX];
    char time[TIME_TEXT_MAX];

    if (status == HOOP_E_CLOSED || status == HOOP_E_CANCELLED)
        return;
    op_describe_time(op, time);
    /* What its peer does was perhaps never asked. */
    describe_flow(op, op_awaited(op), "", whom);
    if (waits)
        snprintf(op->text + n_text, sizeof(op->text) - n_text,
                 "; %s waited for %.300s; after %s",
                 roster_name(roster, roster->rank, name), whom, time);
    else
        snprintf(op->text + n_text, sizeof(op->text) - n_text, "; after %s",
                 time);
}
