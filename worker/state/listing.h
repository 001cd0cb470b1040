/*
 * state/listing.h - what a rank's tensors are, as texts to be compared
 *
 * Pairs of texts, each with its final 0: first "" and how large blocks are,
 * then each tensor's name and what it is, "float32 [2, 3]". A listing of
 * another rank is bytes from outside.
 */

#ifndef STATE_LISTING_H
#define STATE_LISTING_H

#include "state/inventory.h"

struct listing_bytes {
    char *bytes;
    size_t n_bytes;
};

/* *out_listing's bytes are the caller's, who frees them.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
listing_create(const struct inventory *inventory,
               struct listing_bytes *out_listing);

/* Whether mine is the same as that of rank, and if not, where.
 * Handle: HOOP_E_MISMATCH. */
enum hoop_status
listing_compare(const struct listing_bytes *mine,
                const struct listing_bytes *theirs,
                uint32_t rank);

#endif
