/*
 * state_sync/manifest_text.h - a tensor manifest as text, to compare it between
 * ranks
 *
 * Consists of pairs of strings, each with its terminating 0: first "" and the
 * block size, then the name and the description of each tensor, such as
 * "float32 [2, 3]". The text of another rank is untrusted input.
 */

#ifndef STATE_SYNC_MANIFEST_TEXT_H
#define STATE_SYNC_MANIFEST_TEXT_H

#include "state_sync/tensor_manifest.h"

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
