/*
 * storage/changeset.h - an ordered list of puts and erasures that are applied as
 * one
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
changeset_move(struct changeset *to, struct changeset *from);

/* Remove all changes; free the memory if it is large. */
void
changeset_clear(struct changeset *changes);

/* Read the change at *at and advance *at past it. Returns false at the end. */
bool
changeset_next(const struct changeset *changes,
               size_t *at,
               struct change *out_change);

#endif
