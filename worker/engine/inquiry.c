/*
 * engine/inquiry.c - who waits asks the others what they have called
 *
 * A frame of another call gives itself away, but who sends nothing shows
 * nothing: two ranks that both wait for the other, or one that had nothing to
 * send and has returned. So whoever waits for long asks, and is told what was
 * called, that it has ended, how it has failed, what keeps the other busy; or
 * that the other has no such communicator any more, and never will.
 * Who leaves answers beforehand: it cannot be asked any more.
 */

#include <stdlib.h>

#include "engine/closing.h"
#include "engine/state.h"

enum {
    /* What a rank that leaves tells of each of its communicators. */
    FAREWELL_OPS = 8,
};

static void
tell(const struct channel *channel, uint32_t peer, struct frame frame)
{
    frame.kind = FRAME_HEARTBEAT;
    frame.epoch = channel->engine->roster->epoch;
    frame.comm = channel->id;
    transport_tell(channel->engine->transport, peer, &frame, NULL);
}

/* Of the call itself: those of the check before it, or of another stage, are no
 * length that the peer, who may be through with it, would know. */
static bool
is_in_call(const struct op *op)
{
    return op_stage(op) == 0;
}

static uint64_t
bytes_awaited(const struct step_flow *flow)
{
    return flow->is_receive && is_in_call(flow->op) ? flow->in.total : 0;
}

void
inquiry_send(const struct step_flow *flow)
{
    const struct op *op = flow->op;

    if (step_flow_peer(flow) == FLOW_ANY_PEER)
        return;
    tell(op->channel, step_flow_peer(flow),
         (struct frame){
             .flags = FRAME_ASKS | (op->is_message ? FRAME_POINT_TO_POINT : 0) |
                      op->label.flags,
             .op = op->is_message ? 0 : op->number,
             .signature = op->signatures[0],
             .total = bytes_awaited(flow),
             .call = op->is_message ? op->call : op->first_call,
         });
}

static struct frame
answer_of(const struct op *op)
{
    return (struct frame){
        .flags = op->label.flags,
        .op = op->number,
        .step = op->is_checking ? 0 : op->stage << STAGE_SHIFT,
        .signature = op->signatures[0],
        .call = op->first_call,
    };
}

static struct frame
answer_of_past(const struct past_op *past)
{
    return (struct frame){
        .flags = FRAME_ENDED | past->flags,
        .op = past->number,
        .signature = past->signatures[0],
        .call = past->call,
    };
}

/* The oldest operation of channel that runs; if there is none, the oldest of any
 * other communicator. NULL: nothing runs. */
static const struct op *
find_running(const struct channel *channel)
{
    const struct op *other = NULL;
    const struct op *op;

    TAILQ_FOREACH(op, &channel->engine->running, link)
    {
        if (op->channel == channel)
            return op;
        if (!other)
            other = op;
    }
    return other;
}

/* The call that peer asks about has not been made here: say what runs instead.
 * An operation of another communicator has that one's id in total, and its number
 * is as users count, since peer may not be a member. */
static void
answer_busy(const struct channel *channel,
            uint32_t peer,
            const struct frame *question)
{
    struct frame answer = {
        .flags = FRAME_BUSY | (question->flags & FRAME_POINT_TO_POINT),
        .op = question->op,
    };
    const struct op *op = find_running(channel);

    if (op) {
        answer.call = op->call;
        answer.offset = op->is_message ? 0 : op->number;
    }
    if (op && op->channel != channel) {
        answer.total = op->channel->id;
        answer.offset = channel_call_number(op->channel, answer.offset);
    }
    tell(channel, peer, answer);
}

static void
answer_past(const struct channel *channel, uint32_t peer, uint64_t number)
{
    const struct past_op *past = past_find(&channel->past, number);
    const bool is_noted = channel->failed_op == number;
    const struct frame verdict = {
        .kind = FRAME_VERDICT,
        .epoch = channel->engine->roster->epoch,
        .comm = channel->id,
        .op = number,
        .tag = is_noted ? channel->failed.status : HOOP_E_ABORTED,
        .call.root = is_noted ? verdict_pack_rank(channel->failed.rank) : 0,
    };
    char told[LIMIT_ERROR_TEXT];

    if (past_has_failed(&channel->past, number))
        transport_tell(channel->engine->transport, peer, &verdict,
                       is_noted
                           ? lost_describe_to_others(channel->engine,
                                                     channel->failed.why, told)
                           : "it has failed on another rank");
    else
        tell(channel, peer,
             past ? answer_of_past(past)
                  : (struct frame){.flags = FRAME_ENDED, .op = number});
}

/* Bytes that op, of alltoallv, sends to peer, in or out of its line. */
static uint64_t
bytes_for(const struct op *op, uint32_t peer)
{
    uint32_t rank = 0;

    while (rank < op->shape.size && op_member(op, rank) != peer)
        rank++;
    return rank < op->shape.size ? op->shape.counts[rank] * op->element_size
                                 : 0;
}

void
inquiry_came(struct channel *channel, uint32_t peer, const struct frame *frame)
{
    const struct op *op = channel_running(channel, frame->op);

    if (revocation_answer(channel, peer))
        return;
    if ((frame->flags & FRAME_POINT_TO_POINT) ||
        frame->op >= atomic_load(&channel->op_next)) {
        answer_busy(channel, peer, frame);
        return;
    }
    if (!op && frame->op < channel->begin_next) {
        answer_past(channel, peer, frame->op);
        return;
    }
    /* What will be sent to nobody never shows by itself. */
    if (op && op->shape.recv_counts && is_in_call(op) && frame->total > 0 &&
        frame->signature == op->signatures[0] &&
        frame->total != bytes_for(op, peer)) {
        mismatch_bytes(channel, peer,
                       &(struct misfit){
                           .number = op->number,
                           .call = &op->call,
                           .n_expected = frame->total,
                           .n_sent = bytes_for(op, peer),
                           .is_sent = true,
                       });
        return;
    }
    tell(channel, peer, op ? answer_of(op) : (struct frame){.op = frame->op});
}

/* Whoever gave it up, say, while the asker was being told that all had come,
 * could not tell the asker, who did not have it yet. */
void
inquiry_deny(struct engine *engine, uint32_t peer, const struct frame *frame)
{
    const struct frame answer = {
        .kind = FRAME_HEARTBEAT,
        .flags = FRAME_ENDED | FRAME_WITHDRAWN,
        .epoch = engine->roster->epoch,
        .comm = frame->comm,
        .op = frame->op,
    };

    if (!(frame->flags & FRAME_POINT_TO_POINT) &&
        !engine_keeps(engine, frame->comm))
        transport_tell(engine->transport, peer, &answer, NULL);
}

/* Whoever says so has sent all that it had for op's stage. */
static bool
is_through(const struct op *op, const struct frame *answer)
{
    return (answer->flags & FRAME_ENDED) ||
           answer->step >> STAGE_SHIFT > op->stage;
}

/* peer is through with op: what op still waits for will never come. */
static bool
is_left_waiting(const struct step_flow *flow, struct misfit *out_misfit)
{
    const struct op *op = flow->op;
    const bool is_receive = flow->is_receive;

    *out_misfit = (struct misfit){
        .number = op->number,
        .call = &op->call,
        .n_expected = is_receive ? flow->in.total : flow->out.framed,
        .n_sent = is_receive ? flow->in.arrived : flow->out.total,
        .is_sent = !is_receive,
    };
    return is_receive ? !transport_has_all(&flow->in)
                      : flow->out.framed < flow->out.total;
}

static void
freed_fail(struct op *op, uint32_t peer)
{
    char name[ROSTER_NAME_MAX];
    const struct verdict verdict = verdict_of(
        HOOP_E_PEER_LOST, peer, "%s has freed the communicator, or given it up",
        roster_name(op->engine->roster, peer, name));

    op_fail(op, &verdict);
}

static void
collective_answered(struct op *op, uint32_t peer, const struct frame *frame)
{
    struct step_flow *flow;
    struct misfit misfit;

    if (frame->signature != 0 && frame->signature != op->signatures[0]) {
        mismatch_calls(op->channel, peer, frame);
        return;
    }
    if (op->is_shm)
        rounds_show(op);
    TAILQ_FOREACH(flow, &op->flows, link)
    {
        if (step_flow_peer(flow) != peer)
            continue;
        flow->is_busy = frame->flags & FRAME_BUSY;
        flow->is_answered = !flow->is_busy;
        flow->busy_with = *frame;
        if (!is_through(op, frame) || !is_left_waiting(flow, &misfit))
            continue;
        if (frame->flags & FRAME_WITHDRAWN)
            freed_fail(op, peer);
        else
            mismatch_bytes(op->channel, peer, &misfit);
        return;
    }
}

/* Messages that wait for peer: they have asked before their deadline. */
static void
messages_answered(struct channel *channel,
                  uint32_t peer,
                  const struct frame *frame)
{
    struct op *op;

    TAILQ_FOREACH(op, &channel->engine->running, link)
    {
        if (op->channel != channel || !op->is_message ||
            step_flow_peer(&op->message) != peer)
            continue;
        op->message.is_busy = true;
        op->message.busy_with = *frame;
    }
}

/* Its sender leaves, and this rank has not called it yet. */
static void
farewell_keep(struct channel *channel, uint32_t peer, const struct frame *frame)
{
    if (channel->engine->is_leaving ||
        channel->n_farewells == LIMIT_EARLY_VERDICTS)
        return;
    struct farewell *farewell = malloc(sizeof(*farewell));
    if (!farewell)
        return;
    farewell->peer = peer;
    farewell->frame = *frame;
    TAILQ_INSERT_TAIL(&channel->farewells, farewell, link);
    channel->n_farewells++;
}

void
inquiry_answered(struct channel *channel,
                 uint32_t peer,
                 const struct frame *frame)
{
    struct op *op = channel_running(channel, frame->op);

    if (frame->flags & FRAME_POINT_TO_POINT)
        messages_answered(channel, peer, frame);
    else if (op)
        collective_answered(op, peer, frame);
    else if (frame->op >= channel->begin_next && (frame->flags & FRAME_ENDED))
        farewell_keep(channel, peer, frame);
}

static void
bid_farewell(const struct channel *channel, uint32_t peer)
{
    const uint64_t next = channel->begin_next;
    const uint64_t first = next > FAREWELL_OPS ? next - FAREWELL_OPS : 1;

    for (uint64_t number = first; number < next; number++) {
        /* A failure was told to those who were connected then. */
        if (channel->failed_op == number ||
            !past_has_failed(&channel->past, number))
            answer_past(channel, peer, number);
    }
}

void
inquiry_part(struct engine *engine, uint32_t peer)
{
    const struct channel *channel;

    pthread_mutex_lock(&engine->gate);
    TAILQ_FOREACH(channel, &engine->channels, link)
    {
        if (channel_has(channel, peer))
            bid_farewell(channel, peer);
    }
    pthread_mutex_unlock(&engine->gate);
}

void
inquiry_end(const struct channel *channel)
{
    for (uint32_t i = 0; i < channel->size; i++) {
        if (i != channel->rank)
            bid_farewell(channel, channel->ranks[i]);
    }
}

static void
farewell_destroy(struct channel *channel, struct farewell *farewell)
{
    TAILQ_REMOVE(&channel->farewells, farewell, link);
    channel->n_farewells--;
    free(farewell);
}

void
inquiry_recall(struct op *op)
{
    struct channel *channel = op->channel;
    struct farewell *next;

    for (struct farewell *at = TAILQ_FIRST(&channel->farewells); at;
         at = next) {
        next = TAILQ_NEXT(at, link);
        if (at->frame.op > op->number)
            continue;
        if (at->frame.op == op->number && op->state == OP_RUNNING &&
            at->frame.signature != op->signatures[0])
            mismatch_calls(channel, at->peer, &at->frame);
        farewell_destroy(channel, at);
    }
}

void
inquiry_forget(struct channel *channel)
{
    while (!TAILQ_EMPTY(&channel->farewells))
        farewell_destroy(channel, TAILQ_FIRST(&channel->farewells));
}
