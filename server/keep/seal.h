/*
 * keep/seal.h - what a database says of itself: how many records, which sums
 *
 * A record's sum stands before its value. The seal is a record of its own, before
 * all others, which every commit writes: it tells a file that is whole from one
 * that has lost a page, a record or its last commit.
 *
 * Thread: any.
 */

#ifndef KEEP_SEAL_H
#define KEEP_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keep/changeset.h"

struct seal {
    uint64_t commit;    /* its number in the file; 0: there was none */
    uint64_t n_records; /* all but this one */
    uint64_t sum;       /* of their sums, modulo 2^64 */
};

enum {
    SEAL_SUM_BYTES = sizeof(uint64_t),
    SEAL_BYTES = 3 * sizeof(uint64_t),
};

/* The key of the seal, which nobody else may use: less than any other. */
struct keep_bytes
seal_key(void);
bool
seal_is_key(struct keep_bytes key);

void
seal_encode(const struct seal *seal, uint8_t out_bytes[SEAL_BYTES]);
/* False: it is none. */
bool
seal_decode(struct keep_bytes value, struct seal *out_seal);

/* What stands before a value. */
uint64_t
seal_sum(struct keep_bytes key, struct keep_bytes value);

/* What is stored, taken apart. False: it is not what was written. */
bool
seal_open(struct keep_bytes key,
          struct keep_bytes stored,
          struct keep_bytes *out_value,
          uint64_t *out_sum);

#endif
