/*
 * base/digest.h - XXH3: whether bytes are those that they were
 *
 * Against accidents, not against somebody who means it.
 */

#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

/* XXH3, 64 bits, without a seed. NULL is fine when there are none. */
uint64_t
digest_bytes(const void *bytes, size_t n_bytes);

/* Of 128 bits: where equal shall mean the same among any number of them. */
struct digest_wide {
    uint64_t low;
    uint64_t high;
};

struct digest_wide
digest_wide_bytes(const void *bytes, size_t n_bytes);
bool
digest_wide_equal(const struct digest_wide *a, const struct digest_wide *b);

struct digest;

/* Of nothing yet. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
digest_create(struct digest **out_digest);

/* NULL is fine. */
void
digest_destroy(struct digest *digest);

DEFINE_CLEANUP(struct digest *, digest_destroy)

/* The next bytes; may be NULL when there are none. How they are cut up does not
 * matter. */
void
digest_add(struct digest *digest, const void *bytes, size_t n_bytes);

/* XXH3, 64 bits, without a seed, of all bytes so far. More may follow. */
uint64_t
digest_value(const struct digest *digest);

/* Elements of an array, one behind the other, from number first on. */
struct digest_run {
    const void *elements;
    size_t n_bytes; /* of each */
    size_t count;
    uint64_t first;
};

/* XXH3 of each element with its number as the seed, added up modulo 2^64: runs
 * of one array add up to the same however they are cut, and in any order. */
uint64_t
digest_elements(const struct digest_run *run);

#endif
