/*
 * api/collective.h - the code that all collectives share
 *
 * A public call describes itself in MPI's terms, once for its blocking and its
 * _start form. collective_start() checks the description, chooses the algorithm
 * (select_algorithm()) and passes it to the engine. The algorithm runs in the
 * engine: from then on, the progress owner advances the operation. A blocking
 * call like the last one is not checked again: collective_run() has its request.
 */

#ifndef API_COLLECTIVE_H
#define API_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/coll.h"
#include "hoop/comm.h"

#include "base/error.h"
#include "engine/call.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "session/comm.h"

/* The properties of a collective. A field of struct collective that belongs to
 * a property is ignored without it. */
enum collective_property {
    COLL_REDUCES = 1,
    COLL_HAS_ROOT = 2,
    COLL_SEND_AT_ROOT = 4, /* send matters on the root only */
    COLL_RECV_AT_ROOT = 8,
    COLL_NO_BUFFERS = 16,
    /* How many elements a buffer has: */
    COLL_SEND_ALL = 32, /* send holds a block for every rank */
    COLL_RECV_ALL = 64,
    COLL_HAS_COUNTS = 128, /* the v-form */
    COLL_HAS_RECV_COUNTS = 256,
    /* each rank gets a different result: AVG is not allowed */
    COLL_IS_PREFIX = 512,
};

struct collective {
    enum call_name name;
    unsigned parts;
    const void *send;
    void *recv;
    /* the tensor's address, for codecs that keep state for each tensor; NULL:
     * the send buffer */
    const void *place;
    size_t count;
    const size_t *counts;      /* COLL_HAS_COUNTS; otherwise NULL */
    const size_t *recv_counts; /* COLL_HAS_RECV_COUNTS; otherwise NULL */
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t root;
    /* further numbers that must be equal on all ranks; NULL: none, or counts */
    const size_t *agreed;
    uint32_t n_agreed;
    /* whose algorithm is used; CALL_UNKNOWN: that of name */
    enum call_name like;
    struct chain chain; /* ownership passes to the call, also on failure */
};

/* The properties of a call by its name. Calls on objects have none here: they
 * consist of several collectives. */
extern const unsigned collective_parts[CALL_RECV_OBJECT + 1];

/* Describe a call of two buffers. The caller sets op, root and counts if the
 * call has them. */
static inline struct collective
collective_describe(enum call_name name,
                    const void *send,
                    void *recv,
                    size_t count,
                    enum hoop_dtype dtype)
{
    return (struct collective){
        .name = name,
        .parts = collective_parts[name],
        .send = send,
        .recv = recv,
        .count = count,
        .dtype = dtype,
    };
}

/* Check a call on comm, of which this process is a member.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
collective_check(const struct collective *collective, const hoop_comm_t *comm);

/* Start the operation without waiting; the caller waits for *out_op. comm NULL
 * means the default group's.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
collective_start(const struct collective *collective,
                 hoop_comm_t *comm,
                 hoop_op_t **out_op);

/* Run the operation and wait for its end. comm as above. */
enum hoop_status
collective_run(const struct collective *collective, hoop_comm_t *comm);

/* Convert to the engine's request without checking: also for the later
 * operations of a chain. */
struct engine_collective
collective_to_engine_request(const struct collective *collective,
                             const hoop_comm_t *comm);

/* The algorithm for a call on comm, the same on all ranks. Never NULL for a
 * collective. For the meaning of n_bytes see select/tuning.h. */
const struct algorithm *
select_algorithm(const struct hoop_comm *comm,
                 enum call_name name,
                 size_t n_bytes);

/*
 * The two buffers of a call may be one, and on a rank that is not the root
 * only one of them may matter. These functions turn the user's arguments, in
 * MPI's terms, into the input and the output of a plan.
 */

struct collective_buffers {
    const void *input;
    /* the input if the call is in place, or if only one buffer matters here */
    void *output;
    bool is_in_place;
    size_t n_input; /* elements */
    size_t n_output;
};

/* The buffers of a call whose counts have been checked. */
struct collective_buffers
buffers_from_collective(const struct collective *collective,
                        const hoop_comm_t *comm);

/*
 * A process may hold a communicator of which it is not a member. Every call
 * on it succeeds at once and touches nothing.
 */

/* Begin a public call: reset the thread's last error, and find out whether this
 * process is a member of comm. Handle: HOOP_E_INVALID (NULL). */
enum hoop_status
comm_call_begin(const hoop_comm_t *comm, bool *out_is_member);

/* The global communicator of the default group, formed at the first request. On
 * failure returns NULL and sets *out_status: HOOP_E_INVALID (no default group),
 * or as hoop_group_global_comm(). */
hoop_comm_t *
comm_call_default_comm(enum hoop_status *out_status);

/* Like comm_call_begin(), for calls that accept NULL for the default group's
 * global communicator: replaces *comm by it. */
static inline enum hoop_status
comm_call_begin_or_default(hoop_comm_t **comm, bool *out_is_member)
{
    *out_is_member = false;
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!*comm) {
        enum hoop_status status;
        hoop_comm_t *found = comm_call_default_comm(&status);

        if (!found)
            return error_pass(status);
        *comm = found;
    }
    *out_is_member = (*comm)->context != NULL;
    return HOOP_OK;
}

#endif
