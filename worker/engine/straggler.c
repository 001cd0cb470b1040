/*
 * engine/straggler.c - names a late rank long before the deadline
 *
 * A rank that lives but does not call is no failure, and may be late for a good
 * reason: a checkpoint, a compilation. But a user must not have to guess. So an
 * operation that has waited for HOOP_LATE_WARNING writes to standard error for
 * whom, once. There is at most one warning in a second; further late operations
 * are counted. Steps of the library's own calls give notice of their waits
 * instead (base/wait_notice.h), in the name of the whole call.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/state.h"
#include "engine/wait_diagnosis.h"

void
straggler_plan(struct op *op)
{
    const uint32_t notice_ms = op->engine->options.wait_notice_ms;
    const uint64_t n_ms = op->engine->options.late_warning_ms;

    if (notice_ms == 0)
        op->purpose = NULL;
    op->warn_ns =
        n_ms > 0 ? op->started_ns + n_ms * CLOCK_NS_PER_MS : CLOCK_NEVER;
    if (!op->purpose)
        return;
    wait_notice_begin(&op->notice, notice_ms, op_deadline_origin(op),
                      op->allowed_ns / CLOCK_NS_PER_MS);
    op->warn_ns = op->notice.due_ns;
}

/* Returns what the heartbeat says of the rank that op waits for, as text. */
static const char *
liveness_of(const struct op *op)
{
    const struct engine *engine = op->engine;
    const struct step_flow *flow = op_awaited_flow(op);
    const uint32_t peer = flow ? step_flow_peer(flow) : FLOW_ANY_PEER;

    if (peer == FLOW_ANY_PEER || peer == engine->roster->rank ||
        !transport_is_connected(engine->transport, peer))
        return "";
    switch (heartbeat_state_of(engine, peer)) {
    case HEARTBEAT_SEEN:
        return "; it lives";
    case HEARTBEAT_MISSED:
        return "; it gives no sign of life";
    case HEARTBEAT_UNKNOWN:
        break;
    }
    return "";
}

static void
others_describe(struct engine *engine, char text[64])
{
    text[0] = '\0';
    if (engine->n_unwarned > 0)
        snprintf(text, 64, " (so do %u other operations)", engine->n_unwarned);
    engine->n_unwarned = 0;
}

static void
notice_give(struct op *op)
{
    char whom[LIMIT_ERROR_TEXT];
    char text[LIMIT_ERROR_TEXT];

    op_describe_wait(op, whom);
    snprintf(text, sizeof(text), "%s waits for %.700s%s", op->purpose, whom,
             liveness_of(op));
    wait_notice_say(&op->notice, text);
    op->warn_ns = op->notice.due_ns;
}

void
straggler_warn(struct op *op, uint64_t now_ns)
{
    struct engine *engine = op->engine;
    const struct roster *roster = engine->roster;
    char call[CALL_TEXT_MAX];
    char name[ROSTER_NAME_MAX];
    char whom[LIMIT_ERROR_TEXT];
    char time[TIME_TEXT_MAX];
    char others[64];

    if (op->purpose) {
        notice_give(op);
        return;
    }
    op->warn_ns = CLOCK_NEVER;
    if (engine->warned_ns > 0 && now_ns - engine->warned_ns < CLOCK_NS_PER_S) {
        engine->n_unwarned++;
        return;
    }
    engine->warned_ns = now_ns;
    call_describe(&op->call,
                  op->is_message ? 0
                                 : context_call_number(op->context, op->number),
                  call);
    op_describe_wait(op, whom);
    op_describe_time(op, time);
    others_describe(engine, others);
    log_write(LOG_WARNING, "late", "%s: %s waits for %.500s%s; %s%s", call,
              roster_name(roster, roster->rank, name), whom, liveness_of(op),
              time, others);
}

/* Returns the operation that has waited longest; NULL: nothing runs. */
static struct op *
op_oldest(const struct engine *engine, uint32_t *out_n_calls)
{
    struct op *oldest = NULL;
    uint32_t n_calls = 0;
    struct op *op;

    TAILQ_FOREACH(op, &engine->running, link)
    {
        n_calls++;
        if (!oldest || op->started_ns < oldest->started_ns)
            oldest = op;
    }
    *out_n_calls = n_calls;
    return oldest;
}

void
activity_report(struct engine *engine, uint64_t query)
{
    struct engine_activity activity = {0};
    struct op *op = op_oldest(engine, &activity.n_calls);
    char whom[LIMIT_ERROR_TEXT];

    if (!engine->options.on_activity)
        return;
    if (op) {
        if (op->is_shm)
            shm_executor_list_awaited(op);
        if (!op->is_message)
            activity.number = context_call_number(op->context, op->number);
        call_describe(&op->call, activity.number, activity.call);
        context_copy_name(op->context, activity.communicator);
        op_describe_wait(op, whom);
        snprintf(activity.waits_for, sizeof(activity.waits_for), "%.200s%s",
                 whom, liveness_of(op));
        activity.age_ms = (clock_now_ns() - op->started_ns) / CLOCK_NS_PER_MS;
    }
    engine->options.on_activity(engine->options.owner, query, &activity);
}
