/* storage/changeset.c - an ordered list of puts and erasures that are applied as
 * one */

#include "storage/changeset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROOM_FIRST = 4096,
    ROOM_KEPT = 1024 * 1024,
};

/* Precedes the bytes of each change. */
struct change_header {
    uint32_t kind;
    uint32_t n_key;
    uint32_t n_value;
};

void
changeset_deinit(struct changeset *changes)
{
    free(changes->bytes);
    *changes = (struct changeset){0};
}

static void
changeset_reserve(struct changeset *changes, size_t n_more)
{
    size_t n_room = changes->n_room ? changes->n_room : ROOM_FIRST;

    while (n_room < changes->n_bytes + n_more)
        n_room *= 2;
    if (n_room == changes->n_room)
        return;
    changes->bytes = realloc(changes->bytes, n_room);
    if (!changes->bytes)
        abort();
    changes->n_room = n_room;
}

static void
changeset_append_bytes(struct changeset *changes,
                       const void *bytes,
                       size_t n_bytes)
{
    if (n_bytes)
        memcpy(changes->bytes + changes->n_bytes, bytes, n_bytes);
    changes->n_bytes += n_bytes;
}

static void
changeset_append_change(struct changeset *changes,
                        uint8_t first,
                        const struct change *rest)
{
    const struct change_header head = {
        .kind = rest->kind,
        .n_key = (uint32_t)rest->key.n_bytes + 1,
        .n_value = (uint32_t)rest->value.n_bytes,
    };

    assert(rest->key.n_bytes < UINT32_MAX);
    assert(rest->value.n_bytes <= UINT32_MAX);
    changeset_reserve(changes, sizeof(head) + head.n_key + rest->value.n_bytes);
    changeset_append_bytes(changes, &head, sizeof(head));
    changeset_append_bytes(changes, &first, 1);
    changeset_append_bytes(changes, rest->key.bytes, rest->key.n_bytes);
    changeset_append_bytes(changes, rest->value.bytes, rest->value.n_bytes);
}

void
changeset_put(struct changeset *changes,
              uint8_t first,
              struct storage_span rest,
              struct storage_span value)
{
    changeset_append_change(changes, first,
                            &(struct change){CHANGE_PUT, rest, value});
}

void
changeset_erase(struct changeset *changes,
                uint8_t first,
                struct storage_span rest)
{
    changeset_append_change(
        changes, first, &(struct change){.kind = CHANGE_ERASE, .key = rest});
}

void
changeset_move(struct changeset *to, struct changeset *from)
{
    if (to->n_bytes == 0) {
        const struct changeset spare = *to;

        *to = *from;
        *from = spare;
        return;
    }
    changeset_reserve(to, from->n_bytes);
    changeset_append_bytes(to, from->bytes, from->n_bytes);
    changeset_clear(from);
}

void
changeset_clear(struct changeset *changes)
{
    changes->n_bytes = 0;
    if (changes->n_room > ROOM_KEPT)
        changeset_deinit(changes);
}

bool
changeset_next(const struct changeset *changes,
               size_t *at,
               struct change *out_change)
{
    struct change_header head;

    if (*at == changes->n_bytes)
        return false;
    memcpy(&head, changes->bytes + *at, sizeof(head));

    const uint8_t *key = changes->bytes + *at + sizeof(head);

    *out_change = (struct change){
        .kind = (enum change_kind)head.kind,
        .key = {key, head.n_key},
        .value = {key + head.n_key, head.n_value},
    };
    *at += sizeof(head) + head.n_key + head.n_value;
    return true;
}
