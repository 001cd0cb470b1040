/*
 * storage/commit_record.h - checksums and counts with which a database is verified
 *
 * A checksum is stored before each record's value. The commit record is a
 * record of its own, before all others, that each commit rewrites. It tells an
 * intact file from one that has lost a page, a record or its last commit.
 *
 * Thread: any.
 */

#ifndef STORAGE_COMMIT_RECORD_H
#define STORAGE_COMMIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/changeset.h"

struct commit_record {
    uint64_t commit;    /* number of the commit in the file; 0: there was
                           none */
    uint64_t n_records; /* all records but this one */
    uint64_t sum;       /* sum of all records' checksums, modulo 2^64 */
};

enum {
    RECORD_SUM_BYTES = sizeof(uint64_t),
    COMMIT_RECORD_BYTES = 3 * sizeof(uint64_t),
};

/* Return the key of the commit record. It sorts before every other key, and no
 * other record may use it. */
struct storage_span
commit_record_key(void);
bool
commit_record_is_key(struct storage_span key);

void
commit_record_encode(const struct commit_record *commit_record,
                     uint8_t out_bytes[COMMIT_RECORD_BYTES]);
/* Returns false if value is not a commit record. */
bool
commit_record_decode(struct storage_span value,
                     struct commit_record *out_commit_record);

/* Return the checksum that is stored before the value. */
uint64_t
record_checksum(struct storage_span key, struct storage_span value);

/* Split a stored record into checksum and value. Returns false if the checksum
 * is wrong. */
bool
record_split_and_verify(struct storage_span key,
                        struct storage_span stored,
                        struct storage_span *out_value,
                        uint64_t *out_sum);

#endif
