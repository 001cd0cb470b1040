/* base/digest_elements.c - XXH3 of each element of an array */

#include "base/digest.h"

/* Inlined, because an element takes less time than a call. */
#define XXH_INLINE_ALL
#include <xxhash.h>

/* Inlining with a constant n_bytes is at least twice as fast. */
static inline uint64_t
run_digest_sum(const struct digest_run *run, size_t n_bytes)
{
    const uint8_t *at = run->elements;
    uint64_t sum = 0;

    for (size_t i = 0; i < run->count; i++)
        sum += XXH3_64bits_withSeed(at + i * n_bytes, n_bytes, run->first + i);
    return sum;
}

uint64_t
digest_elements(const struct digest_run *run)
{
    switch (run->n_bytes) {
    case 1:
        return run_digest_sum(run, 1);
    case 2:
        return run_digest_sum(run, 2);
    case 4:
        return run_digest_sum(run, 4);
    case 8:
        return run_digest_sum(run, 8);
    case 16:
        return run_digest_sum(run, 16);
    default:
        return run_digest_sum(run, run->n_bytes);
    }
}
