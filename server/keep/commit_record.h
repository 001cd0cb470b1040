/*
 * keep/commit_record.h - what a database says of itself: how many records, which sums
 *
 * A record's sum stands before its value. The commit record is a record of its own, before
 * all others, which every commit writes: it tells a file that is whole from one
 * that has lost a page, a record or its last commit.
 *
 * Thread: any.
 */

#ifndef KEEP_COMMIT_RECORD_H
#define KEEP_COMMIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keep/changeset.h"

struct commit_record {
    uint64_t commit;    /* its number in the file; 0: there was none */
    uint64_t n_records; /* all but this one */
    uint64_t sum;       /* of their sums, modulo 2^64 */
};

enum {
    RECORD_SUM_BYTES = sizeof(uint64_t),
    COMMIT_RECORD_BYTES = 3 * sizeof(uint64_t),
};

/* The key of the commit record, which nobody else may use: less than any other. */
struct storage_bytes
commit_record_key(void);
bool
commit_record_is_key(struct storage_bytes key);

void
commit_record_encode(const struct commit_record *commit_record,
                     uint8_t out_bytes[COMMIT_RECORD_BYTES]);
/* False: it is none. */
bool
commit_record_decode(struct storage_bytes value,
                     struct commit_record *out_commit_record);

/* What stands before a value. */
uint64_t
record_sum(struct storage_bytes key, struct storage_bytes value);

/* What is stored, taken apart. False: it is not what was written. */
bool
record_verify(struct storage_bytes key,
              struct storage_bytes stored,
              struct storage_bytes *out_value,
              uint64_t *out_sum);

#endif
