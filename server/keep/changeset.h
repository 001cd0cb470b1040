/*
 * keep/changeset.h - what is to be put and erased, in order, as one piece
 *
 * Bytes one behind the other, so that one list is added to another by a copy.
 * There is no way on without memory: the process ends, rather than forget what
 * it has to keep.
 */

#ifndef KEEP_CHANGESET_H
#define KEEP_CHANGESET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storage_bytes {
    const void *bytes;
    size_t n_bytes;
};

enum change_kind {
    CHANGE_PUT,
    CHANGE_ERASE, /* the key, and every key that begins with it */
};

/* Points into the list. */
struct change {
    enum change_kind kind;
    struct storage_bytes key;
    struct storage_bytes value; /* PUT */
};

/* Zeroed: empty. */
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

/* The key is what the two parts make together. All is copied. */
void
changeset_put(struct changeset *changes,
              uint8_t first,
              struct storage_bytes rest,
              struct storage_bytes value);
void
changeset_erase(struct changeset *changes,
                uint8_t first,
                struct storage_bytes rest);

/* from is empty then; its memory may be used again. */
void
changeset_move(struct changeset *to, struct changeset *from);

/* Forgets the changes and, if it is much, the memory. */
void
changeset_clear(struct changeset *changes);

/* The change at *at, which moves behind it; false at the end. */
bool
changeset_next(const struct changeset *changes,
               size_t *at,
               struct change *out_change);

#endif
