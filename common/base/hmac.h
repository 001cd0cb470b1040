/* base/hmac.h - HMAC-SHA256: who knows the job's token */

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
    const void *bytes; /* may be NULL when n_bytes is 0 */
    size_t n_bytes;
};

/*
 * Over the parts, one after the other. Their borders do not enter: parts of
 * varying size need their size in front. Fails only if OpenSSL does.
 */
enum hoop_status
hmac_sha256(struct hmac_span key,
            const struct hmac_span *parts,
            size_t n_parts,
            uint8_t out_mac[HMAC_BYTES]);

/* Takes the same time wherever they differ. */
bool
hmac_equal(const uint8_t left[HMAC_BYTES], const uint8_t right[HMAC_BYTES]);

#endif
