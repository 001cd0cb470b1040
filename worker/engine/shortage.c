/*
 * engine/shortage.c - no connection, since one end has no descriptor for it
 *
 * Both ranks live, so nobody is lost. What needs the connection fails, here and
 * on all members of its call, with a text that says who lacks what. The next
 * call asks for the connection again. The receiver of what could not be sent
 * may have no connection to the sender. So the sender tells all ranks that it
 * is connected to, with a number, and each rank passes on what is new to it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/reason.h"
#include "engine/state.h"

enum {
    WORD_BITS = 64,
};

/* "rank 1 (a:70) cannot connect to rank 2 (b:71): its process may open ..." */
static void
shortage_describe(const struct engine *engine,
                  uint32_t rank,
                  char text[LIMIT_ERROR_TEXT])
{
    const struct lost_rank *lost = &engine->lost[rank];
    const uint32_t self = engine->roster->rank;
    char of[ROSTER_NAME_MAX];
    char other[ROSTER_NAME_MAX];

    roster_name(engine->roster, lost->short_of, of);
    roster_name(engine->roster, lost->short_of == self ? rank : self, other);
    snprintf(text, LIMIT_ERROR_TEXT, "%s cannot connect to %s: %s", of, other,
             lost->why);
}

enum hoop_status
shortage_raise(const struct engine *engine, uint32_t rank)
{
    char text[LIMIT_ERROR_TEXT];

    shortage_describe(engine, rank, text);
    return error_raise(engine->lost[rank].short_status, "%s", text);
}

/* It can go no further without the connection to rank. */
static bool
op_waits_for(const struct op *op, uint32_t rank)
{
    const struct step_flow *flow;

    if (op->is_message)
        return step_flow_peer(&op->message) == rank;
    TAILQ_FOREACH(flow, &op->flows, link)
    {
        if (step_flow_peer(flow) == rank)
            return true;
    }
    return false;
}

/* op, a send, fails: whoever waits for it is told, by way of others. */
static void
send_failed(const struct op *op, enum hoop_status status, const char *text)
{
    struct engine *engine = op->engine;
    const uint32_t self = engine->roster->rank;
    const struct frame verdict = {
        .kind = FRAME_VERDICT,
        .flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN,
        .epoch = engine->roster->epoch,
        .comm = op->channel->id,
        .op = op->label.tag,
        .signature = op->message.out.key.peer,
        .tag = status,
        .step = self,
        .offset = ++engine->n_failed_told,
    };

    transport_tell_all(engine->transport, self, &verdict, text);
}

void
shortage_take(struct engine *engine, const struct notice *notice)
{
    struct lost_rank *lost = &engine->lost[notice->rank];
    char text[LIMIT_ERROR_TEXT];
    struct op *next;

    if (lost->is_lost || lost->has_left ||
        !transport_fall_back(engine->transport, notice->rank))
        return;
    lost->short_status = notice->status;
    lost->short_of = notice->of;
    memcpy(lost->why, notice->why, sizeof(lost->why));
    shortage_describe(engine, notice->rank, text);
    log_warning("engine", "%s", text);
    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (!op_waits_for(op, notice->rank))
            continue;
        if (op->is_message && !op->message.is_receive)
            send_failed(op, notice->status, text);
        op_fail(op, notice->status, text);
    }
}

void
engine_shortage(struct engine *engine,
                const struct connector_shortage *shortage)
{
    struct notice notice = {
        .kinds = NOTICE_SHORTAGE,
        .rank = shortage->rank,
        .of = shortage->of,
        .status = shortage->status,
    };

    reason_write(shortage->why, "", notice.why);
    engine_notify(engine, &notice);
}

/* Whether op is the receive of what source sends with that tag. */
static bool
op_receives(const struct op *op, uint32_t source, uint64_t tag)
{
    const struct inflow *in = &op->message.in;

    return op->is_message && op->message.is_receive && !in->is_matched &&
           op->label.tag == tag &&
           (in->key.peer == source || in->key.peer == FLOW_ANY_PEER);
}

/* Nobody receives it yet. Those that are alike are counted. */
static void
failed_send_keep(struct channel *channel,
                 const struct frame *frame,
                 const char *text)
{
    const enum hoop_status status = verdict_status(frame);
    struct failed_send *failed;

    TAILQ_FOREACH(failed, &channel->failed_sends, link)
    {
        if (failed->source == frame->step && failed->tag == frame->op &&
            failed->status == status && strcmp(failed->text, text) == 0) {
            failed->n++;
            return;
        }
    }
    const size_t n_text = strlen(text) + 1;
    failed = channel->n_failed_sends < LIMIT_FORETOLD
                 ? malloc(sizeof(*failed) + n_text)
                 : NULL;
    if (!failed) {
        log_warning(
            "engine",
            "no room to remember that a message of tag %llu has failed: "
            "its receive ends at its deadline (%s)",
            (unsigned long long)frame->op, text);
        return;
    }
    failed->n = 1;
    failed->source = frame->step;
    failed->tag = frame->op;
    failed->status = status;
    memcpy(failed->text, text, n_text);
    TAILQ_INSERT_TAIL(&channel->failed_sends, failed, link);
    channel->n_failed_sends++;
}

static void
failed_send_forget(struct channel *channel, struct failed_send *failed)
{
    TAILQ_REMOVE(&channel->failed_sends, failed, link);
    channel->n_failed_sends--;
    free(failed);
}

/* Which of the news of one rank have come: the highest number, and in a ring of
 * bits those below it, as receivers of IPsec do (RFC 4303, 3.4.3). */
struct failed_window {
    uint64_t last;
    uint64_t seen[LIMIT_FAILED_SENDS / WORD_BITS];
};

static uint64_t *
word_of(struct failed_window *window, uint64_t number)
{
    return &window->seen[number / WORD_BITS % COUNT_OF(window->seen)];
}

/* Those that leave it are never asked for again. */
static void
window_advance(struct failed_window *window, uint64_t number)
{
    if (number - window->last >= LIMIT_FAILED_SENDS)
        memset(window->seen, 0, sizeof(window->seen));
    else
        for (uint64_t i = window->last + 1; i <= number; i++)
            *word_of(window, i) &= ~(UINT64_C(1) << i % WORD_BITS);
    window->last = number;
}

/* Whether news of that number are new. Each path to here brings all in order,
 * but they have come by several, of which some were made later. */
static bool
news_are_new(struct lost_rank *source, uint64_t number)
{
    const uint64_t bit = UINT64_C(1) << number % WORD_BITS;

    if (!source->failed)
        source->failed = calloc(1, sizeof(*source->failed));
    if (!source->failed || number == 0)
        return false;
    if (number > source->failed->last)
        window_advance(source->failed, number);
    if (source->failed->last - number >= LIMIT_FAILED_SENDS ||
        (*word_of(source->failed, number) & bit) != 0)
        return false;
    *word_of(source->failed, number) |= bit;
    return true;
}

void
shortage_came(struct engine *engine,
              uint32_t peer,
              const struct frame *frame,
              const char *text)
{
    struct channel *channel = engine_channel(engine, frame->comm);
    struct op *op;

    if (frame->step >= engine->roster->size ||
        frame->step == engine->roster->rank ||
        !news_are_new(&engine->lost[frame->step], frame->offset))
        return;
    transport_tell_all(engine->transport, peer, frame, text);
    if (frame->signature != engine->roster->rank || !channel)
        return;
    TAILQ_FOREACH(op, &engine->running, link)
    {
        if (op->channel == channel && op_receives(op, frame->step, frame->op)) {
            op_fail(op, verdict_status(frame), text);
            return;
        }
    }
    failed_send_keep(channel, frame, text);
}

bool
shortage_refuse(struct op *op)
{
    struct channel *channel = op->channel;
    struct failed_send *failed;

    TAILQ_FOREACH(failed, &channel->failed_sends, link)
    {
        if (op_receives(op, failed->source, failed->tag))
            break;
    }
    if (!failed)
        return false;
    op_fail_told(op, failed->status, failed->text);
    if (--failed->n == 0)
        failed_send_forget(channel, failed);
    return true;
}

void
shortage_forget(struct channel *channel)
{
    while (!TAILQ_EMPTY(&channel->failed_sends))
        failed_send_forget(channel, TAILQ_FIRST(&channel->failed_sends));
}
