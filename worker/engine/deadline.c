/*
 * engine/deadline.c - operations that make no progress: asks peers, then ends
 * them
 */

#include "engine/deadline.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/call_record.h"
#include "engine/failure/activity.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/state_query.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/operation_end.h"
#include "engine/shm_executor.h"
#include "engine/state.h"

enum {
    /* Of each context, only so many of the oldest collectives ask: the others
     * wait for them. */
    QUERYING_OPS_PER_CONTEXT_MAX = 32,
};

static bool
have_all_peers_called(const struct op *op)
{
    const struct step_flow *flow = op_awaited_flow(op);

    return flow && step_flow_peer_has_called(flow);
}

/* Ask each peer that op waits for once. */
static void
query_all_peers(struct op *op)
{
    struct step_flow *flow;

    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        const struct step_flow *other = TAILQ_FIRST(&op->run.step_flows);

        while (other != flow &&
               (step_flow_peer(other) != step_flow_peer(flow) ||
                other->is_receive != flow->is_receive))
            other = TAILQ_NEXT(other, link);
        if (other == flow)
            state_query_send(flow);
    }
}

/*
 * The deadline has passed. The awaited rank may itself wait for the rank that
 * never called, so ask, and extend the deadline until the answers are here. If
 * all peers have answered, extend it again: another rank may know of one that
 * has not answered, and should report first. Returns whether op continues to
 * wait.
 */
static bool
op_extend_deadline(struct op *op, uint64_t now_ns)
{
    struct step_flow *flow;

    if (op_is_message(op) || op->run.wait.n_deadline_extensions == 2 ||
        (op->run.wait.n_deadline_extensions == 1 && !have_all_peers_called(op)))
        return false;
    if (op->run.wait.n_deadline_extensions++ == 0) {
        TAILQ_FOREACH(flow, &op->run.step_flows, link)
        {
            flow->has_peer_called = false;
            flow->is_peer_in_other_call = false;
        }
        query_all_peers(op);
    }
    op->run.wait.deadline_ns = now_ns + OP_QUERY_ANSWER_WAIT_NS;
    return true;
}

static void
op_fail_timeout(struct op *op, uint64_t now_ns)
{
    const struct roster *roster = op->engine->roster;
    char whom[LIMIT_ERROR_TEXT];
    char name[ROSTER_NAME_MAX];

    op_describe_wait(op, whom);
    const struct failure_notice failure_notice = failure_notice_make(
        HOOP_E_TIMEOUT, op_awaited_rank(op),
        "%s timed out after %.1f s, waiting for %.500s",
        roster_format_name(roster, roster->rank, name),
        ns_to_seconds(now_ns - op->run.wait.started_ns), whom);
    op_fail(op, &failure_notice);
}

/* Returns a time before when_ns that leaves long enough for an answer. */
static uint64_t
query_time_before_ns(const struct op *op, uint64_t when_ns)
{
    const uint64_t n_ns = when_ns - op->run.wait.started_ns;

    return when_ns - (n_ns < 2 * OP_QUERY_ANSWER_WAIT_NS
                          ? n_ns / 2
                          : OP_QUERY_ANSWER_WAIT_NS);
}

uint64_t
message_next_query_ns(const struct op *op, uint64_t now_ns)
{
    const uint64_t whens_ns[] = {op->run.wait.straggler_warning_ns,
                                 op->run.wait.deadline_ns};
    uint64_t asks_ns = CLOCK_NEVER;

    for (size_t i = 0; i < COUNT_OF(whens_ns); i++) {
        const uint64_t next_query_ns =
            whens_ns[i] == CLOCK_NEVER ? CLOCK_NEVER
                                       : query_time_before_ns(op, whens_ns[i]);

        if (next_query_ns > now_ns && next_query_ns < asks_ns)
            asks_ns = next_query_ns;
    }
    return asks_ns;
}

/* Called for each running operation, in the order in which they have begun. */
static bool
is_among_oldest_ops(const struct op *op, uint64_t now_ns)
{
    struct comm_context *context = op->run.context;

    if (op_is_message(op))
        return true;
    if (context->checked_ns != now_ns)
        context->n_checked_collectives = 0;
    context->checked_ns = now_ns;
    return context->n_checked_collectives++ < QUERYING_OPS_PER_CONTEXT_MAX;
}

/* Thousands may be queued: all are due again at the same check. */
static void
op_defer_query(struct op *op, uint64_t now_ns)
{
    op->run.wait.next_query_ns =
        (now_ns / OP_QUERY_INTERVAL_MAX_NS + 1) * OP_QUERY_INTERVAL_MAX_NS;
}

/*
 * No data come: perhaps the peer called something else and waits, too, or has
 * nothing to send. It may also call later, so ask again. A message asks shortly
 * before its warning and its deadline what its peer does instead.
 */
static void
op_query_awaited_peers(struct op *op, uint64_t now_ns)
{
    struct step_flow *flow;
    bool has_moved = false;

    if (op_is_message(op)) {
        op->run.wait.next_query_ns = message_next_query_ns(op, now_ns);
        state_query_send(&op->message.flow);
        return;
    }
    op_record_awaited(op);
    op->run.wait.query_interval_ns *= 2;
    if (op->run.wait.query_interval_ns > OP_QUERY_INTERVAL_MAX_NS)
        op->run.wait.query_interval_ns = OP_QUERY_INTERVAL_MAX_NS;
    op->run.wait.next_query_ns = now_ns + op->run.wait.query_interval_ns;
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        has_moved |=
            step_flow_done_bytes(flow) != flow->n_done_bytes_at_last_check;
        flow->n_done_bytes_at_last_check = step_flow_done_bytes(flow);
    }
    /* Ask before a warning, so that it can include the answers. */
    if (!has_moved || op->run.wait.straggler_warning_ns <=
                          op->run.wait.next_query_ns + OP_QUERY_ANSWER_WAIT_NS)
        query_all_peers(op);
}

uint64_t
op_next_check_ns(const struct op *op)
{
    const uint64_t due_ns =
        op->run.wait.next_query_ns < op->run.wait.straggler_warning_ns
            ? op->run.wait.next_query_ns
            : op->run.wait.straggler_warning_ns;

    if (op->run.wait.n_deadline_extensions > 0 ||
        due_ns > op->run.wait.deadline_ns)
        return op->run.wait.deadline_ns;
    return due_ns;
}

/* While a call waits, the record says that this rank lives. Returns when to say
 * so again. */
static uint64_t
waits_record(struct engine *engine, uint64_t now_ns)
{
    return TAILQ_EMPTY(&engine->progress.running)
               ? CLOCK_NEVER
               : recorder_lives(engine->recorder, now_ns);
}

void
engine_check_deadlines(struct engine *engine, uint64_t now_ns)
{
    uint64_t deadline_ns = CLOCK_NEVER;
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        const bool is_old = is_among_oldest_ops(op, now_ns);

        next = TAILQ_NEXT(op, link);
        if (op_is_shm(op) && op_next_check_ns(op) <= now_ns)
            shm_executor_list_awaited(op);
        if (op->run.wait.deadline_ns <= now_ns &&
            !op_extend_deadline(op, now_ns)) {
            op_fail_timeout(op, now_ns);
            continue;
        }
        if (op->run.wait.straggler_warning_ns <= now_ns)
            straggler_warn(op, now_ns);
        if (op_next_check_ns(op) <= now_ns && is_old)
            op_query_awaited_peers(op, now_ns);
        else if (op_next_check_ns(op) <= now_ns)
            op_defer_query(op, now_ns);
        if (op_next_check_ns(op) < deadline_ns)
            deadline_ns = op_next_check_ns(op);
    }
    const uint64_t heartbeats_ns = engine_check_heartbeats(engine, now_ns);
    activity_note_wait(engine, now_ns);
    const uint64_t suspects_ns = engine_check_suspects(engine, now_ns);

    const uint64_t views_ns = engine_check_peer_views(engine, now_ns);

    deadline_ns = views_ns < deadline_ns ? views_ns : deadline_ns;
    deadline_ns = suspects_ns < deadline_ns ? suspects_ns : deadline_ns;
    deadline_ns = heartbeats_ns < deadline_ns ? heartbeats_ns : deadline_ns;
    const uint64_t record_ns = waits_record(engine, now_ns);
    deadline_ns = record_ns < deadline_ns ? record_ns : deadline_ns;
    engine->progress.deadline_ns = deadline_ns;
}
