/*
 * tests/sim/network_sim_disk.h - what the coordinator's machine has stored
 *
 * The rows are in the order of their keys, whose first byte says which part
 * owns them. What a step stores is there before any of its answers is sent.
 */

#ifndef SIM_NETWORK_SIM_DISK_H
#define SIM_NETWORK_SIM_DISK_H

#include <stddef.h>
#include <stdint.h>

enum disk_owner {
    DISK_CORE = 1,
    DISK_REPLIES = 2,
};

struct disk_bytes {
    const void *bytes;
    size_t n_bytes;
};

struct disk_row {
    uint8_t *key; /* begins with its owner */
    size_t n_key_bytes;
    uint8_t *value;
    size_t n_value_bytes;
};

/* A zeroed disk is empty. */
struct disk {
    struct disk_row *rows;
    size_t n_rows;
};

void
disk_deinit(struct disk *disk);

void
disk_put(struct disk *disk,
         enum disk_owner whose,
         struct disk_bytes key,
         struct disk_bytes value);
/* Removes the key and every key that begins with it. */
void
disk_erase(struct disk *disk, enum disk_owner whose, struct disk_bytes key);

/* Returns the first row of this owner at index or after it, or NULL if there is
 * none. */
const struct disk_row *
disk_next(const struct disk *disk, enum disk_owner whose, size_t *index);

#endif
