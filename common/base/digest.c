/* base/digest.c - XXH3: whether bytes are those that they were */

#include "base/digest.h"

#include <xxhash.h>

#include "base/error.h"

struct digest {
    XXH3_state_t *state;
};

enum hoop_status
digest_create(struct digest **out_digest)
{
    CLEANUP(digest_destroy)
    struct digest *digest = calloc(1, sizeof(*digest));

    if (digest)
        digest->state = XXH3_createState(); /* aligned as it wants to be */
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
    if (n_bytes > 0)
        XXH3_64bits_update(digest->state, bytes, n_bytes);
}

uint64_t
digest_value(const struct digest *digest)
{
    return XXH3_64bits_digest(digest->state);
}

uint64_t
digest_elements(const struct digest_run *run)
{
    const uint8_t *at = run->elements;
    uint64_t sum = 0;

    for (size_t i = 0; i < run->count; i++)
        sum += XXH3_64bits_withSeed(at + i * run->n_bytes, run->n_bytes,
                                    run->first + i);
    return sum;
}
