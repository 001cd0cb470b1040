/*
 * api/collective.h - the code that all collectives share
 *
 * A public call describes itself in MPI's terms, once for its blocking and its
 * _start form. collective_start() checks the description, chooses the algorithm
 * (api/select.h) and passes it to the engine. The algorithm runs in the
 * engine: from then on, the progress owner advances the operation.
 */

#ifndef API_COLLECTIVE_H
#define API_COLLECTIVE_H

#include "hoop/coll.h"

#include "engine/engine.h"

/* The properties of a collective. A field of struct collective that belongs to a
 * property is ignored without it. */
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

#endif
