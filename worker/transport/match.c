/* transport/match.c - matching frames to receive requests */

#include "transport/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"
#include "transport/flow.h"
#include "transport/stream/payload.h"
#include "transport/unexpected_queue.h"

static bool
posted_receive_matches(const struct recv_request *flow,
                       const struct flow_key *key,
                       const struct frame *frame)
{
    return flow->key.comm == key->comm && flow->label->tag == frame->tag &&
           (flow->key.peer == FLOW_ANY_PEER || flow->key.peer == key->peer);
}

/* The beginning of a message. */
struct first_frame_content {
    const struct frame *frame;
    const struct frame_tensor *tensor; /* NULL: the message is not a tensor */
};

static bool
is_expected_tensor(const struct frame_tensor *expected,
                   const struct first_frame_content *first_frame_content)
{
    if (expected->part != first_frame_content->tensor->part)
        return false;
    return expected->shape.n_dims == HOOP_ANY_SHAPE ||
           shape_equal(&expected->shape, &first_frame_content->tensor->shape);
}

static bool
receive_fits_message(const struct recv_request *flow,
                     const struct first_frame_content *first_frame_content)
{
    const struct flow_label *label = flow->label;

    if (!label->tensor != !first_frame_content->tensor)
        return false;
    if (label->tensor &&
        !is_expected_tensor(label->tensor, first_frame_content))
        return false;
    const uint32_t dtype = first_frame_content->frame->call.dtype;
    if (label->tensor && label->tensor->shape.n_dims == HOOP_ANY_SHAPE)
        return dtype_size((enum hoop_dtype)dtype) > 0 &&
               (label->call.dtype == FRAME_ANY_DTYPE ||
                label->call.dtype == dtype);
    return first_frame_content->frame->total <= flow->total &&
           dtype == label->call.dtype;
}

static bool
is_list_tensor(const struct frame_tensor *tensor)
{
    return tensor && frame_part_is_listed(tensor->part);
}

/*
 * Returns where a message of a tensor list stands before (< 0) or behind (> 0)
 * the one that flow waits for; 0 also if either belongs to no list. A message
 * that stands before it begins the next list, so the list of flow has ended
 * early. A message behind it is left of a list that was longer than the
 * receiver's.
 */
static int64_t
tensor_list_compare_position(const struct recv_request *flow,
                             const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = flow->label->tensor;

    if (!is_list_tensor(expected) || !is_list_tensor(tensor))
        return 0;
    return (int64_t)frame_part_index(tensor->part) -
           (int64_t)frame_part_index(expected->part);
}

/* Count flow among the receives posted for its peer, so that
 * transport_spin_once() reads that peer. */
static void
posted_receive_count_add(struct transport *transport,
                         const struct recv_request *flow,
                         uint32_t change)
{
    if (flow->key.peer == FLOW_ANY_PEER) {
        transport->n_posted_any_source += change;
        return;
    }
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);

    peer->receive.n_posted += change;
    peer_update_expected(peer);
}

void
match_post_receive(struct transport *transport, struct recv_request *flow)
{
    TAILQ_INSERT_TAIL(&transport->posted, flow, link);
    posted_receive_count_add(transport, flow, 1);
}

void
match_unpost_receive(struct transport *transport, struct recv_request *flow)
{
    TAILQ_REMOVE(&transport->posted, flow, link);
    posted_receive_count_add(transport, flow, UINT32_MAX);
}

void
match_drop_future_frames(struct peer *peer, const struct flow_key *key)
{
    const struct frame frame = {
        .kind = FRAME_MESSAGE, .comm = key->comm, .op = key->op};
    struct unexpected *unexpected = unexpected_add(peer, &frame, NULL);

    if (unexpected)
        unexpected->is_dropped = true;
}

/* Returns how many bytes of an unexpected message have come, including those
 * of a frame that is being read. */
static uint64_t
unexpected_received_bytes(const struct peer *peer,
                          const struct unexpected *unexpected)
{
    const struct receive_half *receive = &peer->receive;
    const struct fragment *last = TAILQ_LAST(&unexpected->parts, fragment_list);

    if (receive->is_reading_payload && receive->unexpected == unexpected)
        return receive->frame.offset + receive->frame.raw;
    return last ? last->frame.offset + last->frame.raw : 0;
}

uint64_t
match_received_bytes(const struct peer *peer, const struct recv_request *flow)
{
    const struct receive_half *receive = &peer->receive;
    const uint64_t n_before =
        flow->unexpected ? unexpected_received_bytes(peer, flow->unexpected)
                         : 0;

    if (receive->is_reading_payload && receive->flow == flow)
        return receive->frame.offset + receive->frame.raw;
    return n_before > flow->arrived ? n_before : flow->arrived;
}

/* Returns the first message with this tag that no receive request is bound
 * to. */
static struct unexpected *
unexpected_find_unclaimed(const struct peer *peer, uint64_t comm, uint64_t tag)
{
    struct unexpected *unexpected;

    TAILQ_FOREACH(unexpected, &peer->receive.unexpected_messages, link)
    {
        if (unexpected->key.kind == FLOW_MESSAGE &&
            unexpected->key.comm == comm && unexpected->first.tag == tag &&
            !unexpected->is_claimed && !unexpected->is_dropped)
            break;
    }
    return unexpected;
}

static const struct frame_tensor *
unexpected_tensor(const struct unexpected *unexpected)
{
    return unexpected->n_tensors > 0 ? unexpected->tensors : NULL;
}

static void
report_surplus_list_tensor(const struct peer *peer,
                           const struct frame *frame,
                           const struct frame_tensor *tensor)
{
    const struct transport *transport = peer->transport;

    transport->events->on_mismatch(transport->owner,
                                   &(struct transport_mismatch){
                                       .kind = TRANSPORT_SURPLUS_LIST_TENSOR,
                                       .peer = peer->rank,
                                       .frame = frame,
                                       .tensor = tensor,
                                   });
}

/* unexpected belongs to a list for which no receive is left. */
static void
drop_unexpected(struct peer *peer, struct unexpected *unexpected)
{
    const struct flow_key key = unexpected->key;
    const struct frame first = unexpected->first;
    const struct frame_tensor tensor = unexpected->tensors[0];
    const bool is_whole =
        unexpected_received_bytes(peer, unexpected) == first.total;

    unexpected_destroy(peer, unexpected);
    if (!is_whole)
        match_drop_future_frames(peer, &key);
    report_surplus_list_tensor(peer, &first, &tensor);
}

static bool
tensor_list_length_differs(const struct recv_request *flow,
                           const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = flow->label->tensor;

    return is_list_tensor(expected) && is_list_tensor(tensor) &&
           frame_part_count(expected->part) != frame_part_count(tensor->part);
}

/* The list of frame has another length than the receiver's. What has come of
 * it behind frame will find no receive. */
static void
tensor_list_drop_unexpected_rest(struct peer *peer, const struct frame *frame)
{
    struct unexpected *unexpected;

    while ((unexpected =
                unexpected_find_unclaimed(peer, frame->comm, frame->tag)) &&
           is_list_tensor(unexpected_tensor(unexpected)) &&
           frame_part_index(unexpected->tensors[0].part) > 0)
        drop_unexpected(peer, unexpected);
}

/*
 * Returns whether the message that frame begins is left of a list that its
 * receiver has finished: it is not the first of its list, nobody waits for it,
 * and the tensor before it is not waiting for its own receive here either.
 */
static bool
is_tensor_list_leftover(const struct peer *peer,
                        const struct frame *frame,
                        const struct frame_tensor *tensor)
{
    const struct unexpected *unexpected;

    if (!is_list_tensor(tensor) || frame_part_index(tensor->part) == 0)
        return false;
    TAILQ_FOREACH_REVERSE(unexpected, &peer->receive.unexpected_messages,
                          unexpected_list, link)
    {
        if (unexpected->key.kind == FLOW_MESSAGE && !unexpected->is_dropped &&
            unexpected->key.comm == frame->comm &&
            unexpected->first.tag == frame->tag)
            break;
    }
    return !unexpected || unexpected->is_claimed ||
           !unexpected_tensor(unexpected) ||
           unexpected->tensors[0].part + 1 != tensor->part;
}

/* Nobody will take the message that frame begins: drop all of it. */
static void
drop_unwanted_message(struct peer *peer,
                      const struct frame *frame,
                      const struct frame_tensor *tensor)
{
    const struct flow_key key = flow_key_of_frame(frame, peer->rank);

    peer->receive.has_refused_message = true;
    if (frame->total > 0)
        match_drop_future_frames(peer, &key);
    report_surplus_list_tensor(peer, frame, tensor);
}

/* Let flow receive the message that begins with first_frame_content. */
static void
bind_recv_to_message(struct peer *peer,
                     struct recv_request *flow,
                     const struct flow_key *key,
                     const struct first_frame_content *first_frame_content)
{
    struct transport *transport = peer->transport;
    const struct frame *frame = first_frame_content->frame;

    match_unpost_receive(transport, flow);
    TAILQ_INSERT_TAIL(&peer->receive.requests, flow, link);
    flow->key = *key;
    flow->is_matched = true;
    peer_update_expected(peer);
    const bool fits = receive_fits_message(flow, first_frame_content);
    /* total is set even if the message does not fit, since cancelling flow
     * must know what is still to come. */
    flow->total = frame->total;
    if (!fits) {
        const struct frame first = *frame;
        const bool is_other_list =
            tensor_list_length_differs(flow, first_frame_content->tensor);

        transport->events->on_mismatch(
            transport->owner, &(struct transport_mismatch){
                                  .kind = TRANSPORT_MESSAGE_DOES_NOT_FIT,
                                  .peer = peer->rank,
                                  .frame = frame,
                                  .tensor = first_frame_content->tensor,
                                  .flow = flow,
                              });
        if (is_other_list)
            tensor_list_drop_unexpected_rest(peer, &first);
        return;
    }
    flow->allowed = frame->total;
    transport->events->on_matched(transport->owner, flow, frame,
                                  first_frame_content->tensor);
    if (flow->is_open)
        peer_send_grant(peer, flow);
}

struct recv_request *
match_find_bound(struct peer *peer, const struct frame *frame)
{
    const struct flow_key key = flow_key_of_frame(frame, peer->rank);
    struct recv_request *flow;

    /* The frame before was most likely of the same flow, which is near the
     * front. */
    TAILQ_FOREACH(flow, &peer->receive.requests, link)
    {
        if (flow_key_equal(&flow->key, &key))
            break;
    }
    return flow;
}

/* Returns the oldest posted receive that wants the message. */
static struct recv_request *
posted_receive_find(const struct transport *transport,
                    const struct flow_key *key,
                    const struct frame *frame)
{
    struct recv_request *flow;

    TAILQ_FOREACH(flow, &transport->posted, link)
    {
        if (posted_receive_matches(flow, key, frame))
            break;
    }
    return flow;
}

void
transport_receive_cancel(struct transport *transport, struct recv_request *flow)
{
    if (!flow->is_open)
        return;
    flow->is_open = false;
    if (flow->is_draining)
        TAILQ_REMOVE(&transport->drains, flow, drain_link);
    flow->is_draining = false;
    if (!flow->is_matched) {
        match_unpost_receive(transport, flow);
        return;
    }

    struct peer *peer = peer_get_or_init(transport, flow->key.peer);
    /* Further frames that nobody takes must be dropped, not queued. No mark is
     * needed if all of them have come. */
    const bool has_rest = flow->key.kind == FLOW_MESSAGE &&
                          flow->arrived < flow->total &&
                          match_received_bytes(peer, flow) < flow->total;
    TAILQ_REMOVE(&peer->receive.requests, flow, link);
    if (flow->unexpected)
        unexpected_destroy(peer, flow->unexpected);
    flow->unexpected = NULL;
    if (peer->receive.is_reading_payload && peer->receive.flow == flow) {
        peer->receive.flow = NULL;
        peer->receive.target = READ_INTO_DISCARD_BUFFER;
    }
    if (has_rest)
        match_drop_future_frames(peer, &flow->key);
    peer_update_expected(peer);
}

/* The sender has ended the list that flow belongs to, and begun the next. */
static void
report_tensor_list_ended(struct peer *peer,
                         struct recv_request *flow,
                         const struct first_frame_content *first_frame_content)
{
    struct transport *transport = peer->transport;
    const struct frame frame = *first_frame_content->frame;
    const struct frame_tensor tensor = *first_frame_content->tensor;

    transport->events->on_mismatch(transport->owner,
                                   &(struct transport_mismatch){
                                       .kind = TRANSPORT_LIST_ENDED_EARLY,
                                       .peer = peer->rank,
                                       .frame = &frame,
                                       .tensor = &tensor,
                                       .flow = flow,
                                   });
    /* The callback should have cancelled flow; it must not be found again. */
    if (flow->is_open)
        transport_receive_cancel(transport, flow);
}

/* Bind a posted receive to the message that frame begins. */
static struct recv_request *
bind_posted_recv_to_frame(struct peer *peer,
                          const struct frame *frame,
                          const struct frame_tensor *tensor)
{
    const struct flow_key key = flow_key_of_frame(frame, peer->rank);
    const struct first_frame_content first_frame_content = {frame, tensor};
    struct recv_request *flow;

    if (key.kind != FLOW_MESSAGE || unexpected_find(peer, frame))
        return NULL;
    while ((flow = posted_receive_find(peer->transport, &key, frame)) &&
           tensor && tensor_list_compare_position(flow, tensor) < 0)
        report_tensor_list_ended(peer, flow, &first_frame_content);
    if (flow && (!tensor || tensor_list_compare_position(flow, tensor) == 0)) {
        bind_recv_to_message(peer, flow, &key, &first_frame_content);
        peer->receive.has_refused_message = !flow->is_open;
        return flow->is_open ? flow : NULL;
    }
    if (flow || is_tensor_list_leftover(peer, frame, tensor))
        drop_unwanted_message(peer, frame, tensor);
    return NULL;
}

struct recv_request *
match_find_receive(struct peer *peer,
                   const struct frame *frame,
                   const struct frame_tensor *tensor)
{
    struct recv_request *flow = match_find_bound(peer, frame);

    peer->receive.has_refused_message = false;
    return flow ? flow : bind_posted_recv_to_frame(peer, frame, tensor);
}

void
match_grant_on_first_frame(struct peer *peer,
                           struct recv_request *flow,
                           const struct frame *frame)
{
    if (flow->is_begun_unasked || flow->total <= LIMIT_EAGER_MESSAGE ||
        frame->raw == flow->total || frame->kind == FRAME_ANNOUNCE)
        return;
    flow->is_begun_unasked = true;
    peer_send_grant(peer, flow);
}

bool
match_is_refused_empty_message(const struct peer *peer,
                               const struct frame *frame)
{
    return peer->receive.has_refused_message && frame->total == 0;
}

static bool
is_unreceived_message(const struct unexpected *unexpected)
{
    return unexpected->key.kind == FLOW_MESSAGE && !unexpected->is_dropped &&
           !unexpected->is_claimed;
}

bool
transport_find_unreceived_tag(const struct transport *transport,
                              uint32_t peer,
                              uint64_t comm,
                              uint64_t tag_max,
                              uint64_t *out_tag)
{
    const struct peer *sender = &transport->peers[peer];
    const struct unexpected *unexpected;

    /* Nothing of it is initialised before its first message. */
    if (!sender->transport)
        return false;
    TAILQ_FOREACH(unexpected, &sender->receive.unexpected_messages, link)
    {
        if (!is_unreceived_message(unexpected) ||
            unexpected->key.comm != comm || unexpected->first.tag > tag_max)
            continue;
        *out_tag = unexpected->first.tag;
        return true;
    }
    return false;
}

/* Returns the earlier of best and the first message of peer that flow wants
 * and no receive request is bound to. */
static struct unexpected *
peer_earlier_unexpected_match(struct peer *peer,
                              const struct recv_request *flow,
                              struct unexpected *best)
{
    struct unexpected *unexpected;

    TAILQ_FOREACH(unexpected, &peer->receive.unexpected_messages, link)
    {
        if (!is_unreceived_message(unexpected) ||
            !posted_receive_matches(flow, &unexpected->key, &unexpected->first))
            continue;
        if (!best || unexpected->sequence < best->sequence)
            best = unexpected;
        break;
    }
    return best;
}

/* Works on copies, because unexpected is freed if the message does not fit. */
static void
bind_recv_to_unexpected(struct transport *transport,
                        struct recv_request *flow,
                        struct unexpected *unexpected)
{
    struct peer *peer = peer_get_or_init(transport, unexpected->key.peer);
    const struct flow_key key = unexpected->key;
    const struct frame first = unexpected->first;
    struct frame_tensor tensor;
    struct first_frame_content first_frame_content = {&first, NULL};

    if (unexpected->n_tensors > 0) {
        tensor = unexpected->tensors[0];
        first_frame_content.tensor = &tensor;
    }
    unexpected->is_claimed = true;
    flow->unexpected = unexpected;
    flow->is_announced = unexpected->is_announced;
    bind_recv_to_message(peer, flow, &key, &first_frame_content);
}

static struct unexpected *
find_earliest_unexpected_match(struct transport *transport,
                               const struct recv_request *flow)
{
    struct unexpected *best = NULL;
    struct peer *peer;

    if (flow->key.peer != FLOW_ANY_PEER)
        return peer_earlier_unexpected_match(
            peer_get_or_init(transport, flow->key.peer), flow, NULL);
    TAILQ_FOREACH(peer, &transport->known, known_link)
    best = peer_earlier_unexpected_match(peer, flow, best);
    return best;
}

static void
recv_match_unexpected(struct transport *transport, struct recv_request *flow)
{
    struct unexpected *best;

    while ((best = find_earliest_unexpected_match(transport, flow)) &&
           tensor_list_compare_position(flow, unexpected_tensor(best)) > 0)
        drop_unexpected(peer_get_or_init(transport, best->key.peer), best);
    if (!best)
        return;
    if (tensor_list_compare_position(flow, unexpected_tensor(best)) < 0)
        report_tensor_list_ended(
            peer_get_or_init(transport, best->key.peer), flow,
            &(struct first_frame_content){&best->first, best->tensors});
    else
        bind_recv_to_unexpected(transport, flow, best);
}

void
match_open_receive(struct transport *transport, struct recv_request *flow)
{
    if (flow->key.kind == FLOW_MESSAGE) {
        recv_match_unexpected(transport, flow);
        return;
    }

    struct unexpected *unexpected =
        unexpected_queue_find(transport, &flow->key);

    if (!unexpected)
        return;
    flow->unexpected = unexpected;
    flow->is_announced = unexpected->is_announced;
    unexpected->is_claimed = true;
}

/* Free the message of flow if its last part is taken and no frame of it is
 * being read. */
static void
unexpected_free_if_done(struct peer *peer, struct recv_request *flow)
{
    struct unexpected *unexpected = flow->unexpected;

    if (!TAILQ_EMPTY(&unexpected->parts) ||
        (peer->receive.is_reading_payload &&
         peer->receive.unexpected == unexpected))
        return;
    flow->unexpected = NULL;
    unexpected_destroy(peer, unexpected);
}

/* Returns the bytes of part before they were encoded, or NULL if they cannot be
 * decoded. */
static const uint8_t *
fragment_decode(struct transport *transport, const struct fragment *part)
{
    const struct codec_span stored = {part->bytes, part->frame.stored};

    if (part->frame.codec == CODEC_NONE)
        return part->bytes;
    return codec_decode(transport->codec, part->frame.codec, stored,
                        transport->sink, part->frame.raw) == HOOP_OK
               ? transport->sink
               : NULL;
}

bool
match_check_call(struct peer *peer,
                 const struct frame *frame,
                 const struct flow_label *label,
                 uint64_t total,
                 struct recv_request *flow)
{
    const struct transport *transport = peer->transport;
    const bool is_same_call = frame->signature == label->signature;

    if (frame_is_of_message(frame) || (is_same_call && frame->total == total))
        return true;
    /* The callback may free what frame lies in. */
    const struct frame copy = *frame;
    const struct transport_mismatch mismatch = {
        .kind = is_same_call ? TRANSPORT_SIZE_DIFFERS : TRANSPORT_CALL_DIFFERS,
        .peer = peer->rank,
        .frame = &copy,
        .flow = flow,
        .total = total,
    };
    transport->events->on_mismatch(transport->owner, &mismatch);
    return false;
}

enum hoop_status
match_drain_unexpected(struct peer *peer, struct recv_request *flow)
{
    if (flow->unexpected && !match_check_call(peer, &flow->unexpected->first,
                                              flow->label, flow->total, flow))
        return HOOP_OK;
    while (flow->is_open && flow->unexpected) {
        struct fragment *part = TAILQ_FIRST(&flow->unexpected->parts);

        if (!part) {
            unexpected_free_if_done(peer, flow);
            return HOOP_OK;
        }
        if (part->frame.total != flow->total ||
            part->frame.offset != flow->arrived ||
            part->frame.raw % flow->element_size != 0)
            return error_raise(HOOP_E_DATA_LOSS, "it sent bytes out of order");
        if (part->frame.offset + part->frame.raw > flow->allowed)
            return HOOP_OK;
        const uint8_t *raw = fragment_decode(peer->transport, part);
        if (!raw)
            return error_pass(HOOP_E_DATA_LOSS);
        peer_report_encoded(peer, flow, &part->frame, part->bytes);
        TAILQ_REMOVE(&flow->unexpected->parts, part, link);
        peer->receive.n_unexpected_bytes -=
            eager_window_frame_cost(part->frame.stored);
        peer_return_credit(peer, &part->frame);
        /* peer_deliver_payload() may close flow, so nothing of the part may be
         * left to take by then. */
        unexpected_free_if_done(peer, flow);
        peer_deliver_payload(peer, flow, raw, part->frame.raw);
        unexpected_fragment_free(peer->transport, part);
    }
    return HOOP_OK;
}

bool
transport_has_all_bytes(const struct recv_request *flow)
{
    uint64_t n_here = flow->arrived;
    const struct fragment *part;

    if (!flow->is_matched)
        return false;
    if (flow->unexpected) {
        TAILQ_FOREACH(part, &flow->unexpected->parts, link)
        n_here += part->frame.raw;
    }
    return n_here == flow->total;
}
