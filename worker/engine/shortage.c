/*
 * engine/shortage.c - no connection, since one end has no descriptor for it
 *
 * Both ranks live, so nobody is lost: what needs the connection fails, here and
 * on all members of its call, with a text that says who lacks what; the next
 * call asks for the connection again. Who receives what could not be sent is
 * perhaps connected to nobody who knows: such news goes from rank to rank, each
 * of which passes on what is new to it.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "engine/reason.h"
#include "engine/state.h"

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
        .offset = ++engine->lost[self].n_short_told,
    };

    transport_tell_all(engine->transport, self, &verdict, text);
}

void
shortage_take(struct engine *engine, const struct letter *letter)
{
    struct lost_rank *lost = &engine->lost[letter->rank];
    char text[LIMIT_ERROR_TEXT];
    struct op *next;

    if (lost->is_lost || lost->has_left ||
        !transport_fall_back(engine->transport, letter->rank))
        return;
    lost->short_status = letter->status;
    lost->short_of = letter->of;
    memcpy(lost->why, letter->why, sizeof(lost->why));
    shortage_describe(engine, letter->rank, text);
    log_warning("engine", "%s", text);
    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (!op_waits_for(op, letter->rank))
            continue;
        if (op->is_message && !op->message.is_receive)
            send_failed(op, letter->status, text);
        op_fail(op, letter->status, text);
    }
}

void
engine_shortage(struct engine *engine,
                const struct connector_shortage *shortage)
{
    struct letter letter = {
        .kind = LETTER_SHORTAGE,
        .rank = shortage->rank,
        .of = shortage->of,
        .status = shortage->status,
    };

    reason_write(shortage->why, "", letter.why);
    engine_letter(engine, &letter);
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

/* Nobody receives it yet. */
static void
failed_send_keep(struct channel *channel,
                 const struct frame *frame,
                 const char *text)
{
    const size_t n_text = strlen(text) + 1;
    struct failed_send *failed = channel->n_failed_sends < LIMIT_FORETOLD
                                     ? malloc(sizeof(*failed) + n_text)
                                     : NULL;

    if (!failed)
        return;
    failed->source = frame->step;
    failed->tag = frame->op;
    failed->status = verdict_status(frame);
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

void
shortage_came(struct engine *engine,
              uint32_t peer,
              const struct frame *frame,
              const char *text)
{
    struct channel *channel = engine_channel(engine, frame->comm);
    struct op *op;

    if (frame->step >= engine->roster->size ||
        frame->offset > LIMIT_FAILED_SENDS ||
        frame->offset <= engine->lost[frame->step].n_short_told)
        return;
    engine->lost[frame->step].n_short_told = frame->offset;
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
    failed_send_forget(channel, failed);
    return true;
}

void
shortage_forget(struct channel *channel)
{
    while (!TAILQ_EMPTY(&channel->failed_sends))
        failed_send_forget(channel, TAILQ_FIRST(&channel->failed_sends));
}
