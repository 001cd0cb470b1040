/*
 * state/block_transfer.h - the blocks' messages, a few at a time
 *
 * A rank has a lane for each other that it sends blocks to, or gets them from,
 * and gives each lane its turn. Both ends of a message have the same lanes in
 * the same order of (turn, who gets it, who sends it): of all messages that are
 * under way on any rank, the first in that order has been started at both ends,
 * however few a rank has under way. So nobody waits for ever.
 *
 * A rank that is lost ends none of the messages of others: those who wait for
 * them are alive. They are gone through, and the first failure told. After any
 * other failure nothing more is started.
 */

#ifndef STATE_BLOCK_TRANSFER_H
#define STATE_BLOCK_TRANSFER_H

#include "hoop/p2p.h"

#include "state/source_assignment.h"

struct block_transfer_lane {
    uint32_t peer; /* rank of comm */
    struct source_assignment source_assignment;
};

struct block_transfer {
    hoop_comm_t *comm; /* borrowed */
    enum hoop_message_kind kind;
    struct block_transfer_lane *lanes; /* borrowed, used up */
    uint32_t n_lanes;
    uint64_t tag; /* the same on all ranks */
};

/* *out_bytes is written however it ends: what went well.
 * Handle: as hoop_send() and hoop_recv(). */
enum hoop_status
block_transfer_run(const struct block_transfer *block_transfer,
                   uint64_t *out_bytes);

#endif
