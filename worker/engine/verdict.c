/*
 * engine/verdict.c - how operations end badly, and who is told
 *
 * A failure is found by one rank first: a connection that ends, a call that
 * does not match, a deadline. It ends what it touches here, names the culprit,
 * and travels on over every connection, each rank passing on what is new to
 * it, so that ranks that wait for somebody else's sake end too.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/state.h"

/* A verdict on a rank; others are on an operation of a communicator. */
static const uint64_t VERDICT_ON_RANK = 0;

/* Long for a network, short for a person. */
static const uint64_t ASK_AFTER_NS = 100000000;

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

void
channel_remember(struct channel *channel, const struct op *op)
{
    const size_t slot = op->number % COUNT_OF(channel->history);

    channel->history[slot].op = op->number;
    channel->history[slot].signature = op->label.signature;
    channel->history[slot].call = op->call;
    channel->history[slot].has_failed = op->status != HOOP_OK;
}

static void
op_close_flows(struct op *op)
{
    struct transport *transport = op->engine->transport;

    if (!op->is_message) {
        executor_abort(op);
        if (op->status != HOOP_OK)
            transport_forget(transport, op->channel->id, op->number);
    } else if (op->message.is_receive) {
        transport_receive_cancel(transport, &op->message.in);
    } else {
        transport_send_cancel(transport, &op->message.out);
    }
}

void
op_end(struct op *op, enum hoop_status status)
{
    struct engine *engine = op->engine;

    op->status = status;
    if (op->state == OP_RUNNING) {
        op_close_flows(op);
        TAILQ_REMOVE(&engine->running, op, link);
    }
    if (op->is_dirty)
        TAILQ_REMOVE(&engine->dirty, op, dirty_link);
    op->is_dirty = false;
    op->state = OP_ENDED;
    if (!op->is_message)
        channel_remember(op->channel, op);
    if (status == HOOP_OK)
        atomic_fetch_add(&engine->n_ended, 1);

    pthread_mutex_lock(&engine->gate);
    struct waiter *waiter = op->waiter;
    atomic_store(&op->is_done, true);
    if (waiter)
        pthread_cond_signal(&waiter->cond);
    pthread_mutex_unlock(&engine->gate);
}

/* Tell every peer of an operation's failure. */
static void
tell_op(struct engine *engine,
        const struct channel *channel,
        uint64_t number,
        enum hoop_status status,
        const char *text)
{
    const struct frame verdict = {
        .kind = FRAME_VERDICT,
        .epoch = engine->roster->epoch,
        .comm = channel->id,
        .op = number,
        .tag = status,
    };

    transport_tell_all(engine->transport, engine->roster->rank, &verdict, text);
}

static void
verdict_keep(struct channel *channel,
             uint64_t number,
             enum hoop_status status,
             const char *text)
{
    channel->has_verdict = true;
    channel->verdict_op = number;
    channel->verdict_status = status;
    snprintf(channel->verdict_text, sizeof(channel->verdict_text), "%s", text);
}

void
op_fail(struct op *op, enum hoop_status status, const char *why)
{
    struct channel *channel = op->channel;
    char call[CALL_TEXT_MAX];

    call_describe(&op->call, op->number, call);
    snprintf(op->text, sizeof(op->text), "%s: %s", call, why);
    log_debug("engine", "%s", op->text);
    op_end(op, status);
    if (op->is_message || status == HOOP_E_CLOSED)
        return;
    if (channel->has_verdict && channel->verdict_op == op->number)
        return;
    verdict_keep(channel, op->number, status, why);
    tell_op(op->engine, channel, op->number, status, why);
}

static bool
has_member(const struct channel *channel, uint32_t world_rank)
{
    for (uint32_t i = 0; i < channel->size; i++) {
        if (channel->ranks[i] == world_rank)
            return true;
    }
    return false;
}

/* Whether op cannot end without world_rank. */
static bool
op_needs(const struct op *op, uint32_t world_rank)
{
    if (!op->is_message)
        return has_member(op->channel, world_rank);

    const uint32_t peer = op->message.is_receive ? op->message.in.key.peer
                                                 : op->message.out.key.peer;
    return peer == world_rank ||
           (peer == FLOW_ANY_PEER && has_member(op->channel, world_rank));
}

static void
fail_needing(struct engine *engine, uint32_t world_rank, const char *why)
{
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op_needs(op, world_rank))
            op_fail(op, HOOP_E_PEER_LOST, why);
    }
}

void
engine_lose(struct engine *engine, uint32_t rank, const char *why)
{
    struct lost_rank *lost = &engine->lost[rank];
    const struct frame verdict = {
        .kind = FRAME_VERDICT,
        .epoch = engine->roster->epoch,
        .comm = VERDICT_ON_RANK,
        .op = rank,
        .signature = engine->roster->members[rank].incarnation,
        .tag = HOOP_E_PEER_LOST,
    };

    if (lost->is_lost || lost->has_left || engine->is_leaving)
        return;
    lost->is_lost = true;
    snprintf(lost->why, sizeof(lost->why), "%s", why);
    /* Before the operations end: their peers learn who, not only that. */
    transport_tell_all(engine->transport, rank, &verdict, why);

    char name[ROSTER_NAME_MAX];
    char text[LIMIT_ERROR_TEXT];
    snprintf(text, sizeof(text), "%s is lost: %s",
             roster_name(engine->roster, rank, name), why);
    log_warning("engine", "%s", text);
    fail_needing(engine, rank, text);
    transport_unreachable(engine->transport, rank, why);
    engine->options.on_lost(engine->options.owner, rank, why);
}

/* The flow cannot end: its peer left before it sent or took everything. */
static bool
is_stranded(const struct engine *engine, const struct step_flow *flow)
{
    const uint32_t peer =
        flow->is_receive ? flow->in.key.peer : flow->out.key.peer;

    if (peer == FLOW_ANY_PEER || !engine->lost[peer].has_left)
        return false;
    return flow->is_receive
               ? !transport_has_all(&flow->in)
               : flow->out.framed < flow->out.total || !flow->out.is_opened;
}

static bool
is_deserted(const struct op *op)
{
    const struct engine *engine = op->engine;

    if (op->message.in.key.peer != FLOW_ANY_PEER)
        return false;
    for (uint32_t i = 0; i < op->channel->size; i++) {
        if (i != op->channel->rank &&
            !engine->lost[op->channel->ranks[i]].has_left)
            return false;
    }
    return true;
}

static const char *
op_stranded(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct engine *engine = op->engine;
    const struct step_flow *flow =
        op->is_message ? &op->message : TAILQ_FIRST(&op->flows);
    char name[ROSTER_NAME_MAX];

    if (engine->n_left == 0)
        return NULL;
    if (op->is_message && op->message.is_receive && is_deserted(op)) {
        snprintf(text, LIMIT_ERROR_TEXT, "every other rank has left the job");
        return text;
    }
    for (; flow; flow = op->is_message ? NULL : TAILQ_NEXT(flow, link)) {
        if (!is_stranded(engine, flow))
            continue;
        snprintf(text, LIMIT_ERROR_TEXT, "%s has left the job",
                 roster_name(engine->roster,
                             flow->is_receive ? flow->in.key.peer
                                              : flow->out.key.peer,
                             name));
        return text;
    }
    return NULL;
}

const char *
op_broken(const struct op *op, char text[LIMIT_ERROR_TEXT])
{
    const struct engine *engine = op->engine;
    char name[ROSTER_NAME_MAX];

    for (uint32_t i = 0; i < op->channel->size; i++) {
        const uint32_t rank = op->channel->ranks[i];

        if (!engine->lost[rank].is_lost || !op_needs(op, rank))
            continue;
        snprintf(text, LIMIT_ERROR_TEXT, "%s is lost: %s",
                 roster_name(engine->roster, rank, name),
                 engine->lost[rank].why);
        return text;
    }
    return op_stranded(op, text);
}

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

/* Events of the transport. */

static void
on_handed(void *owner, struct outflow *out, uint64_t n_bytes)
{
    struct step_flow *flow = out->owner;

    (void)owner;
    if (!flow->op->is_message)
        executor_handed(flow, n_bytes);
    else if (out->handed == out->total)
        op_touch(flow->op);
}

static void
message_arrived(struct op *op)
{
    const struct inflow *in = &op->message.in;

    if (op->received) {
        const struct channel *channel = op->channel;
        uint32_t source = 0;

        while (channel->ranks[source] != in->key.peer)
            source++;
        op->received->source = source;
        op->received->count = in->total / op->element_size;
    }
    op_touch(op);
}

static void
on_arrived(void *owner, struct inflow *in, const uint8_t *piece, size_t n_bytes)
{
    struct step_flow *flow = in->owner;

    (void)owner;
    if (!flow->op->is_message)
        executor_arrived(flow, piece, n_bytes);
    else if (in->arrived == in->total)
        message_arrived(flow->op);
}

static void
on_matched(void *owner, struct inflow *in)
{
    (void)owner;
    (void)in;
}

static enum transport_fate
on_unexpected(void *owner, uint32_t peer, const struct frame *frame)
{
    struct engine *engine = owner;
    struct channel *channel = engine_channel(engine, frame->comm);

    (void)peer;
    /* Its members may be ahead of us: the communicator is not here yet. */
    if (!channel || frame->op >= channel->op_next)
        return TRANSPORT_KEEP;

    struct op *op;
    TAILQ_FOREACH(op, &engine->running, link)
    {
        if (op->channel == channel && !op->is_message &&
            op->number == frame->op)
            return frame->signature == op->label.signature ? TRANSPORT_KEEP
                                                           : TRANSPORT_MISMATCH;
    }
    pthread_mutex_lock(&engine->gate);
    TAILQ_FOREACH(op, &engine->mailbox, link)
    {
        if (op->channel == channel && !op->is_message &&
            op->number == frame->op)
            break;
    }
    pthread_mutex_unlock(&engine->gate);
    if (op)
        return TRANSPORT_KEEP;

    const size_t slot = frame->op % COUNT_OF(channel->history);
    if (channel->history[slot].op != frame->op ||
        channel->history[slot].has_failed)
        return TRANSPORT_DROP;
    /* What went eagerly is granted too late; any payload is too much. */
    return frame->kind == FRAME_GRANT &&
                   frame->signature == channel->history[slot].signature
               ? TRANSPORT_DROP
               : TRANSPORT_MISMATCH;
}

static void
describe_mismatch(const struct engine *engine,
                  uint32_t peer,
                  const struct frame *frame,
                  const struct frame_call *own,
                  char text[LIMIT_ERROR_TEXT])
{
    char call[CALL_TEXT_MAX];
    char peer_call[CALL_TEXT_MAX];
    char name[ROSTER_NAME_MAX];
    char peer_name[ROSTER_NAME_MAX];

    call_describe(own, frame->op, call);
    call_describe(&frame->call, frame->op, peer_call);
    snprintf(text, LIMIT_ERROR_TEXT, "%s called %s, but %s called %s",
             roster_name(engine->roster, engine->roster->rank, name), call,
             roster_name(engine->roster, peer, peer_name), peer_call);
}

/* A message does not fit its receive: both sides' operations end. */
static void
mismatch_message(struct engine *engine,
                 uint32_t peer,
                 const struct frame *frame,
                 struct op *op)
{
    char text[LIMIT_ERROR_TEXT];
    const struct frame verdict = {
        .kind = FRAME_VERDICT,
        .flags = FRAME_POINT_TO_POINT,
        .epoch = engine->roster->epoch,
        .comm = frame->comm,
        .op = frame->op,
        .tag = HOOP_E_MISMATCH,
    };

    describe_mismatch(engine, peer, frame, &op->call, text);
    transport_tell(engine->transport, peer, &verdict, text);
    op_fail(op, HOOP_E_MISMATCH, text);
}

/* What returned here was wrong elsewhere: the call under way learns it, or
 * else the next. */
static void
tell_next(struct channel *channel, enum hoop_status status, const char *text)
{
    struct op *op;

    TAILQ_FOREACH(op, &channel->engine->running, link)
    {
        if (op->channel == channel && !op->is_message) {
            op_fail(op, status, text);
            return;
        }
    }
    channel->verdict_status = status;
    snprintf(channel->verdict_text, sizeof(channel->verdict_text), "%s", text);
    channel->is_told = true;
}

static void
on_mismatch(void *owner,
            uint32_t peer,
            const struct frame *frame,
            struct inflow *in)
{
    struct engine *engine = owner;
    struct channel *channel = engine_channel(engine, frame->comm);
    char text[LIMIT_ERROR_TEXT];

    if (in && in->key.kind == FLOW_MESSAGE) {
        const struct step_flow *flow = in->owner;
        mismatch_message(engine, peer, frame, flow->op);
        return;
    }
    struct op *op;
    TAILQ_FOREACH(op, &engine->running, link)
    {
        if (op->channel == channel && !op->is_message &&
            op->number == frame->op)
            break;
    }
    if (op) {
        describe_mismatch(engine, peer, frame, &op->call, text);
        op_fail(op, HOOP_E_MISMATCH, text);
        return;
    }
    /* It has returned here: the others end, this rank learns it next. */
    const size_t slot = frame->op % COUNT_OF(channel->history);
    describe_mismatch(engine, peer, frame, &channel->history[slot].call, text);
    channel->history[slot].has_failed = true;
    verdict_keep(channel, frame->op, HOOP_E_MISMATCH, text);
    tell_op(engine, channel, frame->op, HOOP_E_MISMATCH, text);
    tell_next(channel, HOOP_E_MISMATCH, text);
}

static void
verdict_on_message(struct engine *engine,
                   struct channel *channel,
                   const struct frame *frame,
                   const char *text)
{
    struct op *op;

    TAILQ_FOREACH(op, &engine->running, link)
    {
        if (op->is_message && op->channel == channel &&
            !op->message.is_receive && op->number == frame->op) {
            op_fail(op, HOOP_E_MISMATCH, text);
            return;
        }
    }
    tell_next(channel, HOOP_E_MISMATCH, text);
}

static enum hoop_status
status_of(const struct frame *frame)
{
    return frame->tag == HOOP_E_MISMATCH || frame->tag == HOOP_E_TIMEOUT ||
                   frame->tag == HOOP_E_PEER_LOST ||
                   frame->tag == HOOP_E_EXHAUSTED
               ? (enum hoop_status)frame->tag
               : HOOP_E_ABORTED;
}

static void
verdict_on_op(struct engine *engine,
              struct channel *channel,
              const struct frame *frame,
              const char *text)
{
    const enum hoop_status status = status_of(frame);
    struct op *op;

    if (channel->has_verdict && channel->verdict_op == frame->op)
        return;
    TAILQ_FOREACH(op, &engine->running, link)
    {
        if (op->channel == channel && !op->is_message &&
            op->number == frame->op) {
            op_fail(op, status, text);
            return;
        }
    }
    verdict_keep(channel, frame->op, status, text);
    tell_op(engine, channel, frame->op, status, text);
    if (frame->op < channel->op_next && status == HOOP_E_MISMATCH)
        tell_next(channel, status, text);
}

static void
on_verdict(void *owner,
           uint32_t peer,
           const struct frame *frame,
           const char *text)
{
    struct engine *engine = owner;

    if (frame->comm == VERDICT_ON_RANK) {
        if (frame->op >= engine->roster->size ||
            frame->op == engine->roster->rank || frame->op == peer)
            return;
        engine_lose(engine, (uint32_t)frame->op, text);
        return;
    }

    struct channel *channel = engine_channel(engine, frame->comm);
    if (!channel)
        return;
    if (frame->flags & FRAME_POINT_TO_POINT)
        verdict_on_message(engine, channel, frame, text);
    else
        verdict_on_op(engine, channel, frame, text);
}

static void
on_lost(void *owner, uint32_t peer, const char *why)
{
    engine_lose(owner, peer, why);
}

/* Whoever leaves has ended its operations; those here that still need it, for
 * more than what it sent before, never will. */
static void
on_left(void *owner, uint32_t peer)
{
    struct engine *engine = owner;
    char text[LIMIT_ERROR_TEXT];
    struct op *next;

    if (engine->is_leaving || engine->lost[peer].is_lost)
        return;
    engine->lost[peer].has_left = true;
    engine->n_left++;
    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op_stranded(op, text))
            op_fail(op, HOOP_E_PEER_LOST, text);
    }
}

static void
on_needed(void *owner, uint32_t peer)
{
    const struct engine *engine = owner;

    engine->options.on_needed(engine->options.owner, peer);
}

const struct transport_events engine_events = {
    .on_handed = on_handed,
    .on_arrived = on_arrived,
    .on_matched = on_matched,
    .on_unexpected = on_unexpected,
    .on_mismatch = on_mismatch,
    .on_verdict = on_verdict,
    .on_lost = on_lost,
    .on_left = on_left,
    .on_needed = on_needed,
};
