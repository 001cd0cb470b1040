/*
 * base/digest.h - XXH3 checksums
 *
 * They detect accidental changes, not deliberate ones.
 */

#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

/* Return XXH3 with 64 bits and no seed. bytes may be NULL if n_bytes is 0. */
uint64_t
digest_bytes(const void *bytes, size_t n_bytes);

/* A digest of 128 bits, for comparing any number of contents by their
 * digests. */
struct digest_128 {
    uint64_t low;
    uint64_t high;
};

struct digest_128
digest_128_bytes(const void *bytes, size_t n_bytes);
bool
digest_128_equal(const struct digest_128 *a, const struct digest_128 *b);

struct digest;

/* Create a digest of no bytes. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
digest_create(struct digest **out_digest);

/* NULL is allowed. */
void
digest_destroy(struct digest *digest);

DEFINE_CLEANUP(struct digest *, digest_destroy)

/* Add the next bytes, NULL if there are none. The division into calls does not
 * matter. */
void
digest_add(struct digest *digest, const void *bytes, size_t n_bytes);

/* Return XXH3 with 64 bits and no seed of all bytes so far. More may follow. */
uint64_t
digest_value(const struct digest *digest);

/* Adjacent elements of an array, beginning with element number first. */
struct digest_run {
    const void *elements;
    size_t n_bytes; /* of each element */
    size_t count;
    uint64_t first;
};

/* Return the sum modulo 2^64 of XXH3 of each element, with its number as the
 * seed. Sums of the runs of an array add up to the same value however it is
 * divided, and in any order. */
uint64_t
digest_elements(const struct digest_run *run);

#endif
