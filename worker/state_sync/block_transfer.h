/*
 * state_sync/block_transfer.h - send and receive missing blocks, a few at a time
 *
 * A rank has one lane for each peer that it sends blocks to or receives them
 * from, and takes one message from each lane in turn.
 *
 * There is no deadlock. Both ends of a message have its lanes in the order
 * (turn, receiver, sender). Of all messages that are pending on any rank, the
 * first in that order has been started at both ends, however few messages a
 * rank may have pending.
 *
 * The loss of a rank does not end the transfers of others: those that wait for
 * them are alive. So the remaining messages are processed, and the first
 * failure is returned. After any other failure no more messages are started.
 */

#ifndef STATE_SYNC_BLOCK_TRANSFER_H
#define STATE_SYNC_BLOCK_TRANSFER_H

#include "hoop/p2p.h"

#include "state_sync/source_assignment.h"

struct block_transfer_lane {
    uint32_t peer; /* a rank of comm */
    struct source_assignment source_assignment;
};

struct block_transfer {
    hoop_comm_t *comm; /* borrowed */
    enum hoop_message_kind kind;
    struct block_transfer_lane *lanes; /* borrowed; consumed by the run */
    uint32_t n_lanes;
    uint64_t tag; /* the same on all ranks */
};

/* Transfer the blocks of all lanes, and wait. Always writes *out_bytes: the
 * bytes of the messages that succeeded.
 * Handle: as hoop_send() and hoop_recv(). */
enum hoop_status
block_transfer_run(const struct block_transfer *block_transfer,
                   uint64_t *out_bytes);

#endif
