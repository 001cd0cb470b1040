/*
 * base/digest.c - XXH3 checksums
 *
 * If the library can dispatch at run time, it uses the widest registers of the
 * processor, which is three times as fast as the baseline.
 */

#include "base/digest.h"

#include <stdlib.h>
#include <xxhash.h>
#ifdef DIGEST_DISPATCHES
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
/* A distribution's static library may lack these functions; they are NULL
 * then. */
#pragma weak XXH3_64bits_dispatch
#pragma weak XXH3_64bits_update_dispatch
#pragma weak XXH3_128bits_dispatch
#endif

#include "base/error.h"

struct digest {
    XXH3_state_t *state;
};

uint64_t
digest_bytes(const void *bytes, size_t n_bytes)
{
#ifdef DIGEST_DISPATCHES
    if (XXH3_64bits_dispatch)
        return XXH3_64bits_dispatch(bytes, n_bytes);
#endif
    return XXH3_64bits(bytes, n_bytes);
}

static XXH128_hash_t
xxh3_128bits(const void *bytes, size_t n_bytes)
{
#ifdef DIGEST_DISPATCHES
    if (XXH3_128bits_dispatch)
        return XXH3_128bits_dispatch(bytes, n_bytes);
#endif
    return XXH3_128bits(bytes, n_bytes);
}

struct digest_128
digest_128_bytes(const void *bytes, size_t n_bytes)
{
    const XXH128_hash_t hash = xxh3_128bits(bytes, n_bytes);

    return (struct digest_128){hash.low64, hash.high64};
}

bool
digest_128_equal(const struct digest_128 *a, const struct digest_128 *b)
{
    return a->low == b->low && a->high == b->high;
}

enum hoop_status
digest_create(struct digest **out_digest)
{
    CLEANUP(digest_destroy)
    struct digest *digest = calloc(1, sizeof(*digest));

    if (digest)
        digest->state = XXH3_createState(); /* aligned as the library needs
                                               it */
    if (!digest || !digest->state)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a digest");
    XXH3_64bits_reset(digest->state);
    *out_digest = STEAL(digest);
    return HOOP_OK;
}

void
digest_destroy(struct digest *digest)
{
    if (!digest)
        return;
    XXH3_freeState(digest->state);
    free(digest);
}

void
digest_add(struct digest *digest, const void *bytes, size_t n_bytes)
{
    if (n_bytes == 0)
        return;
#ifdef DIGEST_DISPATCHES
    if (XXH3_64bits_update_dispatch) {
        XXH3_64bits_update_dispatch(digest->state, bytes, n_bytes);
        return;
    }
#endif
    XXH3_64bits_update(digest->state, bytes, n_bytes);
}

uint64_t
digest_value(const struct digest *digest)
{
    return XXH3_64bits_digest(digest->state);
}
