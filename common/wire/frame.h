/*
 * wire/frame.h - the header of a frame: preamble and msgpack array, 128 bytes
 *
 * docs/wire-format.md is normative. The fields are in the order in which they
 * are sent (wire/schema.h).
 */

#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"

enum {
    FRAME_VERSION = 1
};

enum frame_kind {
    FRAME_COLLECTIVE = 1,     /* payload of a step of a collective */
    FRAME_MESSAGE = 2,        /* payload of a point-to-point message */
    FRAME_ANNOUNCE = 3,       /* a message waits for a grant; no payload */
    FRAME_GRANT = 4,          /* bytes up to offset may be sent; no payload */
    FRAME_CREDIT = 5,         /* the eager window grows by total bytes; no
                             payload */
    FRAME_FAILURE_NOTICE = 6, /* failure notice: an operation or a rank failed;
                             payload is text */
    FRAME_HEARTBEAT = 7,
    FRAME_GOODBYE = 8, /* the sender leaves in good order */
    FRAME_STRIPED = 9, /* what follows may be spread over total connections;
                          no payload */
};

enum frame_flag {
    FRAME_POINT_TO_POINT = 1, /* ANNOUNCE, GRANT, FAILURE_NOTICE: of one */
    FRAME_EAGER = 2,     /* sent without a grant; takes 128 + stored bytes of
                            the window */
    FRAME_WITHDRAWN = 4, /* ANNOUNCE: the message will not come; HEARTBEAT:
                            comm is gone */
    FRAME_ASKS = 8,      /* HEARTBEAT: asks whether this operation was called */
    FRAME_ENDED = 16,    /* HEARTBEAT: yes, and it has ended well */
    FRAME_BUSY = 32,     /* HEARTBEAT: no; call is what is in progress
                            instead, or 0 */
    FRAME_CHECKED = 64,  /* the ranks agree on each collective before they
                            begin it */
    FRAME_TENSOR = 128,  /* MESSAGE, or ANNOUNCE of one: wire/frame_tensor.h */
};

/* What was called, so that an error can name both calls of a mismatch. */
struct frame_call {
    uint32_t name; /* the collective, see docs/wire-format.md */
    uint32_t dtype;
    uint32_t reduce_op;
    uint32_t root;
    uint64_t count;
};

struct frame {
    uint32_t kind;
    uint32_t flags;
    uint64_t epoch;
    uint64_t comm;
    uint64_t op;        /* number of the operation on comm, or of the message */
    uint64_t signature; /* 64-bit hash of what all ranks must agree on */
    uint64_t tag;
    uint32_t step;   /* the message's number in the plan */
    uint64_t offset; /* position of the payload in the message */
    uint64_t total;  /* bytes of the whole message */
    uint32_t codec;
    uint32_t raw;    /* payload bytes before encoding */
    uint32_t stored; /* payload bytes after encoding; padded to 64 on the
                        wire */
    uint64_t checksum;
    struct frame_call call;
};

/* Bytes on the wire of a payload of n_stored bytes. */
static inline size_t
frame_padded(size_t n_stored)
{
    return (n_stored + LIMIT_FRAME_PAD - 1) / LIMIT_FRAME_PAD * LIMIT_FRAME_PAD;
}

/* Always writes LIMIT_FRAME_HEADER bytes. Thread: any. */
void
frame_encode(const struct frame *frame, uint8_t out[LIMIT_FRAME_HEADER]);

/*
 * Decode bytes that are not trusted: everything is checked, raw and stored
 * against LIMIT_FRAME_PAYLOAD, and nothing is allocated. Handle:
 * HOOP_E_DATA_LOSS (not a frame), HOOP_E_UNIMPLEMENTED (other version).
 */
enum hoop_status
frame_decode(const uint8_t in[LIMIT_FRAME_HEADER], struct frame *out_frame);

#endif
