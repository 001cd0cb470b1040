/* engine/deadline.c - operations that nothing moves: ask, then end them */

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "engine/state.h"

/* Long for a network, short for a person. */
static const uint64_t ASK_AFTER_NS = 100000000;

/* Whom op is waiting for, as far as its flows tell. */
static void
describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct roster *roster = op->engine->roster;
    const struct step_flow *flow =
        op->is_message ? &op->message : TAILQ_FIRST(&op->flows);
    char name[ROSTER_NAME_MAX];

    if (!flow) {
        snprintf(text, LIMIT_ERROR_TEXT, "nobody");
        return;
    }
    const uint32_t peer =
        flow->is_receive ? flow->in.key.peer : flow->out.key.peer;
    if (peer == FLOW_ANY_PEER) {
        snprintf(text, LIMIT_ERROR_TEXT, "a message from any rank");
        return;
    }
    const char *what = flow->is_receive ? "to send" : "to receive";
    const bool is_connected =
        transport_is_connected(op->engine->transport, peer);
    const uint64_t done =
        flow->is_receive ? flow->in.arrived : flow->out.handed;
    const uint64_t total = flow->is_receive ? flow->in.total : flow->out.total;
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s %s (%" PRIu64 " of %" PRIu64 " bytes%s)",
             roster_name(roster, peer, name), what, done, total,
             is_connected ? "" : ", not connected");
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
        if (op_due_ns(op) <= now_ns && op->deadline_ns > now_ns)
            op_ask(op);
        if (op->deadline_ns > now_ns) {
            if (op_due_ns(op) < deadline_ns)
                deadline_ns = op_due_ns(op);
            continue;
        }
        char whom[LIMIT_ERROR_TEXT / 2];
        char full[LIMIT_ERROR_TEXT];
        char name[ROSTER_NAME_MAX];
        char text[LIMIT_ERROR_TEXT];

        describe_wait(op, full);
        snprintf(whom, sizeof(whom), "%.500s", full);
        snprintf(
            text, sizeof(text), "%s timed out after %.1f s, waiting for %s",
            roster_name(engine->roster, engine->roster->rank, name),
            (double)(now_ns - op->started_ns) / (double)CLOCK_NS_PER_S, whom);
        op_fail(op, HOOP_E_TIMEOUT, text);
    }
    engine->deadline_ns = deadline_ns;
}
