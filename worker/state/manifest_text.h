/*
 * state/manifest_text.h - what a rank's tensors are, as texts to be compared
 *
 * Pairs of texts, each with its final 0: first "" and how large blocks are,
 * then each tensor's name and what it is, "float32 [2, 3]". A manifest text of
 * another rank is bytes from outside.
 */

#ifndef STATE_MANIFEST_TEXT_H
#define STATE_MANIFEST_TEXT_H

#include "state/tensor_manifest.h"

struct manifest_text_bytes {
    char *bytes;
    size_t n_bytes;
};

/* *out_text's bytes are the caller's, who frees them.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_text_create(const struct tensor_manifest *tensor_manifest,
                     struct manifest_text_bytes *out_text);

/* Whether mine is the same as that of rank, and if not, where.
 * Handle: HOOP_E_MISMATCH. */
enum hoop_status
manifest_text_compare(const struct manifest_text_bytes *mine,
                      const struct manifest_text_bytes *theirs,
                      uint32_t rank);

#endif
