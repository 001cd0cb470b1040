/* engine/failure/activity.c - what this rank is doing, for those who ask */

#include "engine/failure/activity.h"

#include <stdio.h>
#include <string.h>

#include "hoop/comm.h"

#include "base/clock.h"
#include "engine/context.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/op_history.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/shm_executor.h"
#include "engine/state.h"

static const uint64_t WAIT_NOTE_INTERVAL_NS = 20 * CLOCK_NS_PER_MS;
/* A minute is two of these spans, and the last seconds are two of those. */
static const uint64_t MINUTE_SPAN_NS = 30 * CLOCK_NS_PER_S;
static const uint64_t RECENT_SPAN_NS = 1500 * CLOCK_NS_PER_MS;

enum {
    /* Communicators of which the last finished call is told. */
    FINISHED_NAMED_MAX = 3,
};

void
activity_note_failure(const struct op *op, enum hoop_status status)
{
    struct last_failure *last = &op->engine->liveness.last_failure;

    if (status == HOOP_E_CLOSED || status == HOOP_E_CANCELLED ||
        op_is_internal(op))
        return;
    *last = (struct last_failure){
        .status = status,
        .n_ended = atomic_load_explicit(&op->engine->progress.n_ended,
                                        memory_order_relaxed)};
    memcpy(last->text, op->failure.text, sizeof(last->text));
}

/* Returns the operation that has waited longest; NULL: nothing runs. */
static struct op *
oldest_running_op(const struct engine *engine, uint32_t *out_n_calls)
{
    struct op *oldest = NULL;
    uint32_t n_calls = 0;
    struct op *op;

    TAILQ_FOREACH(op, &engine->progress.running, link)
    {
        n_calls++;
        if (!oldest || op->run.wait.started_ns < oldest->run.wait.started_ns)
            oldest = op;
    }
    *out_n_calls = n_calls;
    return oldest;
}

/* Returns the place of rank in window. Where there is no room, the rank that
 * was waited for least makes room and hands its time on, as in the
 * space-saving algorithm: who is waited for often stays. */
static struct rank_wait *
wait_window_place(struct wait_window *window, uint32_t rank)
{
    struct rank_wait *least = &window->waits[0];

    for (size_t i = 0; i < window->n_waits; i++) {
        if (window->waits[i].rank == rank)
            return &window->waits[i];
        if (window->waits[i].wait_ms < least->wait_ms)
            least = &window->waits[i];
    }
    if (window->n_waits < LIMIT_ACTIVITY_WAITS) {
        least = &window->waits[window->n_waits++];
        *least = (struct rank_wait){0};
    }
    least->rank = rank;
    return least;
}

/* Begin a new span if this one is over. */
static void
wait_windows_turn(struct wait_windows *windows,
                  uint64_t span_ns,
                  uint64_t now_ns)
{
    struct wait_window *spans = windows->spans;

    if (now_ns - spans[0].began_ns < span_ns)
        return;
    spans[1] = now_ns - spans[0].began_ns < 2 * span_ns
                   ? spans[0]
                   : (struct wait_window){0};
    spans[0] = (struct wait_window){.began_ns = now_ns};
}

/* Returns the rank that op waits for, if that one has not made the same call as
 * far as is known; else HOOP_NO_RANK. */
static uint32_t
op_late_rank(const struct op *op)
{
    const struct step_flow *flow = op_awaited_flow(op);

    return flow && step_flow_peer_has_called(flow) ? HOOP_NO_RANK
                                                   : op_awaited_rank(op);
}

void
activity_note_wait(struct engine *engine, uint64_t now_ns)
{
    struct engine_liveness *liveness = &engine->liveness;
    const uint64_t n_ns = now_ns - liveness->wait_noted_ns;
    uint32_t n_calls = 0;

    if (n_ns < WAIT_NOTE_INTERVAL_NS)
        return;
    liveness->wait_noted_ns = now_ns;
    const struct op *op = oldest_running_op(engine, &n_calls);
    const uint32_t rank = op ? op_late_rank(op) : HOOP_NO_RANK;

    const uint64_t waited_ns = op ? now_ns - op->run.wait.started_ns : 0;
    const uint64_t n_ms =
        (waited_ns < n_ns ? waited_ns : n_ns) / CLOCK_NS_PER_MS;

    wait_windows_turn(&liveness->minute_waits, MINUTE_SPAN_NS, now_ns);
    wait_windows_turn(&liveness->recent_waits, RECENT_SPAN_NS, now_ns);
    if (!op || rank == engine->roster->rank)
        return;
    if (rank == HOOP_NO_RANK) {
        liveness->recent_waits.spans[0].moving_ms += n_ms;
        return;
    }
    wait_window_place(&liveness->minute_waits.spans[0], rank)->wait_ms += n_ms;
    wait_window_place(&liveness->recent_waits.spans[0], rank)->wait_ms += n_ms;
}

static enum awaited_sign
awaited_sign_of(const struct op *op)
{
    switch (op_awaited_sign(op)) {
    case HEARTBEAT_SEEN:
        return AWAITED_LIVES;
    case HEARTBEAT_MISSED:
        return AWAITED_IS_SILENT;
    case HEARTBEAT_UNKNOWN:
        break;
    }
    return AWAITED_SIGN_UNKNOWN;
}

/* Say what flow's peer has told of its calls. */
static void
awaited_doing_fill(const struct op *op,
                   const struct step_flow *flow,
                   struct activity_details *details)
{
    const struct frame *other = &flow->current_peer_call;
    const struct comm_context *context =
        other->total == 0 || other->total == op->run.context->id
            ? op->run.context
            : NULL;

    if (flow->is_peer_in_other_call && other->call.name != CALL_UNKNOWN) {
        char call[CALL_TEXT_MAX];

        call_describe(&other->call,
                      context ? context_user_call_number(context, other->offset)
                              : other->offset,
                      call);
        snprintf(details->awaited_call, sizeof(details->awaited_call), "%s",
                 call);
        details->awaited_doing = AWAITED_IN_OTHER_CALL;
    } else if (flow->is_peer_in_other_call)
        details->awaited_doing = AWAITED_IN_NO_CALL;
    else if (step_flow_peer_has_called(flow))
        details->awaited_doing = AWAITED_HAS_CALLED;
}

/* Returns how long rank gives no sign of life: since its last byte, or since it
 * was first asked after that. */
static uint64_t
awaited_silence_ms(const struct engine *engine, uint32_t rank)
{
    const uint64_t silence_ms = transport_silence_ms(engine->transport, rank);
    const uint64_t asked_ms =
        engine->liveness.heartbeats[rank].silent_ns / CLOCK_NS_PER_MS;

    return heartbeat_state_of(engine, rank) == HEARTBEAT_MISSED &&
                   asked_ms < silence_ms
               ? asked_ms
               : silence_ms;
}

static void
awaited_fill(const struct op *op, struct activity_details *details)
{
    const struct engine *engine = op->engine;
    const struct step_flow *flow = op_awaited_flow(op);
    uint64_t sent;

    details->communicator_id = op->run.context->id;
    details->awaited_rank = op_awaited_rank(op);
    if (!flow || details->awaited_rank == HOOP_NO_RANK)
        return;
    details->awaited_sign = awaited_sign_of(op);
    awaited_doing_fill(op, flow, details);
    if (details->awaited_rank != engine->roster->rank &&
        transport_is_connected(engine->transport, details->awaited_rank))
        details->awaited_silence_ms =
            awaited_silence_ms(engine, details->awaited_rank);
    details->n_done_bytes = step_flow_done_bytes(flow);
    details->n_bytes = flow->is_receive ? flow->in.total : flow->out.total;
    if (op_find_other_tag(op, &sent)) {
        details->receive_tag = op->run.label.tag + 1;
        details->sent_tag = sent + 1;
    }
}

/* Returns the newest finished collective of a program in context, or NULL. */
static const struct op_history_entry *
newest_finished_op(const struct comm_context *context)
{
    const struct op_history_entry *newest = NULL;

    for (size_t i = 0; i < OP_HISTORY_ENTRIES; i++) {
        const struct op_history_entry *entry = &context->op_history.ops[i];

        if (entry->number > 0 && entry->call.name != CALL_AGREE &&
            entry->call.name != CALL_UNKNOWN && !entry->has_failed &&
            (!newest || entry->number > newest->number))
            newest = entry;
    }
    return newest;
}

/* Describe entry, which context has finished: "allreduce #7 (float32, 4
 * elements, sum) of 'world'". Returns the length. */
static size_t
finished_describe(struct comm_context *context,
                  const struct op_history_entry *entry,
                  size_t n_room,
                  char *text)
{
    char name[LIMIT_NAME];
    char call[CALL_TEXT_MAX];
    int n;

    call_describe(&entry->call,
                  context_user_call_number(context, entry->number), call);
    context_copy_name(context, name);
    if (name[0])
        n = snprintf(text, n_room, "%.80s of '%.40s'", call, name);
    else
        n = snprintf(text, n_room, "%.80s of a communicator of %u rank%s", call,
                     context->size, context->size == 1 ? "" : "s");
    return n > 0 && (size_t)n < n_room ? (size_t)n : n_room - 1;
}

static void
finished_fill(struct engine *engine, struct activity_details *details)
{
    const size_t n_room = sizeof(details->finished);
    struct comm_context *context;
    unsigned n_named = 0;
    size_t n = 0;

    pthread_mutex_lock(&engine->lock);
    TAILQ_FOREACH(context, &engine->contexts.open, link)
    {
        const struct op_history_entry *entry = newest_finished_op(context);

        if (!entry || n_named == FINISHED_NAMED_MAX || n + 2 >= n_room)
            continue;
        if (n_named++ > 0)
            n += (size_t)snprintf(details->finished + n, n_room - n, "; ");
        n += finished_describe(context, entry, n_room - n,
                               details->finished + n);
    }
    pthread_mutex_unlock(&engine->lock);
}

static void
process_name(struct engine_activity *activity, uint32_t rank)
{
    if (activity->details.n_processes < LIMIT_ACTIVITY_PROCESSES)
        activity->process_ranks[activity->details.n_processes++] = rank;
}

/* Name this process, that of the awaited rank, and the next of the ranks whose
 * processes this one sees: together the ranks of a host see all. */
static void
processes_name(const struct engine *engine, struct engine_activity *activity)
{
    const struct roster *roster = engine->roster;
    const uint32_t awaited = activity->details.awaited_rank;

    process_name(activity, roster->rank);
    if (awaited < roster->size && awaited != roster->rank &&
        roster->members[awaited].is_visible)
        process_name(activity, awaited);
    for (uint32_t i = 1; i < roster->size; i++) {
        const uint32_t rank = (roster->rank + i) % roster->size;

        if (activity->details.n_processes == LIMIT_ACTIVITY_PROCESSES)
            return;
        if (rank != awaited && roster->members[rank].is_visible &&
            !engine->liveness.ranks[rank].is_lost)
            process_name(activity, rank);
    }
}

/* A failure after which calls have ended well has been dealt with. */
static void
failure_fill(const struct engine *engine, struct activity_details *details)
{
    const struct last_failure *last = &engine->liveness.last_failure;

    if (last->status == HOOP_OK ||
        last->n_ended != atomic_load_explicit(&engine->progress.n_ended,
                                              memory_order_relaxed))
        return;
    details->failure_status = (uint32_t)last->status;
    snprintf(details->failure, sizeof(details->failure), "%s", last->text);
}

/* Tell that rank was heard so long ago. Where there is no room, the one that was
 * heard longest ago makes room. */
static void
asker_add(struct engine_activity *activity, uint32_t rank, uint64_t age_ms)
{
    struct activity_details *details = &activity->details;
    struct rank_asker *place = &activity->askers[0];

    for (size_t i = 0; i < details->n_askers; i++) {
        if (activity->askers[i].rank == rank) {
            place = &activity->askers[i];
            place->age_ms = place->age_ms < age_ms ? place->age_ms : age_ms;
            return;
        }
        if (activity->askers[i].age_ms > place->age_ms)
            place = &activity->askers[i];
    }
    if (details->n_askers < LIMIT_ACTIVITY_ASKERS)
        place = &activity->askers[details->n_askers++];
    else if (age_ms >= place->age_ms)
        return;
    *place = (struct rank_asker){.rank = rank, .age_ms = age_ms};
}

/* Tell who has asked this rank, and whose packets come again and again: on a
 * link that is cut one way, TCP repeats the first ones, and the questions wait
 * behind them. */
static void
askers_fill(struct engine *engine, struct engine_activity *activity)
{
    const uint64_t now_ns = clock_now_ns();

    for (size_t i = 0; i < LIMIT_ACTIVITY_ASKERS; i++) {
        const struct asker *asker = &engine->liveness.askers[i];

        if (asker->when_ns > 0)
            asker_add(activity, asker->rank,
                      (now_ns - asker->when_ns) / CLOCK_NS_PER_MS);
    }
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        if (rank == engine->roster->rank ||
            rank_is_gone(&engine->liveness.ranks[rank]) ||
            !transport_is_connected(engine->transport, rank))
            continue;
        const uint64_t n_ms =
            transport_unanswered_ms(engine->transport, rank, now_ns);

        if (n_ms != TRANSPORT_SILENCE_UNKNOWN)
            asker_add(activity, rank, n_ms);
    }
}

/* Add the span before to the one that is under way. */
static struct wait_window
wait_windows_sum(const struct wait_windows *windows)
{
    const struct wait_window *before = &windows->spans[1];
    struct wait_window both = windows->spans[0];

    both.moving_ms += before->moving_ms;
    for (size_t i = 0; i < before->n_waits; i++)
        wait_window_place(&both, before->waits[i].rank)->wait_ms +=
            before->waits[i].wait_ms;
    if (before->began_ns > 0)
        both.began_ns = before->began_ns;
    return both;
}

/* Tell for whom this rank waited in the last minute and the last seconds. */
static void
waits_fill(struct engine *engine, struct engine_activity *activity)
{
    struct engine_liveness *liveness = &engine->liveness;
    struct activity_details *details = &activity->details;
    const uint64_t now_ns = clock_now_ns();

    wait_windows_turn(&liveness->minute_waits, MINUTE_SPAN_NS, now_ns);
    wait_windows_turn(&liveness->recent_waits, RECENT_SPAN_NS, now_ns);
    const struct wait_window minute = wait_windows_sum(&liveness->minute_waits);
    const struct wait_window recent = wait_windows_sum(&liveness->recent_waits);

    details->n_waits = minute.n_waits;
    memcpy(activity->waits, minute.waits, sizeof(minute.waits));
    details->n_recent_waits = recent.n_waits;
    memcpy(activity->recent_waits, recent.waits, sizeof(recent.waits));
    details->recent_ms = (now_ns - recent.began_ns) / CLOCK_NS_PER_MS;
    details->moving_ms = recent.moving_ms;
}

/* Tell before which link the bytes wait that this rank has sent. */
static void
backlog_fill(const struct engine *engine, struct activity_details *details)
{
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        if (rank == engine->roster->rank ||
            rank_is_gone(&engine->liveness.ranks[rank]))
            continue;
        const uint64_t n_ms = transport_backlog_ms(engine->transport, rank);

        if (n_ms <= details->backlog_ms)
            continue;
        details->backlog_rank = rank;
        details->backlog_ms = n_ms;
    }
}

static void
call_fill(struct op *op, struct engine_activity *activity)
{
    char whom[LIMIT_ERROR_TEXT];
    char call[CALL_TEXT_MAX];

    if (op_is_shm(op))
        shm_executor_list_awaited(op);
    if (!op_is_message(op))
        activity->line.number =
            context_user_call_number(op->run.context, op->run.number);
    call_describe(&op->run.label.call, activity->line.number, call);
    snprintf(activity->line.call, sizeof(activity->line.call), "%s", call);
    context_copy_name(op->run.context, activity->line.communicator);
    op_describe_wait(op, whom);
    snprintf(activity->line.waits_for, sizeof(activity->line.waits_for),
             "%.200s%s", whom, op_awaited_sign_text(op));
    activity->line.age_ms =
        (clock_now_ns() - op->run.wait.started_ns) / CLOCK_NS_PER_MS;
    awaited_fill(op, &activity->details);
}

void
activity_report(struct engine *engine, uint64_t query)
{
    struct engine_activity activity = {
        .line = {.missing_rank = STATUS_RANK_NONE},
        .details = {.awaited_rank = STATUS_RANK_NONE,
                    .awaited_silence_ms = STATUS_TIME_UNKNOWN}};
    struct op *op = oldest_running_op(engine, &activity.line.n_calls);

    /* While the session is being left, nobody may be there to be told. */
    if (!engine->options.on_activity || engine->is_leaving)
        return;
    if (op)
        call_fill(op, &activity);
    finished_fill(engine, &activity.details);
    failure_fill(engine, &activity.details);
    processes_name(engine, &activity);
    askers_fill(engine, &activity);
    waits_fill(engine, &activity);
    backlog_fill(engine, &activity.details);
    engine->options.on_activity(engine->options.owner, query, &activity);
}

void
engine_describe_end(struct engine *engine, struct activity_details *out_details)
{
    *out_details = (struct activity_details){
        .awaited_rank = STATUS_RANK_NONE,
        .awaited_silence_ms = STATUS_TIME_UNKNOWN,
    };
    finished_fill(engine, out_details);
    failure_fill(engine, out_details);
}
