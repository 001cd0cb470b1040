/*
 * engine/failure/wait_diagnosis.c - describes for whom an operation waits
 *
 * Every failure and every warning includes the rank that is waited for, what it
 * does instead as far as it has said, and how much time has passed. So does the
 * answer to the coordinator's question what this rank is doing (activity.h).
 *
 * Stragglers: a rank that lives but does not call is no failure, and may be
 * late for a good reason: a checkpoint, a compilation. But a user must not have
 * to guess. So an operation that has waited for HOOP_LATE_WARNING writes to
 * standard error for whom, once. There is at most one warning in a second;
 * further late operations are counted. Steps of the library's own calls give
 * notice of their waits instead (base/log.h), in the name of the whole
 * call.
 */

#include "engine/failure/wait_diagnosis.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hoop/comm.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/context.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/operations.h"
#include "engine/shm_executor.h"
#include "engine/state.h"

enum {
    /* What is known of a peer: a call, a communicator and the words between
     * them. */
    PEER_STATE_TEXT_MAX = CALL_TEXT_MAX + LIMIT_NAME + 128,
    COMM_TEXT_MAX = LIMIT_NAME + 32,
    WAIT_TIME_TEXT_MAX = 96,
    TAG_TEXT_MAX = 128,
};

/* Returns whether some of what peer sends in op has arrived. */
static bool
has_data_from(const struct op *op, uint32_t peer)
{
    const struct step_flow *flow;

    if (op_is_message(op))
        return op->message.flow.is_receive && op->message.flow.in.arrived > 0;
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (flow->is_receive && step_flow_peer(flow) == peer &&
            flow->in.arrived > 0)
            return true;
    }
    return false;
}

bool
step_flow_peer_has_called(const struct step_flow *flow)
{
    return flow->has_peer_called ||
           (!flow->is_receive && flow->out.is_granted) ||
           has_data_from(flow->op, step_flow_peer(flow));
}

const struct step_flow *
op_awaited_flow(const struct op *op)
{
    const struct step_flow *flow;

    if (op_is_message(op))
        return &op->message.flow;
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (!step_flow_peer_has_called(flow))
            return flow;
    }
    return TAILQ_FIRST(&op->run.step_flows);
}

uint32_t
op_awaited_rank(const struct op *op)
{
    const struct step_flow *flow = op_awaited_flow(op);

    if (!flow && op_is_shm(op))
        return shm_executor_awaited_rank(op);
    return flow && step_flow_peer(flow) != FLOW_ANY_PEER ? step_flow_peer(flow)
                                                         : HOOP_NO_RANK;
}

/* Describe a communicator other than the operation's, by its name or its
 * size. */
static void
describe_context(struct engine *engine, uint64_t id, char text[COMM_TEXT_MAX])
{
    struct comm_context *context = engine_find_context(engine, id);
    char name[LIMIT_NAME] = "";

    if (context)
        context_copy_name(context, name);
    if (name[0])
        snprintf(text, COMM_TEXT_MAX, "communicator '%s'", name);
    else if (context)
        snprintf(text, COMM_TEXT_MAX, "another communicator of %u ranks",
                 context->size);
    else
        snprintf(text, COMM_TEXT_MAX,
                 "a communicator that this rank is not in");
}

/* Describe the call that flow's peer says it is in instead. */
static void
describe_busy(const struct op *op,
              const struct step_flow *flow,
              char text[PEER_STATE_TEXT_MAX])
{
    const struct frame *busy = &flow->current_peer_call;
    const char *verb =
        op_is_message(op) ? "it is in " : "it has not called this, but ";
    char call[CALL_TEXT_MAX];
    char comm[COMM_TEXT_MAX];

    if (busy->call.name == CALL_UNKNOWN) {
        snprintf(text, PEER_STATE_TEXT_MAX, "; %s",
                 op_is_message(op) ? "it is in no call"
                                   : "it has not called this");
    } else if (busy->total == 0 || busy->total == op->run.context->id) {
        call_describe(&busy->call,
                      context_user_call_number(op->run.context, busy->offset),
                      call);
        snprintf(text, PEER_STATE_TEXT_MAX, "; %s%s", verb, call);
    } else {
        call_describe(&busy->call, busy->offset, call);
        describe_context(op->engine, busy->total, comm);
        snprintf(text, PEER_STATE_TEXT_MAX, "; %s%s of %s", verb, call, comm);
    }
}

/* Example: "; it has called this; its last byte came 0.120 s ago; 1.25 MB/s so
 * far". */
static void
describe_progress(const struct op *op,
                  const struct step_flow *flow,
                  char text[PEER_STATE_TEXT_MAX])
{
    const uint64_t n_ms =
        transport_silence_ms(op->engine->transport, step_flow_peer(flow));
    const double n_s = ns_to_seconds(clock_now_ns() - op->run.wait.started_ns);
    char since[48] = "";

    if (n_ms != TRANSPORT_SILENCE_UNKNOWN)
        snprintf(since, sizeof(since), "; its last byte came %.3f s ago",
                 (double)n_ms / 1000.0);
    snprintf(text, PEER_STATE_TEXT_MAX,
             "; it has called this%s; %.3g MB/s so far", since,
             (double)step_flow_done_bytes(flow) / n_s / 1e6);
}

/* Describe what is known of the awaited peer, mostly from its own answers. */
static void
describe_peer(const struct op *op,
              const struct step_flow *flow,
              char text[PEER_STATE_TEXT_MAX])
{
    text[0] = '\0';
    if (step_flow_peer(flow) != op->engine->roster->rank &&
        !transport_is_connected(op->engine->transport, step_flow_peer(flow)))
        snprintf(text, PEER_STATE_TEXT_MAX, ", not connected");
    else if (flow->is_peer_in_other_call)
        describe_busy(op, flow, text);
    else if (has_data_from(op, step_flow_peer(flow)))
        describe_progress(op, flow, text);
    else if (!op_is_message(op) && !step_flow_peer_has_called(flow))
        snprintf(text, PEER_STATE_TEXT_MAX,
                 "; it does not answer whether it has called this");
}

/* Tags of the library's own messages are greater, and mean nothing to users. */
static const uint64_t USER_TAG_MAX = (uint64_t)1 << 62;

bool
op_find_other_tag(const struct op *op, uint64_t *out_tag)
{
    const uint32_t peer = op_awaited_rank(op);

    return op_is_message(op) && op->message.flow.is_receive &&
           peer != HOOP_NO_RANK && !has_data_from(op, peer) &&
           op->run.label.tag <= USER_TAG_MAX &&
           transport_find_unreceived_tag(op->engine->transport, peer,
                                         op->run.context->id, USER_TAG_MAX,
                                         out_tag) &&
           *out_tag != op->run.label.tag;
}

/* Describe the tag of op, and what its peer has sent with another tag: ", tag
 * 77; it has sent tag 78, which is not received". */
static void
describe_tag(const struct op *op, char text[TAG_TEXT_MAX])
{
    uint64_t sent;

    text[0] = '\0';
    if (!op_is_message(op) || op->run.label.tag > USER_TAG_MAX)
        return;
    const int n_text =
        snprintf(text, TAG_TEXT_MAX, ", tag %" PRIu64, op->run.label.tag);
    if (op_find_other_tag(op, &sent))
        snprintf(text + n_text, TAG_TEXT_MAX - (size_t)n_text,
                 "; it has sent tag %" PRIu64 ", which is not received", sent);
}

/* state describes what flow's peer does. flow may be NULL. */
static void
describe_flow(const struct op *op,
              const struct step_flow *flow,
              const char *state,
              char text[LIMIT_ERROR_TEXT])
{
    char name[ROSTER_NAME_MAX];
    char tag[TAG_TEXT_MAX];

    if (!flow || step_flow_peer(flow) == FLOW_ANY_PEER) {
        snprintf(text, LIMIT_ERROR_TEXT, "%s",
                 flow ? "a message from any rank" : "nobody");
        return;
    }
    const uint64_t total = flow->is_receive ? flow->in.total : flow->out.total;
    describe_tag(op, tag);
    snprintf(text, LIMIT_ERROR_TEXT,
             "%s %s (%" PRIu64 " of %" PRIu64 " bytes%s%s)",
             roster_format_name(op->engine->roster, step_flow_peer(flow), name),
             flow->is_receive ? "to send" : "to receive",
             step_flow_done_bytes(flow), total, tag, state);
}

void
op_describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct step_flow *flow = op_awaited_flow(op);
    char state[PEER_STATE_TEXT_MAX] = "";

    if (flow && step_flow_peer(flow) != FLOW_ANY_PEER)
        describe_peer(op, flow, state);
    describe_flow(op, flow, state, text);
}

/* Returns which setting gave op its time limit: "HOOP_TIMEOUT". */
static const char *
op_deadline_origin(const struct op *op)
{
    const uint64_t session_ns =
        op->engine->config->op_timeout_ms * CLOCK_NS_PER_MS;

    return op->run.wait.time_limit_ns == session_ns ? "HOOP_TIMEOUT"
                                                    : "its communicator";
}

/* Describe how much time has passed: "0.310 s of the 600 s that HOOP_TIMEOUT
 * allows", "2.501 s: the 2.50 s that HOOP_TIMEOUT allows are over". */
static void
op_describe_time(const struct op *op, char text[WAIT_TIME_TEXT_MAX])
{
    const uint64_t n_ns = op->run.wait.time_limit_ns;
    const uint64_t n_passed_ns = clock_now_ns() - op->run.wait.started_ns;
    const bool is_over = n_passed_ns >= n_ns;

    snprintf(text, WAIT_TIME_TEXT_MAX, "%.3f s%s the %.*f s that %s allows%s",
             ns_to_seconds(n_passed_ns), is_over ? ":" : " of",
             n_ns % CLOCK_NS_PER_S > 0 ? 2 : 0, ns_to_seconds(n_ns),
             op_deadline_origin(op), is_over ? " are over" : "");
}

/* Returns whether why is about this rank and so already describes its wait. */
static bool
is_wait_described(const struct op *op, const char *why)
{
    const struct roster *roster = op->engine->roster;
    char name[ROSTER_NAME_MAX];

    roster_format_name(roster, roster->rank, name);
    return strncmp(why, name, strlen(name)) == 0;
}

void
op_append_wait_text(struct op *op, const struct failure_notice *failure_notice)
{
    const enum hoop_status status = failure_notice->status;
    const struct roster *roster = op->engine->roster;
    const size_t n_text = strlen(op->failure.text);
    const bool waits = op->run.state == OP_RUNNING && op_awaited_flow(op) &&
                       status != HOOP_E_MISMATCH &&
                       !is_wait_described(op, failure_notice->why);
    char whom[LIMIT_ERROR_TEXT];
    char name[ROSTER_NAME_MAX];
    char time[WAIT_TIME_TEXT_MAX];

    if (status == HOOP_E_CLOSED || status == HOOP_E_CANCELLED)
        return;
    op_describe_time(op, time);
    /* The peer's state is left out, because it may never have been asked. */
    describe_flow(op, op_awaited_flow(op), "", whom);
    if (waits)
        snprintf(op->failure.text + n_text, sizeof(op->failure.text) - n_text,
                 "; %s waited for %.300s; after %s",
                 roster_format_name(roster, roster->rank, name), whom, time);
    else
        snprintf(op->failure.text + n_text, sizeof(op->failure.text) - n_text,
                 "; after %s", time);
}

void
straggler_warning_plan(struct op *op)
{
    const uint32_t notice_ms = op->engine->config->wait_notice_ms;
    const uint64_t n_ms = op->engine->config->late_warning_ms;

    if (notice_ms == 0)
        op->run.wait.purpose = NULL;
    op->run.wait.straggler_warning_ns =
        n_ms > 0 ? op->run.wait.started_ns + n_ms * CLOCK_NS_PER_MS
                 : CLOCK_NEVER;
    if (!op->run.wait.purpose)
        return;
    wait_notice_begin(&op->run.wait.notice, notice_ms, op_deadline_origin(op),
                      op->run.wait.time_limit_ns / CLOCK_NS_PER_MS);
    op->run.wait.straggler_warning_ns = op->run.wait.notice.due_ns;
}

enum heartbeat_state
op_awaited_sign(const struct op *op)
{
    const struct engine *engine = op->engine;
    const struct step_flow *flow = op_awaited_flow(op);
    const uint32_t peer = flow ? step_flow_peer(flow) : FLOW_ANY_PEER;

    if (peer == FLOW_ANY_PEER || peer == engine->roster->rank ||
        !transport_is_connected(engine->transport, peer))
        return HEARTBEAT_UNKNOWN;
    return heartbeat_state_of(engine, peer);
}

const char *
op_awaited_sign_text(const struct op *op)
{
    switch (op_awaited_sign(op)) {
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
suppressed_ops_describe(struct engine *engine, char text[64])
{
    text[0] = '\0';
    if (engine->progress.n_suppressed_warnings > 0)
        snprintf(text, 64, " (so do %u other operations)",
                 engine->progress.n_suppressed_warnings);
    engine->progress.n_suppressed_warnings = 0;
}

static void
wait_notice_print(struct op *op)
{
    char whom[LIMIT_ERROR_TEXT];
    char text[LIMIT_ERROR_TEXT];

    op_describe_wait(op, whom);
    snprintf(text, sizeof(text), "%s waits for %.700s%s", op->run.wait.purpose,
             whom, op_awaited_sign_text(op));
    wait_notice_log(&op->run.wait.notice, text);
    op->run.wait.straggler_warning_ns = op->run.wait.notice.due_ns;
}

void
straggler_warn(struct op *op, uint64_t now_ns)
{
    struct engine *engine = op->engine;
    const struct roster *roster = engine->roster;
    char call[CALL_TEXT_MAX];
    char name[ROSTER_NAME_MAX];
    char whom[LIMIT_ERROR_TEXT];
    char time[WAIT_TIME_TEXT_MAX];
    char others[64];

    if (op->run.wait.purpose) {
        wait_notice_print(op);
        return;
    }
    op->run.wait.straggler_warning_ns = CLOCK_NEVER;
    if (engine->progress.last_straggler_warning_ns > 0 &&
        now_ns - engine->progress.last_straggler_warning_ns < CLOCK_NS_PER_S) {
        engine->progress.n_suppressed_warnings++;
        return;
    }
    engine->progress.last_straggler_warning_ns = now_ns;
    call_describe(&op->run.label.call,
                  op_is_message(op) ? 0
                                    : context_user_call_number(op->run.context,
                                                               op->run.number),
                  call);
    op_describe_wait(op, whom);
    op_describe_time(op, time);
    suppressed_ops_describe(engine, others);
    log_write(LOG_WARNING, "late",
              "%s: %s waits for %.500s%s; %s%s; hoopctl why asks all ranks",
              call, roster_format_name(roster, roster->rank, name), whom,
              op_awaited_sign_text(op), time, others);
}
