/*
 * transport/flow.h - one message under way: the sender's and receiver's side
 *
 * A flow is a send request or a receive request. Its memory belongs to the
 * engine; the transport links it into its lists while it is open. Both sides
 * name it by the same key. Its bytes leave and arrive in order.
 *
 *   sender     0 <= handed <= framed <= min(ready, granted or eager)
 *   receiver   0 <= arrived <= allowed, granted <= allowed
 */

#ifndef TRANSPORT_FLOW_H
#define TRANSPORT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "codec/loss.h"
#include "wire/frame.h"
#include "wire/frame_tensor.h"

enum flow_class {
    FLOW_COLLECTIVE, /* op: the operation's number; step: the plan's message */
    FLOW_MESSAGE,    /* op: the message's number, counted by the sender */
};

struct flow_key {
    uint64_t comm;
    uint64_t op;
    uint32_t step;
    uint32_t peer; /* world rank of the other side */
    enum flow_class kind;
    /* 0; keys are hashed as bytes, so there must be no padding */
    uint32_t unused;
};

static inline bool
flow_key_equal(const struct flow_key *a, const struct flow_key *b)
{
    return a->op == b->op && a->step == b->step && a->comm == b->comm &&
           a->kind == b->kind && a->peer == b->peer;
}

/* Returns whether frame speaks of a point-to-point message, not of a
 * collective. */
static inline bool
frame_is_of_message(const struct frame *frame)
{
    return frame->kind == FRAME_MESSAGE ||
           (frame->kind != FRAME_COLLECTIVE &&
            (frame->flags & FRAME_POINT_TO_POINT));
}

/* Returns the key that a frame from peer carries. */
static inline struct flow_key
flow_key_of_frame(const struct frame *frame, uint32_t peer)
{
    const bool is_message = frame_is_of_message(frame);

    return (struct flow_key){
        .comm = frame->comm,
        .op = frame->op,
        .step = is_message ? 0 : frame->step,
        .peer = peer,
        .kind = is_message ? FLOW_MESSAGE : FLOW_COLLECTIVE,
    };
}

/* What every frame of an operation says about it. Its flows borrow it. */
struct flow_label {
    uint64_t epoch;
    uint64_t signature;
    uint64_t tag;
    uint32_t flags;  /* enum frame_flag of every frame */
    uint32_t faults; /* fault rules that concern it (fault/fault.h); 0: none */
    struct frame_call call;
    /* FLOW_MESSAGE: the tensor that is sent or expected; NULL if the message
     * is plain bytes. A receiver may expect HOOP_ANY_SHAPE, and then
     * FRAME_ANY_DTYPE as dtype in call. */
    const struct frame_tensor *tensor;
    /* The message is a tensor that its receiver grants when it accepts it,
     * even if all bytes came unasked. The sender waits for that grant. Both
     * sides set this alike. */
    bool needs_receiver_confirmation;
};

struct encoded_payload; /* transport/stream/payload.h */
TAILQ_HEAD(encoded_payload_list, encoded_payload);

struct send_request {
    TAILQ_ENTRY(send_request) link;
    struct flow_key key;
    const struct flow_label *label;
    const uint8_t *bytes;
    /* How much float32 payloads lose; LOSS_NONE except in a collective. */
    enum codec_loss loss;
    uint64_t total;
    uint64_t ready;   /* bytes that the data permit to send */
    uint64_t granted; /* bytes that the receiver permits to send */
    uint64_t framed;  /* bytes that are cut into frames */
    uint64_t handed;  /* bytes that the kernel has taken, or that are copied */
    uint32_t round;   /* of the plan, counted from 0 */
    bool is_queued;
    bool is_first_frame_cut; /* its first frame has been cut */
    bool is_granted;         /* the receiver has granted it, if only 0 bytes */
    bool is_announced;       /* it has asked for a grant by an ANNOUNCE frame */
    /* It waits for that grant in a list of its own. */
    bool is_awaiting_rendezvous_grant;
    /* A tensor that is sent whole and whose grant is awaited. */
    bool is_awaiting_confirmation;
    /* Ordered by offset; not initialised while n_encoded_payloads is 0. */
    struct encoded_payload_list encoded_payloads;
    size_t n_encoded_payloads;
    void *owner;
};

struct unexpected; /* a message that came before its receive request */

struct recv_request {
    TAILQ_ENTRY(recv_request) link;
    TAILQ_ENTRY(recv_request) drain_link;
    struct flow_key key; /* FLOW_MESSAGE: op and peer are known once matched */
    const struct flow_label *label;
    uint8_t *place; /* where bytes go; NULL: on_arrived() gets pieces */
    size_t element_size;
    uint64_t total;   /* FLOW_MESSAGE: at first the capacity, then what comes */
    uint64_t allowed; /* bytes that the plan permits to place */
    uint64_t arrived;
    uint64_t granted;
    struct unexpected *unexpected;
    bool is_open;
    bool is_matched;
    bool is_announced; /* the sender has announced it and waits for a grant */
    /* Part of it came unasked; the sender will need a grant. */
    bool is_begun_unasked;
    bool is_granted; /* a grant has been sent, if only of 0 bytes */
    bool is_draining;
    void *owner;
};

/* Returns whether nothing of flow is left to do: the kernel has taken all
 * bytes, and if flow is a confirmed tensor, its receiver has accepted it. */
static inline bool
send_request_is_done(const struct send_request *flow)
{
    return flow->handed == flow->total &&
           (!flow->label->needs_receiver_confirmation || flow->is_granted);
}

/* Returns the header of flow's next frame, without what depends on its
 * payload. */
static inline struct frame
send_request_frame(const struct send_request *flow)
{
    return (struct frame){
        .kind =
            flow->key.kind == FLOW_MESSAGE ? FRAME_MESSAGE : FRAME_COLLECTIVE,
        .flags = flow->label->flags | (flow->label->tensor ? FRAME_TENSOR : 0),
        .epoch = flow->label->epoch,
        .comm = flow->key.comm,
        .op = flow->key.op,
        .signature = flow->label->signature,
        .tag = flow->label->tag,
        .step = flow->key.step,
        .offset = flow->framed,
        .total = flow->total,
        .call = flow->label->call,
    };
}

TAILQ_HEAD(send_request_list, send_request);
TAILQ_HEAD(recv_request_list, recv_request);

/* The source of a FLOW_MESSAGE receive request that takes any sender's
 * message. */
static const uint32_t FLOW_ANY_PEER = UINT32_MAX;

/*
 * The eager window. Both sides compute the same numbers: docs/wire-format.md,
 * "Flow control".
 */

static inline uint64_t
eager_window_per_rank(uint32_t n_ranks)
{
    const uint64_t share = LIMIT_EAGER_TOTAL / n_ranks;

    return share < LIMIT_EAGER_WINDOW ? share : LIMIT_EAGER_WINDOW;
}

/* What an eager frame with n_stored bytes of payload takes of the window. */
static inline uint64_t
eager_window_frame_cost(uint64_t n_stored)
{
    return LIMIT_FRAME_HEADER + n_stored;
}

/* The part of the window that large eager messages leave for small ones. */
static inline uint64_t
eager_window_small_reserve(uint64_t window)
{
    return window / 4;
}

/* The largest message that may be sent eagerly as a whole, while the window
 * has room. The receiver grants such a message only after its first frame. */
static inline uint64_t
eager_whole_message_max(uint64_t window)
{
    const uint64_t n_room = window - eager_window_small_reserve(window);

    return n_room >= eager_window_frame_cost(LIMIT_EAGER_WHOLE_MESSAGE)
               ? LIMIT_EAGER_WHOLE_MESSAGE
               : LIMIT_EAGER_MESSAGE;
}

#endif
