/* hoop/coll.h - collectives: every rank of a communicator calls the same
 *
 * Argument order is MPI's and NCCL's. Counts are elements, not bytes, and
 * nothing stops at 2^31. All ranks of a communicator call the same operations
 * in the same order with the same dtype, reduce operator, root and counts;
 * where they do not, every rank that notices gets HOOP_E_MISMATCH with both
 * calls named, before its buffers are touched.
 *
 * Buffers are borrowed until completion. They may be unaligned, and they must
 * not overlap, unless they are the same: HOOP_IN_PLACE for either, or equal
 * pointers, work in place. After a failure the content of a receive buffer is
 * unspecified. Results of a reduction are bit-identical on all ranks.
 *
 * Every _start form returns at once and hands out an operation for
 * hoop_wait() (hoop/op.h); *out_op is written only on HOOP_OK. The other form
 * is start and wait in one call, and its thread moves the data itself.
 *
 * Handle (all): HOOP_E_INVALID before anything was sent; HOOP_E_PEER_LOST,
 * HOOP_E_MISMATCH, HOOP_E_TIMEOUT, each with a text that names the culprit.
 * Thread (all): any; at once on different communicators, one at a time on the
 * same.
 */

#ifndef HOOP_COLL_H
#define HOOP_COLL_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"

HOOP_BEGIN

/* Stands for the other buffer of the same call. */
#define HOOP_IN_PLACE ((void *)-1)

/*
 * recv[i] = send_0[i] (op) ... (op) send_n-1[i] on every rank. Both buffers
 * hold count elements.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allreduce(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               enum hoop_reduce_op op,
               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allreduce_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     enum hoop_reduce_op op,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op);

/*
 * As hoop_allreduce(), but the result is on root alone. Elsewhere recv is not
 * touched and may be NULL; in place, elsewhere, the buffer keeps its input.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            uint32_t root,
            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_start(const void *send,
                  void *recv,
                  size_t count,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op,
                  uint32_t root,
                  hoop_comm_t *comm,
                  hoop_op_t **out_op);

/*
 * recv = root's send, count elements, on every rank. send matters on root
 * only and may be NULL elsewhere. In place: one buffer for both.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_broadcast(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               uint32_t root,
               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_broadcast_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     uint32_t root,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op);

/*
 * recv[s * count + i] = send_s[i]. send holds count elements, recv n * count.
 * In place: this rank's contribution already lies at recv + rank * count.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgather(const void *send,
               void *recv,
               size_t count,
               enum hoop_dtype dtype,
               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgather_start(const void *send,
                     void *recv,
                     size_t count,
                     enum hoop_dtype dtype,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op);

/*
 * hoop_allgather() with counts[s] elements from rank s, packed in rank order.
 * counts has one entry per rank, is the same everywhere and is borrowed for
 * the call only. Zero is a count.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgatherv(const void *send,
                void *recv,
                const size_t *counts,
                enum hoop_dtype dtype,
                hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgatherv_start(const void *send,
                      void *recv,
                      const size_t *counts,
                      enum hoop_dtype dtype,
                      hoop_comm_t *comm,
                      hoop_op_t **out_op);

/*
 * recv_r[i] = the reduction of send_s[r * count + i] over all s. send holds
 * n * count elements, recv count. In place: the buffer holds n * count, the
 * result stands at its beginning and the rest stays as it was.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter(const void *send,
                    void *recv,
                    size_t count,
                    enum hoop_dtype dtype,
                    enum hoop_reduce_op op,
                    hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_start(const void *send,
                          void *recv,
                          size_t count,
                          enum hoop_dtype dtype,
                          enum hoop_reduce_op op,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op);

/*
 * hoop_reduce_scatter() that leaves counts[r] elements on rank r. counts as in
 * hoop_allgatherv().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatterv(const void *send,
                     void *recv,
                     const size_t *counts,
                     enum hoop_dtype dtype,
                     enum hoop_reduce_op op,
                     hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatterv_start(const void *send,
                           void *recv,
                           const size_t *counts,
                           enum hoop_dtype dtype,
                           enum hoop_reduce_op op,
                           hoop_comm_t *comm,
                           hoop_op_t **out_op);

/* Nobody returns before everybody has called. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_barrier(hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_barrier_start(hoop_comm_t *comm, hoop_op_t **out_op);

HOOP_END

#endif
