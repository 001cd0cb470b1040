/*
 * engine/shortage.c - a connection that cannot be made because one end lacks a
 * descriptor
 *
 * Both ranks live, so neither is lost. Operations that need the connection
 * fail, here and on all members of the call, with a text that says which rank
 * lacks what. The next call asks for the connection again. The receiver of a
 * message that could not be sent may have no connection to the sender. So the
 * sender tells all ranks that it is connected to, with a number, and each rank
 * passes on what is new to it.
 */

#include "engine/shortage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/command_queue.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/operations.h"
#include "engine/failure/revocation.h"
#include "engine/operation_end.h"
#include "engine/state.h"

enum {
    REPORT_WINDOW_WORD_BITS = 64,
};

/* Example: "rank 1 (a:70) cannot connect to rank 2 (b:71): its process may open
 * ...". */
static void
shortage_describe(const struct engine *engine,
                  uint32_t rank,
                  char text[LIMIT_ERROR_TEXT])
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const uint32_t self = engine->roster->rank;
    char of[ROSTER_NAME_MAX];
    char other[ROSTER_NAME_MAX];

    roster_format_name(engine->roster, liveness->shortage_rank, of);
    roster_format_name(engine->roster,
                       liveness->shortage_rank == self ? rank : self, other);
    snprintf(text, LIMIT_ERROR_TEXT, "%s cannot connect to %s: %s", of, other,
             liveness->why);
}

enum hoop_status
shortage_raise(const struct engine *engine, uint32_t rank)
{
    char text[LIMIT_ERROR_TEXT];

    shortage_describe(engine, rank, text);
    return error_raise(engine->liveness.ranks[rank].shortage_status, "%s",
                       text);
}

/* Returns whether op cannot continue without the connection to rank. */
static bool
op_waits_for_rank(const struct op *op, uint32_t rank)
{
    const struct step_flow *flow;

    if (op_is_message(op))
        return step_flow_peer(&op->message.flow) == rank;
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (step_flow_peer(flow) == rank)
            return true;
    }
    return false;
}

/* op, a send, fails: tell its receiver by way of other ranks. */
static void
send_failure_broadcast(const struct op *op, const struct failure_notice *failed)
{
    struct engine *engine = op->engine;
    const uint32_t self = engine->roster->rank;
    const struct frame failure_notice = {
        .kind = FRAME_FAILURE_NOTICE,
        .flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN,
        .epoch = engine->roster->epoch,
        .comm = op->run.context->id,
        .op = op->run.label.tag,
        .signature = op->message.flow.out.key.peer,
        .tag = failed->status,
        .step = self,
        .offset = ++engine->liveness.n_failed_sends_broadcast,
        .call.root = failure_notice_pack_rank(failed->rank),
    };

    transport_broadcast_control(engine->transport, self, &failure_notice,
                                failed->why);
}

void
shortage_apply(struct engine *engine, const struct notice *notice)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[notice->rank];
    char text[LIMIT_ERROR_TEXT];
    struct op *next;

    if (rank_is_gone(liveness) ||
        !transport_give_up_connecting(engine->transport, notice->rank))
        return;
    liveness->shortage_status = notice->status;
    liveness->shortage_rank = notice->of;
    memcpy(liveness->why, notice->why, sizeof(liveness->why));
    shortage_describe(engine, notice->rank, text);
    log_warning("engine", "%s", text);
    const struct failure_notice failure_notice =
        failure_notice_make(notice->status, notice->of, "%s", text);
    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        if (!op_waits_for_rank(op, notice->rank))
            continue;
        if (op_is_message(op) && !op->message.flow.is_receive)
            send_failure_broadcast(op, &failure_notice);
        op_fail(op, &failure_notice);
    }
}

void
engine_report_shortage(struct engine *engine,
                       const struct connector_shortage *shortage)
{
    struct notice notice = {
        .kinds = NOTICE_SHORTAGE,
        .rank = shortage->rank,
        .of = shortage->of,
        .status = shortage->status,
    };

    reason_write_truncated(shortage->why, "", notice.why);
    engine_post_notice(engine, &notice);
}

/* No receive has been made for it yet. */
static void
failed_send_record(struct comm_context *context,
                   const struct frame *frame,
                   const char *text)
{
    const struct pending_failure failed = {
        .source = frame->step,
        .tag = frame->op,
        .notice = failure_notice_decode(context->engine, frame, text),
    };

    switch (pending_failure_add(context, &failed)) {
    case PENDING_FAILURE_NEW:
    case PENDING_FAILURE_KNOWN:
        return;
    case PENDING_FAILURE_NO_ROOM:
        log_warning(
            "engine",
            "no room to remember that a message of tag %llu has failed: "
            "its receive ends at its deadline (%s)",
            (unsigned long long)frame->op, text);
        return;
    case PENDING_FAILURE_NO_MEMORY:
        context_revoke_for_lack(context, "no memory", text);
        return;
    }
}

/* Numbers of failed sends that have been reported: the highest one and, in a
 * ring of bits, those below it, as IPsec receivers do (RFC 4303, 3.4.3). */
struct report_window {
    uint64_t first; /* all from here to the ring have been reported */
    uint64_t last;  /* 0: the run is not in use */
    uint64_t used;
    uint64_t seen[LIMIT_FAILED_SENDS / REPORT_WINDOW_WORD_BITS];
};

/*
 * The reports about one rank's sends. Reports that others pass on may be
 * forged: a number far from those already reported begins a run of its own and
 * leaves the other runs alone. So no number can suppress later reports.
 */
struct failed_send_report_windows {
    uint64_t last_use_tick;
    struct report_window runs[4];
};

static uint64_t *
report_window_word(struct report_window *run, uint64_t number)
{
    return &run->seen[number / REPORT_WINDOW_WORD_BITS % COUNT_OF(run->seen)];
}

static bool
report_window_is_bit_set(struct report_window *run, uint64_t number)
{
    return *report_window_word(run, number) &
           UINT64_C(1) << number % REPORT_WINDOW_WORD_BITS;
}

static bool
report_window_contains(struct report_window *run, uint64_t number)
{
    return number >= run->first && number <= run->last &&
           (run->last - number >= LIMIT_FAILED_SENDS ||
            report_window_is_bit_set(run, number));
}

/* Returns whether number is in the ring, or follows it closely enough to extend
 * it. */
static bool
report_window_can_extend(const struct report_window *run, uint64_t number)
{
    return run->last != 0 && number >= run->first &&
           (number <= run->last || number - run->last < LIMIT_FAILED_SENDS);
}

static void
report_window_begin(struct report_window *run, uint64_t number)
{
    *run = (struct report_window){
        .first =
            number > LIMIT_FAILED_SENDS ? number - LIMIT_FAILED_SENDS + 1 : 1,
        .last = number,
    };
}

/* If a number that leaves the ring has not been reported, the run begins after
 * it. */
static void
report_window_advance(struct report_window *run, uint64_t number)
{
    while (run->last < number) {
        run->last++;
        if (run->last > LIMIT_FAILED_SENDS) {
            const uint64_t left = run->last - LIMIT_FAILED_SENDS;

            if (left >= run->first && !report_window_is_bit_set(run, left))
                run->first = left + 1;
        }
        *report_window_word(run, run->last) &=
            ~(UINT64_C(1) << run->last % REPORT_WINDOW_WORD_BITS);
    }
}

/* Returns the run that number belongs to. A new run replaces the least recently
 * used one. */
static struct report_window *
report_windows_find(struct failed_send_report_windows *window, uint64_t number)
{
    struct report_window *oldest = &window->runs[0];

    for (size_t i = 0; i < COUNT_OF(window->runs); i++) {
        if (report_window_can_extend(&window->runs[i], number))
            return &window->runs[i];
        if (window->runs[i].used < oldest->used)
            oldest = &window->runs[i];
    }
    report_window_begin(oldest, number);
    return oldest;
}

/* Returns whether the report of that number is new to source, whose windows
 * exist. Each path brings reports in order, but they come by several paths, some
 * of which were connected later. */
static bool
failed_send_is_new(struct rank_liveness *source, uint64_t number)
{
    for (size_t i = 0; i < COUNT_OF(source->failed->runs); i++) {
        if (report_window_contains(&source->failed->runs[i], number))
            return false;
    }
    struct report_window *run = report_windows_find(source->failed, number);
    report_window_advance(run, number);
    run->used = ++source->failed->last_use_tick;
    *report_window_word(run, number) |= UINT64_C(1)
                                        << number % REPORT_WINDOW_WORD_BITS;
    return true;
}

/* Returns what is wrong with the report, for which peer is to blame, or NULL. A
 * rank reports its own failed sends in order to each rank that it is connected
 * to; other reports come from other ranks. */
static const char *
failed_send_report_check(struct engine *engine,
                         uint32_t peer,
                         const struct frame *frame)
{
    if (frame->step >= engine->roster->size || frame->offset == 0)
        return "it told of a failed send of no rank, or of no number";
    if (frame->step != peer)
        return NULL;
    struct rank_liveness *source = &engine->liveness.ranks[peer];
    const uint64_t last = source->n_failed_sends_received;
    if (last != 0 &&
        (frame->offset <= last || frame->offset - last > LIMIT_FAILED_SENDS))
        return "it told of a failed send whose number does not follow its last";
    source->n_failed_sends_received = frame->offset;
    return NULL;
}

/* Pass the report on to all but peer, and end this rank's receive of the
 * message, if it has one. */
static void
failed_send_report_forward(struct engine *engine,
                           uint32_t peer,
                           const struct frame *frame,
                           const char *text)
{
    struct comm_context *context = engine_find_context(engine, frame->comm);
    struct op *op;

    transport_broadcast_control(engine->transport, peer, frame, text);
    if (frame->signature != engine->roster->rank || !context)
        return;
    TAILQ_FOREACH(op, &engine->progress.running, link)
    {
        if (op->run.context == context &&
            op_receives_from(op, frame->step, frame->op)) {
            const struct failure_notice failure_notice =
                failure_notice_decode(engine, frame, text);

            op_fail(op, &failure_notice);
            return;
        }
    }
    failed_send_record(context, frame, text);
}

static void
failed_send_record_without_memory(struct engine *engine,
                                  const struct frame *frame,
                                  const char *text)
{
    struct comm_context *context = engine_find_context(engine, frame->comm);

    if (context)
        context_revoke_for_lack(context, "no memory", text);
}

void
failed_send_report_receive(struct engine *engine,
                           uint32_t peer,
                           const struct frame *frame,
                           const char *text)
{
    const char *why = failed_send_report_check(engine, peer, frame);
    struct rank_liveness *source;

    if (why)
        transport_defer_failure(engine->transport, peer, why);
    if (why || frame->step == engine->roster->rank)
        return;
    source = &engine->liveness.ranks[frame->step];
    if (!source->failed)
        source->failed = calloc(1, sizeof(*source->failed));
    if (!source->failed)
        failed_send_record_without_memory(engine, frame, text);
    else if (failed_send_is_new(source, frame->offset))
        failed_send_report_forward(engine, peer, frame, text);
}
