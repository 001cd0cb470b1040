/* storage/changeset.c - an ordered list of puts and erasures that are
 * applied as one */

#include "storage/changeset.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

/* The checksums and counts by which a database is verified. */

struct storage_span
commit_record_key(void)
{
    return (struct storage_span){"", 1};
}

bool
commit_record_is_key(struct storage_span key)
{
    return key.n_bytes == 1 && *(const uint8_t *)key.bytes == 0;
}

void
commit_record_encode(const struct commit_record *commit_record,
                     uint8_t out_bytes[COMMIT_RECORD_BYTES])
{
    const uint64_t numbers[] = {htole64(commit_record->commit),
                                htole64(commit_record->n_records),
                                htole64(commit_record->sum)};

    memcpy(out_bytes, numbers, sizeof(numbers));
}

bool
commit_record_decode(struct storage_span value,
                     struct commit_record *out_commit_record)
{
    uint64_t numbers[3];

    if (value.n_bytes != sizeof(numbers))
        return false;
    memcpy(numbers, value.bytes, sizeof(numbers));
    *out_commit_record = (struct commit_record){
        le64toh(numbers[0]), le64toh(numbers[1]), le64toh(numbers[2])};
    return true;
}

uint64_t
record_checksum(struct storage_span key, struct storage_span value)
{
    return digest_bytes(key.bytes, key.n_bytes) * 3 +
           digest_bytes(value.bytes, value.n_bytes);
}

bool
record_split_and_verify(struct storage_span key,
                        struct storage_span stored,
                        struct storage_span *out_value,
                        uint64_t *out_sum)
{
    uint64_t sum;

    if (stored.n_bytes < sizeof(sum))
        return false;
    memcpy(&sum, stored.bytes, sizeof(sum));

    const struct storage_span value = {
        (const uint8_t *)stored.bytes + sizeof(sum),
        stored.n_bytes - sizeof(sum),
    };

    if (sum != record_checksum(key, value))
        return false;
    *out_value = value;
    *out_sum = sum;
    return true;
}

enum {
    CHANGESET_INITIAL_BYTES = 4096,
    CHANGESET_KEPT_BYTES_MAX = 1024 * 1024,
};

/* Precedes the bytes of each change. */
struct change_header {
    uint32_t kind;
    uint32_t n_key_bytes;
    uint32_t n_value_bytes;
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
    size_t n_room = changes->n_room ? changes->n_room : CHANGESET_INITIAL_BYTES;

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
        .n_key_bytes = (uint32_t)rest->key.n_bytes + 1,
        .n_value_bytes = (uint32_t)rest->value.n_bytes,
    };

    assert(rest->key.n_bytes < UINT32_MAX);
    assert(rest->value.n_bytes <= UINT32_MAX);
    changeset_reserve(changes,
                      sizeof(head) + head.n_key_bytes + rest->value.n_bytes);
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
changeset_append_and_clear(struct changeset *to, struct changeset *from)
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
    if (changes->n_room > CHANGESET_KEPT_BYTES_MAX)
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
        .key = {key, head.n_key_bytes},
        .value = {key + head.n_key_bytes, head.n_value_bytes},
    };
    *at += sizeof(head) + head.n_key_bytes + head.n_value_bytes;
    return true;
}
