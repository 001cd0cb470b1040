/*
 * state/inventory.h - a rank's tensors, in the order of their names, in blocks
 *
 * Every tensor is cut by itself, the last block of each may be shorter, and one
 * without elements has none. Blocks are numbered through all tensors: a number
 * means the same bytes on every rank whose inventory has the same listing.
 */

#ifndef STATE_INVENTORY_H
#define STATE_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/state.h"

#include "base/cleanup.h"
#include "base/digest.h"

struct inventory_entry {
    const struct hoop_named_tensor *named; /* borrowed for life */
    size_t n_bytes;
    uint64_t first; /* the number of its first block */
};

struct inventory {
    size_t n_entries;
    size_t block_bytes;
    uint64_t n_blocks;
    uint64_t n_bytes;
    struct digest_wide *digests; /* by block; inventory_digest() */
    struct inventory_entry entries[];
};

/* Bytes of one tensor, from the first of a block on. */
struct inventory_run {
    size_t entry;
    uint8_t *at;
    size_t offset; /* in the tensor */
    size_t n_bytes;
};

/* state is borrowed for life.
 * Handle: HOOP_E_INVALID (the text names the tensor), HOOP_E_EXHAUSTED. */
enum hoop_status
inventory_create(const struct hoop_state *state,
                 struct inventory **out_inventory);

/* NULL is fine. */
void
inventory_destroy(struct inventory *inventory);

DEFINE_CLEANUP(struct inventory *, inventory_destroy)

/* Hash all blocks, and return the hash of all of them. */
struct digest_wide
inventory_digest(struct inventory *inventory);

/* n_blocks of them from number on, all of one tensor. */
struct inventory_run
inventory_run(const struct inventory *inventory,
              uint64_t number,
              uint64_t n_blocks);

/* How many blocks from number on, end not included, one tensor has. */
uint64_t
inventory_together(const struct inventory *inventory,
                   uint64_t number,
                   uint64_t end);

#endif
