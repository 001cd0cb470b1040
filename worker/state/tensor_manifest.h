/*
 * state/tensor_manifest.h - a rank's tensors, in the order of their names, in blocks
 *
 * Every tensor is cut by itself, the last block of each may be shorter, and one
 * without elements has none. Blocks are numbered through all tensors: a number
 * means the same bytes on every rank whose manifest has the same manifest text.
 */

#ifndef STATE_TENSOR_MANIFEST_H
#define STATE_TENSOR_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/state.h"

#include "base/cleanup.h"
#include "base/digest.h"

struct tensor_manifest_entry {
    const struct hoop_named_tensor *named; /* borrowed for life */
    size_t n_bytes;
    uint64_t first; /* the number of its first block */
};

struct tensor_manifest {
    size_t n_entries;
    size_t block_bytes;
    uint64_t n_blocks;
    uint64_t n_bytes;
    struct digest_wide *digests; /* by block; tensor_manifest_digest() */
    struct tensor_manifest_entry entries[];
};

/* Bytes of one tensor, from the first of a block on. */
struct tensor_manifest_run {
    size_t entry;
    uint8_t *at;
    size_t offset; /* in the tensor */
    size_t n_bytes;
};

/* state is borrowed for life.
 * Handle: HOOP_E_INVALID (the text names the tensor), HOOP_E_EXHAUSTED. */
enum hoop_status
tensor_manifest_create(const struct hoop_state *state,
                       struct tensor_manifest **out_tensor_manifest);

/* NULL is fine. */
void
tensor_manifest_destroy(struct tensor_manifest *tensor_manifest);

DEFINE_CLEANUP(struct tensor_manifest *, tensor_manifest_destroy)

/* Hash all blocks, and return the hash of all of them. */
struct digest_wide
tensor_manifest_digest(struct tensor_manifest *tensor_manifest);

/* n_blocks of them from number on, all of one tensor. */
struct tensor_manifest_run
tensor_manifest_run(const struct tensor_manifest *tensor_manifest,
                    uint64_t number,
                    uint64_t n_blocks);

/* How many blocks from number on, end not included, one tensor has. */
uint64_t
tensor_manifest_n_adjacent(const struct tensor_manifest *tensor_manifest,
                           uint64_t number,
                           uint64_t end);

#endif
