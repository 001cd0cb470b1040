/*
 * coll/internal_collective.h - collectives of the library's own, which are never done again
 *
 * What goes on with fewer ranks than it began with is the program's to say; a
 * call of the library's in several steps ends with the failure of one.
 */

#ifndef COLL_INTERNAL_COLLECTIVE_H
#define COLL_INTERNAL_COLLECTIVE_H

#include "hoop/coll.h"

/* As the public ones, blocking. */
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
/* One number of each rank becomes the greatest of all. */
enum hoop_status
internal_allreduce_max(uint64_t *number, hoop_comm_t *comm);

#endif
