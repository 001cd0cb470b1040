/* hoop/p2p.h - tagged messages between two ranks
 *
 * Messages from one rank to another with one tag on one communicator arrive
 * in the order they were sent; different tags never cross. Any number may be
 * outstanding, and send and receive may be called in either order. A send is
 * complete when its buffer may be used again, which says nothing about the
 * receiver; but one of more than 64 KiB may wait for its receive, as may one
 * behind many that were not received: ranks which all send first wait for each
 * other, where hoop_sendrecv() does not. A rank may send to itself, too: up to
 * 64 KiB at once, more when the receive has been started. Thread and buffer
 * rules as in hoop/coll.h, with one relaxation: several threads may send and
 * receive on one communicator at once.
 */

#ifndef HOOP_P2P_H
#define HOOP_P2P_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"

HOOP_BEGIN

/* As source of a receive: whoever's message arrived first. */
#define HOOP_ANY_SOURCE UINT32_MAX

struct hoop_received {
    uint32_t source;
    size_t count; /* elements that came; at most what the receive asked for */
};

/*
 * Send count elements to rank dest. tag is the program's own, 0 to 2^62.
 *
 * Handle: HOOP_E_MISMATCH (the receive was shorter, or of another dtype. The
 * receive always fails, with both calls named, and so does a send that is not
 * complete yet. One that is, as a small one may be before its receive is called,
 * is not told, and no other call fails for it: who must know sends a tensor,
 * hoop/tensor.h, whose send waits for its receive).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send(const void *buffer,
          size_t count,
          enum hoop_dtype dtype,
          uint32_t dest,
          int64_t tag,
          hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send_start(const void *buffer,
                size_t count,
                enum hoop_dtype dtype,
                uint32_t dest,
                int64_t tag,
                hoop_comm_t *comm,
                hoop_op_t **out_op);

/*
 * Receive up to count elements from rank source or HOOP_ANY_SOURCE. What
 * really came is written to *out_received on success; NULL is fine, and the
 * _start form borrows it until completion. A longer message, or one of another
 * dtype, is an error here, and of its send if that still waits: nothing is
 * written, and the message is gone: the next one is as if it had not been. For a tag that is never sent, the deadline ends the wait, and its text
 * says what the source is in instead.
 *
 * Handle: HOOP_E_MISMATCH, HOOP_E_PEER_LOST (from any source: any peer that
 * could have sent).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv(void *buffer,
          size_t count,
          enum hoop_dtype dtype,
          uint32_t source,
          int64_t tag,
          hoop_comm_t *comm,
          struct hoop_received *out_received);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_start(void *buffer,
                size_t count,
                enum hoop_dtype dtype,
                uint32_t source,
                int64_t tag,
                hoop_comm_t *comm,
                struct hoop_received *out_received,
                hoop_op_t **out_op);

enum hoop_message_kind {
    HOOP_SEND = 0,
    HOOP_RECV = 1,
};

/* A send or a receive as hoop_send() and hoop_recv() describe it. */
struct hoop_message {
    enum hoop_message_kind kind;
    void *buffer; /* of a send: only read */
    size_t count;
    enum hoop_dtype dtype;
    uint32_t peer; /* dest, or source or HOOP_ANY_SOURCE */
    int64_t tag;
    struct hoop_received *received; /* of a receive: may be NULL */
};

/*
 * A send and a receive at once, so that ranks which shift values around cannot
 * wait for each other; peers, tags, dtypes and counts may differ. The buffers
 * must not overlap. What came is written to *out_received (or, when that is
 * NULL, to recv->received, if any). It is one operation: when one half fails,
 * the other is given up. The descriptions are borrowed for the call only, also
 * by the _start form. MPI's MPI_Sendrecv.
 *
 * Handle: as hoop_send() and hoop_recv().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sendrecv(const struct hoop_message *send,
              const struct hoop_message *recv,
              hoop_comm_t *comm,
              struct hoop_received *out_received);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sendrecv_start(const struct hoop_message *send,
                    const struct hoop_message *recv,
                    hoop_comm_t *comm,
                    struct hoop_received *out_received,
                    hoop_op_t **out_op);

/*
 * Start n_messages sends and receives together, in the order of the list as
 * far as peer and tag are the same, and wait for all. All are checked before
 * any is started: HOOP_E_INVALID means that nothing was sent. The list is
 * borrowed for the call only; none at all is fine. The status is the first
 * failure in the order of the list; the others run to their own end. torch's
 * batch_isend_irecv, NCCL's group of sends and receives.
 *
 * The _start form fills out_ops[0] to out_ops[n_messages - 1], each of which is
 * waited for alone or by hoop_wait_all().
 *
 * Handle: as hoop_send() and hoop_recv().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_batch(const struct hoop_message *messages,
           size_t n_messages,
           hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_batch_start(const struct hoop_message *messages,
                 size_t n_messages,
                 hoop_comm_t *comm,
                 hoop_op_t **out_ops);

HOOP_END

#endif
