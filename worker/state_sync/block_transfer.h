/*
 * state_sync/block_transfer.h - send and receive missing blocks, a few at a
 * time
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/p2p.h"

#include "state_sync/tensor_manifest.h"

/*
 * Which source sends which missing block to a rank.
 *
 * The missing blocks, taken as one sequence, are divided into as many parts
 * of equal bytes as there are sources. A block belongs to the part in which
 * it begins. So each source sends adjacent blocks in few messages, and a
 * rank that lacks much receives from all sources at once. Pure: both ends
 * compute the same result.
 */

struct source_assignment {
    /* borrowed for life, as is missing_blocks */
    const struct state_manifest *tensor_manifest;
    const uint8_t *missing_blocks;
    uint64_t next; /* a missing block, or end */
    uint64_t end;
};

/* Part number of n_parts. */
struct source_part {
    uint32_t number;
    uint32_t n_parts;
};

/* Compute the blocks of one part. n_bytes is the size of all missing blocks. */
struct source_assignment
source_assignment_compute(const struct state_manifest *tensor_manifest,
                          const uint8_t *missing_blocks,
                          uint64_t n_bytes,
                          struct source_part part);

/* Take the next message: adjacent missing blocks of one tensor, at most
 * LIMIT_STATE_MESSAGE bytes or one block. Returns false if none is left. */
bool
source_assignment_next_message(struct source_assignment *source_assignment,
                               struct state_manifest_byte_range *out_run);

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
block_lanes_transfer(const struct block_transfer *block_transfer,
                     uint64_t *out_bytes);

/*
 * A bitmap of the blocks that a rank lacks. It is sent as it is: block 0 is the
 * lowest bit of the first byte.
 */

/* The size of the bitmap for all blocks. */
size_t
missing_blocks_bitmap_bytes(const struct state_manifest *tensor_manifest);

/* The totals of a bitmap. */
struct missing_blocks_totals {
    uint64_t n_blocks;
    uint64_t n_bytes;
};

/* Set the bits of the blocks whose hashes differ from newest_digests[].
 * missing_blocks must be zeroed. */
struct missing_blocks_totals
missing_blocks_find(const struct state_manifest *tensor_manifest,
                    const struct digest_128 *newest_digests,
                    uint8_t *missing_blocks);

static inline bool
missing_blocks_has(const uint8_t *missing_blocks, uint64_t number)
{
    return missing_blocks[number / 8] >> (number % 8) & 1;
}

#endif
