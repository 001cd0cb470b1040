/*
 * storage/changeset.h - an ordered list of puts and erasures that are applied
 * as one
 *
 * The list is a flat buffer, so that appending one list to another is a copy.
 * Without memory the process aborts, because it must not lose what it has to
 * store.
 */

#ifndef STORAGE_CHANGESET_H
#define STORAGE_CHANGESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage_span {
    const void *bytes;
    size_t n_bytes;
};

enum change_kind {
    CHANGE_PUT,
    CHANGE_ERASE, /* erases the key and every key that begins with it */
};

/* One change; points into the list. */
struct change {
    enum change_kind kind;
    struct storage_span key;
    struct storage_span value; /* PUT only */
};

/* A zeroed list is empty. */
struct changeset {
    uint8_t *bytes;
    size_t n_bytes;
    size_t n_room;
};

void
changeset_deinit(struct changeset *changes);

static inline void
changeset_deinit_at(struct changeset *changes)
{
    changeset_deinit(changes);
}

/* Append a change. The key consists of first and rest. Everything is copied. */
void
changeset_put(struct changeset *changes,
              uint8_t first,
              struct storage_span rest,
              struct storage_span value);
void
changeset_erase(struct changeset *changes,
                uint8_t first,
                struct storage_span rest);

/* Append from to to. Afterwards from is empty; its memory may be reused. */
void
changeset_append_and_clear(struct changeset *to, struct changeset *from);

/* Remove all changes; free the memory if it is large. */
void
changeset_clear(struct changeset *changes);

/* Read the change at *at and advance *at past it. Returns false at the end. */
bool
changeset_next(const struct changeset *changes,
               size_t *at,
               struct change *out_change);

/*
 * A checksum is stored before each record's value. The commit record is a
 * record of its own, before all others, that each commit rewrites. It tells
 * an intact file from one that has lost a page, a record or its last commit.
 *
 * Thread: any.
 */

struct commit_record {
    uint64_t commit;    /* number of the commit in the file; 0: there was
                           none */
    uint64_t n_records; /* all records but this one */
    uint64_t sum;       /* sum of all records' checksums, modulo 2^64 */
};

enum {
    RECORD_CHECKSUM_BYTES = sizeof(uint64_t),
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
