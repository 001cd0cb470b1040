/* tests/sim/network_sim_disk.c - what the coordinator's machine has kept */

#include "network_sim_disk.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEY_MAX = 64,
};

struct whole_key {
    uint8_t bytes[KEY_MAX];
    size_t n_bytes;
};

static struct whole_key
key_of(enum disk_owner whose, struct disk_bytes key)
{
    struct whole_key whole = {.n_bytes = 1 + key.n_bytes};

    if (key.n_bytes >= KEY_MAX)
        abort();
    whole.bytes[0] = (uint8_t)whose;
    memcpy(whole.bytes + 1, key.bytes, key.n_bytes);
    return whole;
}

static uint8_t *
copy(const void *bytes, size_t n_bytes)
{
    uint8_t *copied = malloc(n_bytes + 1);

    if (!copied)
        abort();
    if (n_bytes > 0)
        memcpy(copied, bytes, n_bytes);
    return copied;
}

/* The first that is not before key. */
static size_t
place_of(const struct disk *disk, const struct whole_key *key)
{
    size_t least = 0;
    size_t most = disk->n_rows;

    while (least < most) {
        const size_t middle = least + (most - least) / 2;
        const struct disk_row *row = &disk->rows[middle];
        const size_t n_both =
            row->n_key_bytes < key->n_bytes ? row->n_key_bytes : key->n_bytes;
        const int order = memcmp(row->key, key->bytes, n_both);

        if (order < 0 || (order == 0 && row->n_key_bytes < key->n_bytes))
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

static int
begins(const struct disk *disk, size_t place, const struct whole_key *key)
{
    return place < disk->n_rows &&
           disk->rows[place].n_key_bytes >= key->n_bytes &&
           memcmp(disk->rows[place].key, key->bytes, key->n_bytes) == 0;
}

static void
rows_remove(struct disk *disk, size_t place, size_t n_rows)
{
    for (size_t i = place; i < place + n_rows; i++) {
        free(disk->rows[i].key);
        free(disk->rows[i].value);
    }
    disk->n_rows -= n_rows;
    memmove(&disk->rows[place], &disk->rows[place + n_rows],
            (disk->n_rows - place) * sizeof(*disk->rows));
}

void
disk_deinit(struct disk *disk)
{
    if (disk->n_rows > 0)
        rows_remove(disk, 0, disk->n_rows);
    free(disk->rows);
    *disk = (struct disk){0};
}

void
disk_put(struct disk *disk,
         enum disk_owner whose,
         struct disk_bytes key,
         struct disk_bytes value)
{
    const struct whole_key whole = key_of(whose, key);
    const size_t place = place_of(disk, &whole);

    if (begins(disk, place, &whole) &&
        disk->rows[place].n_key_bytes == whole.n_bytes)
        rows_remove(disk, place, 1);
    disk->rows = realloc(disk->rows, (disk->n_rows + 1) * sizeof(*disk->rows));
    if (!disk->rows)
        abort();
    memmove(&disk->rows[place + 1], &disk->rows[place],
            (disk->n_rows - place) * sizeof(*disk->rows));
    disk->n_rows++;
    disk->rows[place] = (struct disk_row){
        .key = copy(whole.bytes, whole.n_bytes),
        .n_key_bytes = whole.n_bytes,
        .value = copy(value.bytes, value.n_bytes),
        .n_value_bytes = value.n_bytes,
    };
}

void
disk_erase(struct disk *disk, enum disk_owner whose, struct disk_bytes key)
{
    const struct whole_key whole = key_of(whose, key);
    const size_t place = place_of(disk, &whole);
    size_t n_rows = 0;

    while (begins(disk, place + n_rows, &whole))
        n_rows++;
    if (n_rows > 0)
        rows_remove(disk, place, n_rows);
}

const struct disk_row *
disk_next(const struct disk *disk, enum disk_owner whose, size_t *index)
{
    for (; *index < disk->n_rows; (*index)++) {
        if (disk->rows[*index].key[0] == (uint8_t)whose)
            return &disk->rows[(*index)++];
    }
    return NULL;
}
