/*
 * coll/collective.h - the part of every collective that is the same
 *
 * A public call describes itself in MPI's terms, once for both of its forms;
 * collective_start() checks that, chooses the algorithm (coll/select.h) and
 * hands it to the engine. No step of an algorithm is taken here: from then on
 * whoever drives the engine owns the operation.
 */

#ifndef COLL_COLLECTIVE_H
#define COLL_COLLECTIVE_H

#include "hoop/coll.h"

#include "engine/engine.h"

/* Which of its parts a collective has; the others are not looked at. */
enum coll_part {
    COLL_REDUCES = 1,
    COLL_HAS_ROOT = 2,
    COLL_SEND_AT_ROOT = 4, /* send matters there only */
    COLL_RECV_AT_ROOT = 8,
    COLL_NO_BUFFERS = 16,
    /* Elements of a buffer, per count: */
    COLL_SEND_ALL = 32, /* send holds every rank's block */
    COLL_RECV_ALL = 64,
    COLL_HAS_COUNTS = 128, /* v-form */
    COLL_HAS_RECV_COUNTS = 256,
    COLL_IS_PREFIX = 512, /* of each rank another result: no AVG */
};

struct collective {
    enum call_name name;
    unsigned parts;
    const void *send;
    void *recv;
    const void *place; /* of the tensor; NULL: what is sent is there */
    size_t count;
    const size_t *counts;      /* COLL_HAS_COUNTS; otherwise NULL */
    const size_t *recv_counts; /* COLL_HAS_RECV_COUNTS; otherwise NULL */
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t root;
    const size_t *agreed; /* what else must be the same on all ranks; NULL:
                             nothing, or counts */
    uint32_t n_agreed;
    enum call_name like; /* takes its algorithm; CALL_UNKNOWN: name's */
    struct chain chain;  /* taken, also when the start fails */
};

/* comm has this process as a member. Handle: HOOP_E_INVALID. */
enum hoop_status
collective_check(const struct collective *collective, const hoop_comm_t *comm);

/* The _start form; comm NULL: the default group's. Handle: HOOP_E_INVALID. */
enum hoop_status
collective_start(const struct collective *collective,
                 hoop_comm_t *comm,
                 hoop_op_t **out_op);

/* The blocking form. */
enum hoop_status
collective_run(const struct collective *collective, hoop_comm_t *comm);

/* As the engine wants it, unchecked: for the later chain of an operation. */
struct engine_collective
collective_request(const struct collective *collective,
                   const hoop_comm_t *comm);

#endif
