/*
 * state_sync/tensor_manifest.h - a rank's tensors in order of their names, cut
 * into blocks
 *
 * Every tensor is cut on its own: its last block may be shorter, and a tensor
 * without elements has no blocks. Blocks are numbered through all tensors. A
 * number means the same bytes on all ranks whose manifest text is equal.
 */

#ifndef STATE_SYNC_TENSOR_MANIFEST_H
#define STATE_SYNC_TENSOR_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/state.h"

#include "base/cleanup.h"
#include "base/digest.h"

struct state_manifest_tensor {
    const struct hoop_named_tensor *named; /* borrowed for life */
    size_t n_bytes;
    uint64_t first; /* the number of its first block */
};

struct state_manifest {
    size_t n_entries;
    size_t block_bytes;
    uint64_t n_blocks;
    uint64_t n_bytes;
    struct digest_128
        *digests; /* by block; set by state_manifest_hash_blocks() */
    struct state_manifest_tensor entries[];
};

/* Adjacent bytes of one tensor that begin at a block. */
struct state_manifest_byte_range {
    size_t entry;
    uint8_t *at;
    size_t offset; /* in bytes, from the tensor's beginning */
    size_t n_bytes;
};

/* Check and sort the tensors of state, which is borrowed for life.
 * Handle: HOOP_E_INVALID (the text names the tensor), HOOP_E_EXHAUSTED. */
enum hoop_status
state_manifest_create(const struct hoop_state *state,
                      struct state_manifest **out_tensor_manifest);

/* NULL is fine. */
void
state_manifest_destroy(struct state_manifest *tensor_manifest);

DEFINE_CLEANUP(struct state_manifest *, state_manifest_destroy)

/* Compute the hashes of all blocks, and return the hash of those hashes. */
struct digest_128
state_manifest_hash_blocks(struct state_manifest *tensor_manifest);

/* The bytes of n_blocks blocks, beginning with number, all of one tensor. */
struct state_manifest_byte_range
state_manifest_byte_range(const struct state_manifest *tensor_manifest,
                          uint64_t number,
                          uint64_t n_blocks);

/* How many of the blocks from number up to, but not including, end are of the
 * same tensor as number. */
uint64_t
state_manifest_adjacent_blocks(const struct state_manifest *tensor_manifest,
                               uint64_t number,
                               uint64_t end);

/*
 * A tensor manifest as text, to compare it between ranks.
 *
 * The text consists of pairs of strings, each with its terminating 0: first ""
 * and the block size, then the name and the description of each tensor, such as
 * "float32 [2, 3]". The text of another rank is untrusted input.
 */

struct manifest_text_bytes {
    char *bytes;
    size_t n_bytes;
};

/* Write tensor_manifest as text. The caller frees out_text->bytes.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
state_manifest_to_text(const struct state_manifest *tensor_manifest,
                       struct manifest_text_bytes *out_text);

/* Compare this rank's text with that of rank. The error text names the first
 * difference.
 * Handle: HOOP_E_MISMATCH. */
enum hoop_status
manifest_text_compare(const struct manifest_text_bytes *mine,
                      const struct manifest_text_bytes *theirs,
                      uint32_t rank);

#endif
