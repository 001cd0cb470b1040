/* hoop/coll.h - collectives: every rank of a communicator calls the same
 *
 * Argument order is MPI's and NCCL's. Counts are elements, not bytes, and
 * nothing stops at 2^31. All ranks of a communicator call the same operations
 * in the same order with the same dtype, reduce operator, root and counts.
 *
 * Where they do not, every rank gets HOOP_E_MISMATCH once, with a text that
 * names both calls and their ranks, and no byte of another call reaches a
 * buffer. A rank that only sends, or has nothing to receive, may have returned
 * HOOP_OK before: one of its next calls on the communicator, collective or
 * message, tells it when it ends, the second that waits for all ranks at the
 * latest. That call itself has been done, or has failed for another
 * reason that its text gives, too; but objects, coalesced tensors and _dim
 * forms that tell it hand out nothing. Every call counts, however it ends:
 * behind a mismatch the communicator goes on with the next call of all ranks.
 * Ranks that exchange nothing compare nothing: what differs in calls of no
 * elements, or in a v-form only in what others exchange, may go unnoticed.
 * A message and a collective are never compared, since they may cross; where
 * each waits for the other, the deadline names both.
 *
 * With HOOP_CHECK=full no rank returns from a collective before all have
 * called the same: each rank is told at the call itself, and then no buffer
 * has been touched. Counts of alltoallv remain a matter of two ranks.
 *
 * Buffers are borrowed until completion. They may be unaligned, and they must
 * not overlap, unless they are the same: HOOP_IN_PLACE for either, or equal
 * pointers, work in place. After a failure the content of a receive buffer is
 * unspecified. Results of a reduction are bit-identical on all ranks. On a
 * communicator that this process is no member of, every call succeeds at once
 * and touches nothing.
 *
 * comm NULL is the global communicator of the default group (hoop/init.h), as
 * hoop_group_global_comm() hands it out: the first such call of a rank forms it
 * and waits for the other ranks, also in a _start form. Without a default group
 * NULL is HOOP_E_INVALID. So it is in hoop/coalesced.h, hoop/dim.h,
 * hoop/object.h and hoop/p2p.h, and for the messages of hoop/tensor.h. Bagua's
 * comm=None.
 *
 * Every _start form returns at once and hands out an operation for
 * hoop_wait() (hoop/op.h); *out_op is written only on HOOP_OK. The other form
 * is start and wait in one call, and its thread moves the data itself.
 *
 * Handle (all): HOOP_E_INVALID before anything was sent; HOOP_E_PEER_LOST,
 * HOOP_E_MISMATCH, HOOP_E_TIMEOUT, each with a text that names the culprit.
 * Texts name ranks as those of the world, whatever the communicator, but roots
 * as they were given.
 *
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

/*
 * recv[s * count + i] = send_s[i] on root, count elements from each. Elsewhere
 * recv is not touched and may be NULL. In place: root's own block already lies
 * at recv + root * count; elsewhere the buffer is the block. Bagua's gather,
 * MPI_Gather.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            uint32_t root,
            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_start(const void *send,
                  void *recv,
                  size_t count,
                  enum hoop_dtype dtype,
                  uint32_t root,
                  hoop_comm_t *comm,
                  hoop_op_t **out_op);

/*
 * hoop_gather() with counts[s] elements from rank s, packed in rank order.
 * counts as in hoop_allgatherv(): the same on all ranks, not only on root.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gatherv(const void *send,
             void *recv,
             const size_t *counts,
             enum hoop_dtype dtype,
             uint32_t root,
             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gatherv_start(const void *send,
                   void *recv,
                   const size_t *counts,
                   enum hoop_dtype dtype,
                   uint32_t root,
                   hoop_comm_t *comm,
                   hoop_op_t **out_op);

/*
 * recv_r[i] = root's send[r * count + i]. send holds n * count elements, matters
 * on root only and may be NULL elsewhere. In place: elsewhere the block lands
 * at the beginning of the buffer; root's holds n * count and stays as it was,
 * its own block at root * count. Bagua's scatter, MPI_Scatter.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter(const void *send,
             void *recv,
             size_t count,
             enum hoop_dtype dtype,
             uint32_t root,
             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_start(const void *send,
                   void *recv,
                   size_t count,
                   enum hoop_dtype dtype,
                   uint32_t root,
                   hoop_comm_t *comm,
                   hoop_op_t **out_op);

/*
 * hoop_scatter() of counts[r] elements to rank r. counts as in
 * hoop_allgatherv().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatterv(const void *send,
              void *recv,
              const size_t *counts,
              enum hoop_dtype dtype,
              uint32_t root,
              hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatterv_start(const void *send,
                    void *recv,
                    const size_t *counts,
                    enum hoop_dtype dtype,
                    uint32_t root,
                    hoop_comm_t *comm,
                    hoop_op_t **out_op);

/*
 * recv_r[s * count + i] = send_s[r * count + i]: block r goes to rank r, and
 * what came from rank s is block s. Both buffers hold n * count elements. In
 * place too. Bagua's alltoall, MPI_Alltoall.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_alltoall(const void *send,
              void *recv,
              size_t count,
              enum hoop_dtype dtype,
              hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_alltoall_start(const void *send,
                    void *recv,
                    size_t count,
                    enum hoop_dtype dtype,
                    hoop_comm_t *comm,
                    hoop_op_t **out_op);

/*
 * hoop_alltoall() of send_counts[r] elements to rank r and recv_counts[s] from
 * rank s, both packed in rank order. Each array has one entry per rank, is
 * borrowed for the call only, and differs from rank to rank: what s sends to r
 * must be what r receives from s, else both get HOOP_E_MISMATCH. In place the
 * buffer holds what is sent, then what came; whatever stands beyond that is
 * unspecified.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_alltoallv(const void *send,
               const size_t *send_counts,
               void *recv,
               const size_t *recv_counts,
               enum hoop_dtype dtype,
               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_alltoallv_start(const void *send,
                     const size_t *send_counts,
                     void *recv,
                     const size_t *recv_counts,
                     enum hoop_dtype dtype,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op);

/*
 * recv_r[i] = send_0[i] (op) ... (op) send_r[i]: the reduction of this rank and
 * all before it. HOOP_AVG is refused. MPI_Scan.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scan(const void *send,
          void *recv,
          size_t count,
          enum hoop_dtype dtype,
          enum hoop_reduce_op op,
          hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scan_start(const void *send,
                void *recv,
                size_t count,
                enum hoop_dtype dtype,
                enum hoop_reduce_op op,
                hoop_comm_t *comm,
                hoop_op_t **out_op);

/*
 * As hoop_scan(), without this rank's own: recv_r is the reduction of ranks 0
 * to r - 1. On rank 0 recv stays as it was. MPI_Exscan.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_exscan(const void *send,
            void *recv,
            size_t count,
            enum hoop_dtype dtype,
            enum hoop_reduce_op op,
            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_exscan_start(const void *send,
                  void *recv,
                  size_t count,
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
