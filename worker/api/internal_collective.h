/*
 * api/internal_collective.h - collectives for the library's own use, never
 * retried
 *
 * Only the program can decide whether to go on with fewer ranks. A library call
 * of several steps fails when one of its collectives fails.
 */

#ifndef API_INTERNAL_COLLECTIVE_H
#define API_INTERNAL_COLLECTIVE_H

#include "hoop/coll.h"

/* Blocking, with the semantics of the public functions. */
enum hoop_status
internal_barrier(hoop_comm_t *comm);
enum hoop_status
internal_broadcast(void *bytes,
                   size_t n_bytes,
                   uint32_t root,
                   hoop_comm_t *comm);
enum hoop_status
internal_allgather(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm);
enum hoop_status
internal_allgatherv(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype,
                    hoop_comm_t *comm);
/* Replace *number by the maximum over all ranks. */
enum hoop_status
internal_allreduce_max(uint64_t *number, hoop_comm_t *comm);

#endif
