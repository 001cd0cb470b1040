/*
 * engine/verdict.c - how operations end badly, and who is told
 *
 * A failure is found by one rank first: a connection that ends, a call that
 * does not match, a deadline. It ends what it touches here, names the culprit,
 * and travels on over every connection, each rank passing on what is new to
 * it, so that ranks that wait for somebody else's sake end too.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/closing.h"
#include "engine/patience.h"
#include "engine/state.h"

struct verdict
verdict_of(enum hoop_status status, uint32_t rank, const char *format, ...)
{
    struct verdict verdict = {.status = status, .rank = rank};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(verdict.why, sizeof(verdict.why), format, arguments);
    va_end(arguments);
    return verdict;
}

struct channel *
engine_channel(struct engine *engine, uint64_t id)
{
    struct channel *channel;

    pthread_mutex_lock(&engine->gate);
    TAILQ_FOREACH(channel, &engine->channels, link)
    {
        if (channel->id == id)
            break;
    }
    pthread_mutex_unlock(&engine->gate);
    return channel;
}

void
op_touch(struct op *op)
{
    if (op->is_dirty || op->state != OP_RUNNING)
        return;
    op->is_dirty = true;
    TAILQ_INSERT_TAIL(&op->engine->dirty, op, dirty_link);
}

/* All are past what they called before op. One look finds what they sent for
 * that, the next what those who found it then told the others. Flat ones, which
 * read no sockets otherwise, look behind any that is not like them. */
static void
channel_hear(struct channel *channel, const struct op *op)
{
    const bool is_heard = op->status == HOOP_OK && !op->members &&
                          op->stage == 0 && call_needs_all(&op->call);

    if (!is_heard)
        channel->n_unheard = UNHEARD_LOOKS;
    else if (channel->n_unheard > 0 && !op->is_shm)
        channel->n_unheard--;
    if (op->status != HOOP_OK || !op->is_shm || call_has_root(&op->call))
        channel->n_unheard_flat = UNHEARD_LOOKS;
    else if (channel->n_unheard_flat > 0 &&
             !transport_is_in_progress(channel->engine->transport))
        channel->n_unheard_flat--;
}

static void
past_remember(const struct op *op)
{
    struct past_op past = {
        .number = op->number,
        .call = op->first_call,
        .flags = op->label.flags,
        .has_failed = op->status != HOOP_OK,
    };

    memcpy(past.signatures, op->signatures, sizeof(op->signatures));
    past_add(&op->channel->past, &past);
    channel_hear(op->channel, op);
}

struct op *
channel_running(const struct channel *channel, uint64_t number)
{
    struct op *op;

    TAILQ_FOREACH(op, &channel->engine->running, link)
    {
        if (op->channel == channel && !op->is_message && op->number == number)
            break;
    }
    return op;
}

static void
op_close_flows(struct op *op)
{
    struct transport *transport = op->engine->transport;

    if (!op->is_message) {
        assembly_leave(op);
        executor_abort(op);
        if (op->status != HOOP_OK)
            transport_forget(transport, op->channel->id, op->number);
        else
            transport_drop_early_grants(transport, op->channel->id, op->number);
    } else if (op->message.is_receive) {
        transport_receive_cancel(transport, &op->message.in);
    } else {
        transport_send_cancel(transport, &op->message.out);
    }
}

void
op_complete(struct op *op)
{
    if (op->is_message || !mismatch_surplus(op))
        op_end(op, HOOP_OK);
}

/* The library's, not a program's. */
static bool
is_own(const struct op *op)
{
    return op->call.name == CALL_AGREE ||
           (op->is_message && op->label.tag == CALL_TAG_OWN);
}

void
op_end(struct op *op, enum hoop_status status)
{
    struct engine *engine = op->engine;

    if (FAULT_IS_BUILT && op->label.faults && status == HOOP_OK)
        op_strike(op, FAULT_AT_END, 0);
    op->status = status;
    op->has_failed = status != HOOP_OK;
    if (op->state == OP_RUNNING) {
        op_close_flows(op);
        TAILQ_REMOVE(&engine->running, op, link);
    }
    /* What came for it before it was refused. */
    if (op->state == OP_NEW && !op->is_message)
        transport_forget(engine->transport, op->channel->id, op->number);
    if (op->is_dirty)
        TAILQ_REMOVE(&engine->dirty, op, dirty_link);
    op->is_dirty = false;
    op->state = OP_ENDED;
    if (!op->is_message && op->has_failed &&
        (op->channel->failed_first == 0 ||
         op->number < op->channel->failed_first))
        op->channel->failed_first = op->number;
    if (!op->is_message)
        past_remember(op);
    else if (!op->message.is_receive)
        op->channel->n_unheard_flat = UNHEARD_LOOKS;
    if (op->is_message)
        op->channel->n_unheard = UNHEARD_LOOKS;
    if (status == HOOP_OK && !is_own(op))
        engine_count(engine);
    op->status = verdict_settle(op, status);
    TAILQ_INSERT_TAIL(&engine->ended, op, link);
    /* Not at once: the caller may walk the list that it stands in. */
    if (status != HOOP_OK && op->partner)
        op_touch(op->partner);
}

bool
op_is_widowed(const struct op *op)
{
    const struct op *partner = op->partner;

    return partner && partner->state == OP_ENDED && partner->has_failed;
}

void
op_follow(struct op *op)
{
    memcpy(op->text, op->partner->text, sizeof(op->text));
    op->failure = op->partner->failure;
    op_end(op, op->partner->status);
}

/* For those who ask after it later. */
static void
verdict_note(struct channel *channel,
             uint64_t number,
             const struct verdict *verdict)
{
    channel->failed_op = number;
    channel->failed = *verdict;
}

uint32_t
verdict_pack_rank(uint32_t rank)
{
    return rank == HOOP_NO_RANK ? 0 : rank + 1;
}

/* Tell every peer of an operation's failure. */
void
verdict_tell(struct engine *engine,
             const struct channel *channel,
             uint64_t number,
             const struct verdict *verdict)
{
    const struct frame frame = {
        .kind = FRAME_VERDICT,
        .epoch = engine->roster->epoch,
        .comm = channel->id,
        .op = number,
        .tag = verdict->status,
        .call.root = verdict_pack_rank(verdict->rank),
    };
    char told[LIMIT_ERROR_TEXT];

    transport_tell_all(engine->transport, engine->roster->rank, &frame,
                       lost_describe_to_others(engine, verdict->why, told));
}

static struct early_verdict *
early_verdict_find(const struct channel *channel, uint64_t number)
{
    struct early_verdict *early;

    TAILQ_FOREACH(early, &channel->early_verdicts, link)
    {
        if (early->op == number)
            break;
    }
    return early;
}

struct early_verdict *
verdict_take(struct channel *channel, uint64_t number)
{
    struct early_verdict *early = early_verdict_find(channel, number);

    if (early) {
        TAILQ_REMOVE(&channel->early_verdicts, early, link);
        channel->n_early_verdicts--;
    }
    return early;
}

/* For an operation that has not begun. Returns whether it is new, and kept. */
static bool
verdict_keep(struct channel *channel,
             uint64_t number,
             const struct verdict *verdict)
{
    if (channel->n_early_verdicts == LIMIT_EARLY_VERDICTS ||
        early_verdict_find(channel, number))
        return false;
    struct early_verdict *early = malloc(sizeof(*early));
    if (!early)
        return false;
    early->op = number;
    early->verdict = *verdict;
    TAILQ_INSERT_TAIL(&channel->early_verdicts, early, link);
    channel->n_early_verdicts++;
    return true;
}

static uint64_t
number_told(const struct op *op)
{
    return op->is_message ? message_number(op->number)
                          : channel_call_number(op->channel, op->number);
}

void
op_fail_told(struct op *op, const struct verdict *verdict)
{
    char call[CALL_TEXT_MAX];

    call_describe(&op->call, number_told(op), call);
    snprintf(op->text, sizeof(op->text), "%s: %.820s", call, verdict->why);
    op_add_wait(op, verdict);
    op->failure = failure_of_op(op, number_told(op), verdict);
    log_debug("engine", "%s", op->text);
    /* Who closes says goodbye: that is enough. */
    if (!op->is_message && verdict->status != HOOP_E_CLOSED)
        verdict_note(op->channel, op->number, verdict);
    op_end(op, verdict->status);
}

void
op_fail(struct op *op, const struct verdict *verdict)
{
    op_fail_told(op, verdict);
    /* Before its caller knows, who may tell others by other means. */
    op->engine->must_flush = true;
    if (!op->is_message && verdict->status != HOOP_E_CLOSED)
        verdict_tell(op->engine, op->channel, op->number, verdict);
}

void
op_fail_own(struct op *op, enum hoop_status status)
{
    const struct verdict verdict =
        verdict_of(status, op->engine->roster->rank, "%s", error_text());

    op_fail(op, &verdict);
}

/* What returned here was wrong elsewhere. The first is the cause. */
static void
verdict_owe(struct channel *channel, const struct verdict *verdict)
{
    if (channel->is_owed)
        return;
    channel->is_owed = true;
    channel->owed = *verdict;
}

/* As if it had begun, and failed. */
void
decline_carry_out(struct channel *channel,
                  enum hoop_status status,
                  const char *why)
{
    struct engine *engine = channel->engine;
    struct past_op past = {.has_failed = true};
    char name[ROSTER_NAME_MAX];

    pthread_mutex_lock(&engine->gate);
    past.number = atomic_fetch_add(&channel->op_next, 1);
    pthread_mutex_unlock(&engine->gate);
    channel->begin_next = past.number + 1;
    channel->n_unheard_flat = UNHEARD_LOOKS;
    channel->n_unheard = UNHEARD_LOOKS;
    if (channel->failed_first == 0)
        channel->failed_first = past.number;
    past_add(&channel->past, &past);
    transport_forget(engine->transport, channel->id, past.number);
    free(verdict_take(channel, past.number));

    const struct verdict verdict = verdict_of(
        status, engine->roster->rank, "%s cannot take part: %.700s",
        roster_name(engine->roster, engine->roster->rank, name), why);
    verdict_note(channel, past.number, &verdict);
    engine->must_flush = true;
    verdict_tell(engine, channel, past.number, &verdict);
}

enum hoop_status
verdict_settle(struct op *op, enum hoop_status status)
{
    struct channel *channel = op->channel;
    char call[CALL_TEXT_MAX];

    if (!channel->is_owed || status == HOOP_E_CLOSED)
        return status;
    channel->is_owed = false;
    const size_t n_own = status == HOOP_OK ? 0 : strlen(op->text);
    const char *verb =
        channel->owed.status == HOOP_E_MISMATCH ? "differed" : "failed";
    call_describe(&op->call, op->is_message ? 0 : number_told(op), call);
    if (n_own == 0)
        snprintf(op->text, sizeof(op->text),
                 "%s is done, but an earlier call %s: %.700s", call, verb,
                 channel->owed.why);
    else
        snprintf(op->text + n_own, sizeof(op->text) - n_own,
                 "; and an earlier call %s: %s", verb, channel->owed.why);
    op->failure =
        failure_of_op(op, op->is_message ? 0 : number_told(op), &channel->owed);
    log_debug("engine", "%s", op->text);
    return channel->owed.status;
}

static enum hoop_status
status_read(const struct frame *frame)
{
    return frame->tag == HOOP_E_MISMATCH || frame->tag == HOOP_E_TIMEOUT ||
                   frame->tag == HOOP_E_PEER_LOST ||
                   frame->tag == HOOP_E_RANK_FAILED ||
                   frame->tag == HOOP_E_EXHAUSTED || frame->tag == HOOP_E_DENIED
               ? (enum hoop_status)frame->tag
               : HOOP_E_ABORTED;
}

struct verdict
verdict_read(const struct engine *engine,
             const struct frame *frame,
             const char *text)
{
    const bool is_known =
        frame->call.root > 0 && frame->call.root <= engine->roster->size;

    return verdict_of(status_read(frame),
                      is_known ? frame->call.root - 1 : HOOP_NO_RANK, "%s",
                      text);
}

void
verdict_on_message(struct channel *channel,
                   uint32_t peer,
                   const struct frame *frame,
                   const char *text)
{
    const struct verdict verdict = verdict_read(channel->engine, frame, text);
    struct op *op;

    TAILQ_FOREACH(op, &channel->engine->running, link)
    {
        if (op->is_message && op->channel == channel &&
            !op->message.is_receive && op->number == frame->op &&
            op->message.out.key.peer == peer) {
            op_fail(op, &verdict);
            return;
        }
    }
    /* The send has returned; no other call is to fail for it. */
    log_debug("engine", "message #%" PRIu64 ", which has been sent: %s",
              message_number(frame->op), text);
}

/*
 * Many operations may fail at a time, and their verdicts come in any order
 * from all sides: each is passed on when it is new here, or else they would
 * travel for ever.
 */
void
verdict_on_past(struct channel *channel,
                uint64_t number,
                const struct verdict *verdict)
{
    if (!past_fail(&channel->past, number))
        return;
    verdict_note(channel, number, verdict);
    verdict_tell(channel->engine, channel, number, verdict);
    /* Those who know are about to leave, or call something else. */
    if (verdict->status == HOOP_E_MISMATCH ||
        verdict->status == HOOP_E_EXHAUSTED || verdict->status == HOOP_E_DENIED)
        verdict_owe(channel, verdict);
}

void
verdict_on_op(struct engine *engine,
              struct channel *channel,
              const struct frame *frame,
              const char *text)
{
    const struct verdict verdict = verdict_read(engine, frame, text);
    struct op *op = channel_running(channel, frame->op);

    if (frame->op == VERDICT_ON_ALL)
        channel_revoke_told(channel, &verdict);
    else if (op)
        op_fail(op, &verdict);
    else if (frame->op < channel->begin_next)
        verdict_on_past(channel, frame->op, &verdict);
    else if (verdict_keep(channel, frame->op, &verdict))
        verdict_tell(engine, channel, frame->op, &verdict);
}
