/* transport/match.c - finding the receiver of a frame, and early arrivals */

#include "transport/match.h"

#include <stdlib.h>
#include <string.h>

#include "dtype/dtype.h"
#include "tensor/shape.h"
#include "transport/cellar.h"
#include "transport/echo.h"
#include "transport/payload.h"
#include "transport/window.h"

static bool
key_equal(const struct flow_key *a, const struct flow_key *b)
{
    return a->op == b->op && a->step == b->step && a->comm == b->comm &&
           a->kind == b->kind && a->peer == b->peer;
}

struct flow_key
match_key(const struct peer *peer, const struct frame *frame)
{
    const bool is_message =
        frame->kind == FRAME_MESSAGE || (frame->kind != FRAME_COLLECTIVE &&
                                         (frame->flags & FRAME_POINT_TO_POINT));

    return (struct flow_key){
        .comm = frame->comm,
        .op = frame->op,
        .step = is_message ? 0 : frame->step,
        .peer = peer->rank,
        .kind = is_message ? FLOW_MESSAGE : FLOW_COLLECTIVE,
    };
}

static bool
posted_wants(const struct inflow *flow,
             const struct flow_key *key,
             const struct frame *frame)
{
    return flow->key.comm == key->comm && flow->label->tag == frame->tag &&
           (flow->key.peer == FLOW_ANY_PEER || flow->key.peer == key->peer);
}

/* What came of a message first. */
struct opening {
    const struct frame *frame;
    const struct frame_tensor *tensor; /* NULL: it is none */
};

static bool
is_expected(const struct frame_tensor *expected, const struct opening *opening)
{
    if (expected->part != opening->tensor->part)
        return false;
    return expected->shape.n_dims == HOOP_ANY_SHAPE ||
           shape_equal(&expected->shape, &opening->tensor->shape);
}

static bool
message_fits(const struct inflow *flow, const struct opening *opening)
{
    const struct flow_label *label = flow->label;

    if (!label->tensor != !opening->tensor)
        return false;
    if (label->tensor && !is_expected(label->tensor, opening))
        return false;
    const uint32_t dtype = opening->frame->call.dtype;
    if (label->tensor && label->tensor->shape.n_dims == HOOP_ANY_SHAPE)
        return dtype_size((enum hoop_dtype)dtype) > 0 &&
               (label->call.dtype == FRAME_ANY_DTYPE ||
                label->call.dtype == dtype);
    return opening->frame->total <= flow->total && dtype == label->call.dtype;
}

static bool
is_listed(const struct frame_tensor *tensor)
{
    return tensor && frame_part_is_listed(tensor->part);
}

/*
 * Where a message of a list stands before (< 0) or behind (> 0) the one that
 * flow waits for; 0 also where either is of no list. One that is before begins
 * the next list: that of flow has ended early. One that is behind is left of a
 * list that was longer than the receiver's.
 */
static int64_t
list_order(const struct inflow *flow, const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = flow->label->tensor;

    if (!is_listed(expected) || !is_listed(tensor))
        return 0;
    return (int64_t)frame_part_index(tensor->part) -
           (int64_t)frame_part_index(expected->part);
}

/* From whom it is wanted is looked at by everybody who waits. */
static void
posted_count(struct transport *transport,
             const struct inflow *flow,
             uint32_t change)
{
    if (flow->key.peer == FLOW_ANY_PEER) {
        transport->n_posted_to_any += change;
        return;
    }
    struct peer *peer = peer_at(transport, flow->key.peer);

    peer->n_posted += change;
    peer_expect(peer);
}

void
match_post(struct transport *transport, struct inflow *flow)
{
    TAILQ_INSERT_TAIL(&transport->posted, flow, link);
    posted_count(transport, flow, 1);
}

void
match_unpost(struct transport *transport, struct inflow *flow)
{
    TAILQ_REMOVE(&transport->posted, flow, link);
    posted_count(transport, flow, UINT32_MAX);
}

void
match_drop(struct peer *peer, const struct flow_key *key)
{
    const struct frame frame = {
        .kind = FRAME_MESSAGE, .comm = key->comm, .op = key->op};
    struct arrival *arrival = match_arrival_add(peer, &frame, NULL);

    if (arrival)
        arrival->is_dropped = true;
}

/* Of what came before its receive: so many bytes, with those of a frame that is
 * being read. */
static uint64_t
arrival_known(const struct peer *peer, const struct arrival *arrival)
{
    const struct stash *last = TAILQ_LAST(&arrival->parts, stash_list);

    if (peer->in_payload && peer->arrival == arrival)
        return peer->frame.offset + peer->frame.raw;
    return last ? last->frame.offset + last->frame.raw : 0;
}

uint64_t
match_known(const struct peer *peer, const struct inflow *flow)
{
    const uint64_t n_early =
        flow->arrival ? arrival_known(peer, flow->arrival) : 0;

    if (peer->in_payload && peer->flow == flow)
        return peer->frame.offset + peer->frame.raw;
    return n_early > flow->arrived ? n_early : flow->arrived;
}

/* The first that nobody has taken of the messages of this tag. */
static struct arrival *
first_unclaimed(const struct peer *peer, uint64_t comm, uint64_t tag)
{
    struct arrival *arrival;

    TAILQ_FOREACH(arrival, &peer->arrivals, link)
    {
        if (arrival->key.kind == FLOW_MESSAGE && arrival->key.comm == comm &&
            arrival->first.tag == tag && !arrival->is_claimed &&
            !arrival->is_dropped)
            break;
    }
    return arrival;
}

static const struct frame_tensor *
arrival_tensor(const struct arrival *arrival)
{
    return arrival->n_tensors > 0 ? arrival->tensors : NULL;
}

/* arrival is left of a list that no receive is left for. */
static void
drop_arrival(struct peer *peer, struct arrival *arrival)
{
    const struct transport *transport = peer->transport;
    const struct flow_key key = arrival->key;
    const struct frame first = arrival->first;
    const struct frame_tensor tensor = arrival->tensors[0];
    const bool is_whole = arrival_known(peer, arrival) == first.total;

    match_arrival_destroy(peer, arrival);
    if (!is_whole)
        match_drop(peer, &key);
    transport->events->on_stray(transport->owner, peer->rank, &first, &tensor);
}

static bool
has_other_count(const struct inflow *flow, const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = flow->label->tensor;

    return is_listed(expected) && is_listed(tensor) &&
           frame_part_count(expected->part) != frame_part_count(tensor->part);
}

/* The list that frame is of has another length than its receiver's: what has
 * come of it behind frame will find no receive. */
static void
drop_leftovers(struct peer *peer, const struct frame *frame)
{
    struct arrival *arrival;

    while ((arrival = first_unclaimed(peer, frame->comm, frame->tag)) &&
           is_listed(arrival_tensor(arrival)) &&
           frame_part_index(arrival->tensors[0].part) > 0)
        drop_arrival(peer, arrival);
}

/*
 * Whether what frame begins is left of a list that its receiver has done with:
 * it is not the first, nobody waits for it, and the one before it is not here
 * either, waiting for its receive.
 */
static bool
is_leftover(const struct peer *peer,
            const struct frame *frame,
            const struct frame_tensor *tensor)
{
    const struct arrival *arrival;

    if (!is_listed(tensor) || frame_part_index(tensor->part) == 0)
        return false;
    TAILQ_FOREACH_REVERSE(arrival, &peer->arrivals, arrival_list, link)
    {
        if (arrival->key.kind == FLOW_MESSAGE && !arrival->is_dropped &&
            arrival->key.comm == frame->comm &&
            arrival->first.tag == frame->tag)
            break;
    }
    return !arrival || arrival->is_claimed || !arrival_tensor(arrival) ||
           arrival->tensors[0].part + 1 != tensor->part;
}

/* Nobody takes what frame begins, nor the rest of it. */
static void
drop_message(struct peer *peer,
             const struct frame *frame,
             const struct frame_tensor *tensor)
{
    const struct transport *transport = peer->transport;
    const struct flow_key key = match_key(peer, frame);

    peer->has_refused = true;
    if (frame->total > 0)
        match_drop(peer, &key);
    transport->events->on_stray(transport->owner, peer->rank, frame, tensor);
}

/* flow receives the message that begins so. */
static void
bind_message(struct peer *peer,
             struct inflow *flow,
             const struct flow_key *key,
             const struct opening *opening)
{
    struct transport *transport = peer->transport;
    const struct frame *frame = opening->frame;

    match_unpost(transport, flow);
    TAILQ_INSERT_TAIL(&peer->inflows, flow, link);
    flow->key = *key;
    flow->is_matched = true;
    peer_expect(peer);
    const bool fits = message_fits(flow, opening);
    /* Also when it does not fit: cancelling must know what is still to come. */
    flow->total = frame->total;
    if (!fits) {
        const struct frame first = *frame;
        const bool is_other_list = has_other_count(flow, opening->tensor);

        transport->events->on_unfit(transport->owner, flow, frame,
                                    opening->tensor);
        if (is_other_list)
            drop_leftovers(peer, &first);
        return;
    }
    flow->allowed = frame->total;
    transport->events->on_matched(transport->owner, flow, frame,
                                  opening->tensor);
    if (flow->is_open)
        peer_grant(peer, flow);
}

struct inflow *
match_bound(struct peer *peer, const struct frame *frame)
{
    const struct flow_key key = match_key(peer, frame);
    struct inflow *flow;

    /* The frame before was most likely of the same flow. */
    TAILQ_FOREACH(flow, &peer->inflows, link)
    {
        if (key_equal(&flow->key, &key))
            break;
    }
    return flow;
}

/* The receive that waits longest for such a message. */
static struct inflow *
posted_find(const struct transport *transport,
            const struct flow_key *key,
            const struct frame *frame)
{
    struct inflow *flow;

    TAILQ_FOREACH(flow, &transport->posted, link)
    {
        if (posted_wants(flow, key, frame))
            break;
    }
    return flow;
}

/* Its sender has ended the list, and begun the next. */
static void
end_overdue(struct transport *transport,
            struct inflow *flow,
            const struct opening *opening)
{
    const struct frame frame = *opening->frame;
    const struct frame_tensor tensor = *opening->tensor;

    transport->events->on_overdue(transport->owner, flow, &frame, &tensor);
    /* Whoever reports it cancels it; it must not be found again. */
    if (flow->is_open)
        transport_receive_cancel(transport, flow);
}

/* Of what no flow is bound to yet. */
static struct inflow *
find_posted(struct peer *peer,
            const struct frame *frame,
            const struct frame_tensor *tensor)
{
    const struct flow_key key = match_key(peer, frame);
    const struct opening opening = {frame, tensor};
    struct inflow *flow;

    if (key.kind != FLOW_MESSAGE || match_arrival(peer, frame))
        return NULL;
    while ((flow = posted_find(peer->transport, &key, frame)) && tensor &&
           list_order(flow, tensor) < 0)
        end_overdue(peer->transport, flow, &opening);
    if (flow && (!tensor || list_order(flow, tensor) == 0)) {
        bind_message(peer, flow, &key, &opening);
        peer->has_refused = !flow->is_open;
        return flow->is_open ? flow : NULL;
    }
    if (flow || is_leftover(peer, frame, tensor))
        drop_message(peer, frame, tensor);
    return NULL;
}

struct inflow *
match_find(struct peer *peer,
           const struct frame *frame,
           const struct frame_tensor *tensor)
{
    struct inflow *flow = match_bound(peer, frame);

    peer->has_refused = false;
    return flow ? flow : find_posted(peer, frame, tensor);
}

void
match_begun(struct peer *peer, struct inflow *flow, const struct frame *frame)
{
    if (flow->is_begun || flow->total <= LIMIT_EAGER_MESSAGE ||
        frame->raw == flow->total || frame->kind == FRAME_ANNOUNCE)
        return;
    flow->is_begun = true;
    peer_grant(peer, flow);
}

bool
match_has_refused_all(const struct peer *peer, const struct frame *frame)
{
    return peer->has_refused && frame->total == 0;
}

struct arrival *
match_arrival(struct peer *peer, const struct frame *frame)
{
    const struct flow_key key = match_key(peer, frame);

    return cellar_find(peer->transport, &key);
}

struct arrival *
match_arrival_add(struct peer *peer,
                  const struct frame *frame,
                  const struct frame_tensor *tensor)
{
    const struct flow_key key = match_key(peer, frame);
    struct arrival *arrival = cellar_find(peer->transport, &key);

    if (arrival)
        return arrival;
    if (peer->n_arrivals >= LIMIT_ANNOUNCED)
        return NULL;
    arrival = cellar_add(peer->transport, &key, tensor ? 1 : 0);
    if (!arrival)
        return NULL;
    if (tensor)
        arrival->tensors[0] = *tensor;
    arrival->first = *frame;
    arrival->sequence = peer->transport->arrival_next++;
    TAILQ_INSERT_TAIL(&peer->arrivals, arrival, link);
    peer->n_arrivals++;
    if (arrival->key.kind == FLOW_COLLECTIVE)
        early_add(&peer->transport->early, arrival);
    return arrival;
}

void
match_arrival_destroy(struct peer *peer, struct arrival *arrival)
{
    struct stash *part;

    if (peer->in_payload && peer->arrival == arrival) {
        peer->arrival = NULL;
        peer->target = TARGET_BIN;
        peer->n_held -= window_cost(&peer->stash->frame);
        cellar_stash_give(peer->transport, peer->stash);
        peer->stash = NULL;
    }
    while ((part = TAILQ_FIRST(&arrival->parts))) {
        TAILQ_REMOVE(&arrival->parts, part, link);
        peer->n_held -= window_cost(&part->frame);
        peer_consumed(peer, &part->frame);
        cellar_stash_give(peer->transport, part);
    }
    TAILQ_REMOVE(&peer->arrivals, arrival, link);
    peer->n_arrivals--;
    if (arrival->key.kind == FLOW_COLLECTIVE)
        early_remove(&peer->transport->early, arrival);
    cellar_remove(peer->transport, arrival);
}

/* The earliest unclaimed message that the posted receive wants. */
static struct arrival *
earliest(struct peer *peer, const struct inflow *flow, struct arrival *best)
{
    struct arrival *arrival;

    TAILQ_FOREACH(arrival, &peer->arrivals, link)
    {
        if (arrival->key.kind != FLOW_MESSAGE || arrival->is_dropped ||
            arrival->is_claimed ||
            !posted_wants(flow, &arrival->key, &arrival->first))
            continue;
        if (!best || arrival->sequence < best->sequence)
            best = arrival;
        break;
    }
    return best;
}

/* From copies: arrival is forgotten when it does not fit. */
static void
open_arrival(struct transport *transport,
             struct inflow *flow,
             struct arrival *arrival)
{
    struct peer *peer = peer_at(transport, arrival->key.peer);
    const struct flow_key key = arrival->key;
    const struct frame first = arrival->first;
    struct frame_tensor tensor;
    struct opening opening = {&first, NULL};

    if (arrival->n_tensors > 0) {
        tensor = arrival->tensors[0];
        opening.tensor = &tensor;
    }
    arrival->is_claimed = true;
    flow->arrival = arrival;
    flow->is_announced = arrival->is_announced;
    bind_message(peer, flow, &key, &opening);
}

static struct arrival *
earliest_of_all(struct transport *transport, const struct inflow *flow)
{
    struct arrival *best = NULL;
    struct peer *peer;

    if (flow->key.peer != FLOW_ANY_PEER)
        return earliest(peer_at(transport, flow->key.peer), flow, NULL);
    TAILQ_FOREACH(peer, &transport->known, known_link)
    best = earliest(peer, flow, best);
    return best;
}

static void
open_message(struct transport *transport, struct inflow *flow)
{
    struct arrival *best;

    while ((best = earliest_of_all(transport, flow)) &&
           list_order(flow, arrival_tensor(best)) > 0)
        drop_arrival(peer_at(transport, best->key.peer), best);
    if (!best)
        return;
    if (list_order(flow, arrival_tensor(best)) < 0)
        end_overdue(transport, flow,
                    &(struct opening){&best->first, best->tensors});
    else
        open_arrival(transport, flow, best);
}

void
match_open(struct transport *transport, struct inflow *flow)
{
    if (flow->key.kind == FLOW_MESSAGE) {
        open_message(transport, flow);
        return;
    }

    struct arrival *arrival = cellar_find(transport, &flow->key);

    if (!arrival)
        return;
    flow->arrival = arrival;
    flow->is_announced = arrival->is_announced;
    arrival->is_claimed = true;
}

/* The last part has been taken and none is being read. */
static void
arrival_end(struct peer *peer, struct inflow *flow)
{
    struct arrival *arrival = flow->arrival;

    if (!TAILQ_EMPTY(&arrival->parts) ||
        (peer->in_payload && peer->arrival == arrival))
        return;
    flow->arrival = NULL;
    match_arrival_destroy(peer, arrival);
}

static const uint8_t *
part_decode(struct peer *peer, const struct stash *part)
{
    struct transport *transport = peer->transport;

    if (part->frame.codec == CODEC_NONE)
        return part->bytes;
    const enum hoop_status status =
        codec_decode(transport->codec, part->frame.codec,
                     (struct codec_span){part->bytes, part->frame.stored},
                     transport->bin, part->frame.raw);
    if (status == HOOP_OK)
        return transport->bin;
    peer_give_up(peer);
    return NULL;
}

/* What was kept unseen must be of the same call. */
static bool
is_of_same_call(struct transport *transport, struct inflow *flow)
{
    const struct frame *first = &flow->arrival->first;
    const struct frame frame = *first;

    if (flow->key.kind == FLOW_MESSAGE ||
        first->signature == flow->label->signature)
        return peer_fits(peer_at(transport, flow->key.peer), &frame, flow);
    transport->events->on_mismatch(transport->owner, flow->key.peer, &frame,
                                   flow);
    return false;
}

void
match_drain(struct transport *transport, struct inflow *flow)
{
    struct peer *peer = peer_at(transport, flow->key.peer);

    if (flow->arrival && !is_of_same_call(transport, flow))
        return;
    while (flow->is_open && flow->arrival) {
        struct stash *part = TAILQ_FIRST(&flow->arrival->parts);

        if (!part) {
            arrival_end(peer, flow);
            return;
        }
        if (part->frame.total != flow->total ||
            part->frame.offset != flow->arrived) {
            peer_give_up_for(peer, "bytes out of order");
            return;
        }
        if (part->frame.offset + part->frame.raw > flow->allowed)
            return;
        const uint8_t *raw = part_decode(peer, part);
        if (!raw)
            return;
        peer_came_coded(peer, flow, &part->frame, part->bytes);
        TAILQ_REMOVE(&flow->arrival->parts, part, link);
        peer->n_held -= window_cost(&part->frame);
        peer_consumed(peer, &part->frame);
        /* May close the flow, which must find nothing half taken. */
        arrival_end(peer, flow);
        peer_deliver(peer, flow, raw, part->frame.raw);
        cellar_stash_give(transport, part);
    }
}

bool
transport_has_all(const struct inflow *flow)
{
    uint64_t n_here = flow->arrived;
    const struct stash *part;

    if (!flow->is_matched)
        return false;
    if (flow->arrival) {
        TAILQ_FOREACH(part, &flow->arrival->parts, link)
        n_here += part->frame.raw;
    }
    return n_here == flow->total;
}

void
match_promise(struct peer *peer, const struct frame *frame)
{
    struct promise *promise = NULL;

    if (peer->n_promises < LIMIT_ANNOUNCED)
        promise = calloc(1, sizeof(*promise));
    if (!promise) {
        peer_give_up_for(peer, "more grants than there is room to remember");
        return;
    }
    promise->key = match_key(peer, frame);
    promise->granted = frame->offset;
    TAILQ_INSERT_TAIL(&peer->promises, promise, link);
    peer->n_promises++;
    peer->transport->n_promises++;
}

void
match_promise_destroy(struct peer *peer, struct promise *promise)
{
    TAILQ_REMOVE(&peer->promises, promise, link);
    peer->n_promises--;
    peer->transport->n_promises--;
    free(promise);
}

uint64_t
match_promised(struct peer *peer, const struct outflow *flow)
{
    struct promise *next;
    uint64_t granted = 0;

    for (struct promise *at = TAILQ_FIRST(&peer->promises); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (!key_equal(&at->key, &flow->key))
            continue;
        if (at->granted > granted)
            granted = at->granted;
        match_promise_destroy(peer, at);
    }
    return granted;
}

void
match_sweep(struct peer *peer, bool (*wants)(void *owner, uint64_t comm))
{
    void *owner = peer->transport->owner;
    struct arrival *arrival_next;
    struct promise *promise_next;

    for (struct arrival *arrival = TAILQ_FIRST(&peer->arrivals); arrival;
         arrival = arrival_next) {
        arrival_next = TAILQ_NEXT(arrival, link);
        if (!arrival->is_claimed && !wants(owner, arrival->key.comm))
            match_arrival_destroy(peer, arrival);
    }
    for (struct promise *promise = TAILQ_FIRST(&peer->promises); promise;
         promise = promise_next) {
        promise_next = TAILQ_NEXT(promise, link);
        if (!wants(owner, promise->key.comm))
            match_promise_destroy(peer, promise);
    }
}
