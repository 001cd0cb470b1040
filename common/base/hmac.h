/* base/hmac.h - HMAC-SHA256, to prove knowledge of the job's token */

#ifndef BASE_HMAC_H
#define BASE_HMAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum {
    HMAC_BYTES = 32
};

struct hmac_span {
    const void *bytes; /* may be NULL if n_bytes is 0 */
    size_t n_bytes;
};

/*
 * Compute the MAC of the concatenated parts. Their boundaries are not included,
 * so parts of varying size need a size before them. Fails only if OpenSSL does.
 */
enum hoop_status
hmac_sha256(struct hmac_span key,
            const struct hmac_span *parts,
            size_t n_parts,
            uint8_t out_mac[HMAC_BYTES]);

/* Compare in a time that does not depend on where the MACs differ. */
bool
hmac_equal(const uint8_t left[HMAC_BYTES], const uint8_t right[HMAC_BYTES]);

#endif
