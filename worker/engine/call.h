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

/* The numbers are those of the wire (docs/wire-format.md). */
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
    /* Its counts differ by rank and are compared by pairs. */
    CALL_ALLTOALLV = 16,
    CALL_SCAN = 17,
    CALL_EXSCAN = 18,
    CALL_BROADCAST_OBJECT = 19,
    CALL_GATHER_OBJECT = 20,
    CALL_ALLGATHER_OBJECT = 21,
    CALL_ALLREDUCE_COALESCED = 22,
    /* The library's own: ranks agree on a communicator's table. */
    CALL_AGREE = 23,
    CALL_SEND_TENSOR = 24,
    CALL_RECV_TENSOR = 25,
    CALL_RECV_ANY_TENSOR = 26, /* HOOP_ANY_SHAPE */
    CALL_REDISTRIBUTE = 27,    /* of a distributed tensor; covers all stages */
    CALL_SCATTER_OBJECT = 28,
    CALL_SEND_OBJECT = 29, /* sent as a tensor of bytes */
    CALL_RECV_OBJECT = 30, /* of any length */
};

enum {
    CALL_NAMES = CALL_RECV_OBJECT + 1
};

/* What a call has besides its name, dtype and count. */
enum call_attribute {
    CALL_HAS_REDUCE_OP = 1,
    CALL_HAS_ROOT = 2,
    CALL_HAS_NO_PARAMETERS = 4, /* not even a dtype and a count */
    CALL_HAS_ROOT_ONLY = 8,
    CALL_HAS_NO_COMMON_COUNT = 16, /* no count that all ranks agree on */
    /* No rank finishes it before all have called it. */
    CALL_NEEDS_ALL_RANKS = 32,
    CALL_IS_SEND = 64, /* of a message */
};

struct call_row {
    const char *text;
    unsigned parts;
};

extern const struct call_row call_rows[CALL_NAMES];

/* name may have come from another process. */
static inline const struct call_row *
call_row(uint32_t name)
{
    return &call_rows[name < CALL_NAMES ? name : CALL_UNKNOWN];
}

/* Settings that all ranks must have alike. They travel as the root of
 * CALL_AGREE, so that ranks compare them when a communicator is formed. */
enum call_setting {
    CALL_SETTING_RETRIES = 1, /* HOOP_ON_FAILURE=retry */
};

struct call {
    enum call_name name;
    enum hoop_dtype dtype;
    enum hoop_reduce_op reduce_op; /* if the call has one */
    uint32_t root;                 /* the root, or the peer of a message */
    size_t count;                  /* of a v-form: the sum */
    const size_t *counts;          /* of a v-form: one per rank, borrowed */
    uint32_t n_counts;
};

enum {
    CALL_TEXT_MAX = 192
};

/* Describe a call: "allreduce #3 (float32, 1024 elements, sum)". Number 0 is
 * left out. */
void
call_describe(const struct frame_call *call,
              uint64_t number,
              char text[CALL_TEXT_MAX]);

/* Describe a message: "send_tensor #3 (float32 [4, 8])". tensor NULL: a message
 * of bytes. */
void
call_describe_message(const struct frame_call *call,
                      uint64_t number,
                      const struct frame_tensor *tensor,
                      char text[CALL_TEXT_MAX]);

/* The tag of the library's own messages, above all tags of programs. */
static const uint64_t CALL_TAG_LIBRARY_INTERNAL = (uint64_t)1 << 63;

/* Returns the call's name, such as "allreduce", as a static string. */
const char *
call_name_to_string(enum call_name name);

/* Returns whether a call has that name. */
bool
call_name_exists(const char *text);

/* Returns whether the call has a root: then the other ranks do not depend on
 * each other. */
static inline bool
call_has_root(const struct frame_call *call)
{
    return call_row(call->name)->parts & (CALL_HAS_ROOT | CALL_HAS_ROOT_ONLY);
}

/* Returns whether the call combines what ranks contribute. */
static inline bool
call_is_reduction(const struct frame_call *call)
{
    return call_row(call->name)->parts & CALL_HAS_REDUCE_OP;
}

/* Returns whether a rank that has finished the call knows that all ranks have
 * called it. */
static inline bool
call_needs_all_ranks(const struct frame_call *call)
{
    /* A call of no elements sends nothing. */
    return (call_row(call->name)->parts & CALL_NEEDS_ALL_RANKS) &&
           (call->count > 0 || call->name == CALL_BARRIER);
}

static inline struct frame_call
call_to_frame_call(const struct call *call)
{
    return (struct frame_call){
        .name = call->name,
        .dtype = call->dtype,
        .reduce_op = call->reduce_op,
        .root = call->root,
        .count = call->count,
    };
}

/* Returns a hash of what all ranks must agree on. */
uint64_t
call_signature(const struct call *call);

#endif
