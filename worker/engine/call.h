/*
 * engine/call.h - what a rank called: compared between ranks, named in errors
 */

#ifndef ENGINE_CALL_H
#define ENGINE_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"

#include "wire/frame_tensor.h"

/* The numbers are the wire's (docs/wire-format.md). */
enum call_name {
    CALL_UNKNOWN = 0,
    CALL_ALLREDUCE = 1,
    CALL_REDUCE = 2,
    CALL_BROADCAST = 3,
    CALL_ALLGATHER = 4,
    CALL_ALLGATHERV = 5,
    CALL_REDUCE_SCATTER = 6,
    CALL_REDUCE_SCATTERV = 7,
    CALL_BARRIER = 8,
    CALL_SEND = 9,
    CALL_RECV = 10,
    CALL_GATHER = 11,
    CALL_GATHERV = 12,
    CALL_SCATTER = 13,
    CALL_SCATTERV = 14,
    CALL_ALLTOALL = 15,
    CALL_ALLTOALLV = 16, /* counts differ by rank: agreed on pair by pair */
    CALL_SCAN = 17,
    CALL_EXSCAN = 18,
    CALL_BROADCAST_OBJECT = 19,
    CALL_GATHER_OBJECT = 20,
    CALL_ALLGATHER_OBJECT = 21,
    CALL_ALLREDUCE_COALESCED = 22,
    CALL_AGREE = 23, /* the library's own: a communicator's table */
    CALL_SEND_TENSOR = 24,
    CALL_RECV_TENSOR = 25,
    CALL_RECV_ANY_TENSOR = 26, /* HOOP_ANY_SHAPE */
    CALL_REDISTRIBUTE = 27,    /* of a distributed tensor; all of its stages */
    CALL_SCATTER_OBJECT = 28,
    CALL_SEND_OBJECT = 29, /* a tensor of bytes */
    CALL_RECV_OBJECT = 30, /* ... of any length */
};

/* What all ranks must have set alike: the root of CALL_AGREE, by which they find
 * out when a communicator is formed. */
enum call_setting {
    CALL_SETTING_RETRIES = 1, /* HOOP_ON_FAILURE=retry */
};

struct call {
    enum call_name name;
    enum hoop_dtype dtype;
    enum hoop_reduce_op reduce_op; /* where it has one */
    uint32_t root;                 /* root, or the peer of a message */
    size_t count;                  /* v-forms: the sum */
    const size_t *counts;          /* v-forms: one per rank, borrowed */
    uint32_t n_counts;
};

enum {
    CALL_TEXT_MAX = 192
};

/* "allreduce #3 (float32, 1024 elements, sum)"; number 0: none. */
void
call_describe(const struct frame_call *call,
              uint64_t number,
              char text[CALL_TEXT_MAX]);

/* The same of a message: "send_tensor #3 (float32 [4, 8])". tensor NULL: of
 * bytes. */
void
call_describe_message(const struct frame_call *call,
                      uint64_t number,
                      const struct frame_tensor *tensor,
                      char text[CALL_TEXT_MAX]);

/* The tag of messages that the library sends itself, above all of programs. */
static const uint64_t CALL_TAG_OWN = (uint64_t)1 << 63;

/* "allreduce". Static. */
const char *
call_text(enum call_name name);

/* There is a call of that name. */
bool
call_exists(const char *text);

/* All give or take only what one has; who else is late does not matter. */
bool
call_has_root(const struct frame_call *call);

/* It combines what ranks give. */
bool
call_reduces(const struct frame_call *call);

/* Whoever is through with it knows that all have called it. */
bool
call_needs_all(const struct frame_call *call);

struct frame_call
call_frame(const struct call *call);

/* Hash of what all ranks must agree on. */
uint64_t
call_signature(const struct call *call);

#endif
