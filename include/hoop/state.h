/* hoop/state.h - a newcomer gets what the others know
 *
 * A job that goes on with other ranks than before, or begins again from
 * checkpoints of different age, has ranks that know the model and ranks that do
 * not, or know an older one. They all say what tensors they have, and which
 * version; the highest is the truth, and after the call every rank has it, bit
 * by bit.
 *
 * Tensors are cut into blocks, and blocks are hashed where they lie: only those
 * whose hash differs from the truth's travel. A rank that was away for one step
 * of which most tensors were frozen, or that has read an older checkpoint,
 * gets little; where all have the same, one small exchange finds it out. All
 * ranks that have the truth send, each another part of what a rank lacks, so
 * that it comes from all of them at once.
 */

#ifndef HOOP_STATE_H
#define HOOP_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

struct hoop_named_tensor {
    const char *name; /* up to 1023 bytes, not empty, each name once */
    struct hoop_tensor tensor;
};

struct hoop_state {
    const struct hoop_named_tensor *tensors; /* in any order */
    size_t n_tensors;
    /* Of what the tensors hold, e.g. the step; the highest of all ranks counts.
     * 0: nothing that anybody could want. */
    uint64_t version;
    size_t block_bytes; /* 1024 at least; 0: 256 KiB */
};

/* What the call has done. */
struct hoop_state_report {
    uint64_t version;   /* that every rank has now */
    uint32_t n_sources; /* ranks that had it before */
    uint64_t n_blocks;  /* of the state, of any rank's */
    uint64_t n_bytes;
    uint64_t blocks_needed; /* of this rank: they differed, and came */
    uint64_t bytes_needed;
    uint64_t bytes_sent;  /* by this rank, of blocks */
    uint64_t bytes_moved; /* of blocks, by all ranks together */
};

/*
 * Bring every rank of comm the newest of their states. All ranks call it, with
 * tensors of the same names, dtypes and shapes and the same block_bytes;
 * tensors are dense, and those of ranks that have an older version are written
 * to. Ranks that have the newest are only read, however the call ends. Memory
 * that has two names is brought twice.
 *
 * Each block is compared with its hash (XXH3, 128 bits) when it has come. All
 * ranks return the same status, but where a rank is lost while they do: who
 * returns HOOP_OK then has the newest, and can go on with messages to ranks that
 * live; comm is of no use for collectives any more. Where a rank is lost before
 * blocks move, comm is revoked, so that nobody waits for those who give up. After
 * a failure the tensors of ranks that were behind are unspecified, and so is
 * their version: say 0 when you call again.
 *
 * A collective on comm, in its order; its deadline counts for each step of the
 * call alone: hashing on the slowest rank, each message, the end. state is
 * borrowed for the call. *out_report is written on HOOP_OK only; NULL is fine.
 * torch.distributed: none; what elastic programs do with broadcast_object().
 *
 * Handle: HOOP_E_INVALID (a tensor or a name that cannot be, on any rank),
 * HOOP_E_MISMATCH (another tensor than rank 0's; the text names it and both
 * ranks), HOOP_E_PRECONDITION (no rank has a version; or two have the newest,
 * and their bytes differ: the text names the tensor and both), HOOP_E_DATA_LOSS
 * (what came is not what was hashed), HOOP_E_EXHAUSTED, and as a collective.
 * Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_state_sync(const struct hoop_state *state,
                hoop_comm_t *comm,
                struct hoop_state_report *out_report);

HOOP_END

#endif
