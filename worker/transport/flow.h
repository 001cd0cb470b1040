/*
 * transport/flow.h - one message under way: the sender's and receiver's side
 *
 * A flow is memory of the engine (inside a track's or a message's record); the
 * transport links it into its lists while it is open. Both sides name it by
 * the same key. Bytes of a flow leave and arrive in order.
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

#include "codec/loss.h"
#include "wire/frame_tensor.h"

enum flow_class {
    FLOW_COLLECTIVE, /* op: number of the operation; step: plan's message */
    FLOW_MESSAGE,    /* op: number of the message, counted by the sender */
};

struct flow_key {
    uint64_t comm;
    uint64_t op;
    uint32_t step;
    uint32_t peer; /* world rank of the other side */
    enum flow_class kind;
    uint32_t unused; /* 0: keys are hashed as bytes, padding would not do */
};

/* What every frame of an operation says of it. Borrowed by its flows. */
struct flow_label {
    uint64_t epoch;
    uint64_t signature;
    uint64_t tag;
    uint32_t flags;  /* enum frame_flag, of each */
    uint32_t faults; /* rules about it (fault/fault.h); 0: none */
    struct frame_call call;
    /* FLOW_MESSAGE: what is sent, or expected, which may be HOOP_ANY_SHAPE, and
     * then the call's dtype FRAME_ANY_DTYPE. NULL: bytes, not a tensor. */
    const struct frame_tensor *tensor;
    /* A tensor that its receiver grants when it takes it, however it came: its
     * sender waits for that. Alike on both sides. */
    bool is_confirmed;
};

struct encoded_payload; /* transport/encoded_payload.h */
TAILQ_HEAD(encoded_payload_list, encoded_payload);

struct send_request {
    TAILQ_ENTRY(send_request) link;
    struct flow_key key;
    const struct flow_label *label;
    const uint8_t *bytes;
    /* float32s that lose this; LOSS_NONE: no flow but a collective's may. */
    enum codec_loss loss;
    uint64_t total;
    uint64_t ready;   /* may be sent, as far as the data go */
    uint64_t granted; /* may be sent, as far as the receiver goes */
    uint64_t framed;  /* cut into frames */
    uint64_t handed;  /* the kernel has them, or a copy is made */
    uint32_t round;   /* of the plan, from 0 */
    bool is_queued;
    bool is_opened;             /* its first frame has been cut */
    bool is_granted;            /* what it asked for, if only to send nothing */
    bool has_rts;               /* asked for a grant */
    bool is_rendezvous_pending; /* and waits for it, out of the others' way */
    bool is_unconfirmed; /* a tensor, sent whole, whose grant is awaited */
    struct encoded_payload_list
        encoded_payloads; /* in order; nothing while n_encoded is 0 */
    size_t n_encoded;
    void *owner;
};

struct unexpected; /* what came of a message before its receiver was there */

struct recv_request {
    TAILQ_ENTRY(recv_request) link;
    TAILQ_ENTRY(recv_request) drain_link;
    struct flow_key key; /* FLOW_MESSAGE: op and peer are known once matched */
    const struct flow_label *label;
    uint8_t *place; /* where bytes go; NULL: pieces are handed to on_arrived */
    size_t element_size;
    uint64_t total;   /* FLOW_MESSAGE: the most that fits, then what comes */
    uint64_t allowed; /* may be placed, as far as the plan goes */
    uint64_t arrived;
    uint64_t granted;
    struct unexpected *unexpected;
    bool is_open;
    bool is_matched;
    bool has_rts;    /* the sender waits for a grant of it ... */
    bool is_begun;   /* ... or soon will: not all came at once */
    bool is_granted; /* a grant has been sent, if only of no bytes */
    bool is_draining;
    void *owner;
};

/* Nothing of flow is left to do: its bytes are the kernel's, and of a tensor the
 * receiver has said that it takes it. */
static inline bool
send_request_is_done(const struct send_request *flow)
{
    return flow->handed == flow->total &&
           (!flow->label->is_confirmed || flow->is_granted);
}

TAILQ_HEAD(send_request_list, send_request);
TAILQ_HEAD(recv_request_list, recv_request);

/* As source of a FLOW_MESSAGE receive request. */
static const uint32_t FLOW_ANY_PEER = UINT32_MAX;

#endif
