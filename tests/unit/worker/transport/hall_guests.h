/* tests/unit/worker/transport/hall_guests.h - the ranks of a hall, in one process */

#ifndef TESTS_HALL_GUESTS_H
#define TESTS_HALL_GUESTS_H

#include <stddef.h>
#include <stdint.h>

#include "transport/hall.h"

enum {
    GUESTS_SLOT = 4096,
    GUESTS_GROWING = 40, /* posts of a slot after which a ring is whole */
};

/* A hall as each of its ranks has it. */
void
guests_enter(struct hall **halls, uint32_t n_ranks);
void
guests_leave(struct hall **halls, uint32_t n_ranks);
void
guest_post(struct hall *hall,
           uint64_t stamp,
           const void *bytes,
           size_t n_bytes);
/* One round in which only halls[0] posts, of n_bytes. */
void
guests_pass(struct hall **halls,
            uint32_t n_ranks,
            uint64_t stamp,
            size_t n_bytes);
/* halls[0]'s ring becomes as long as can be: until operation GUESTS_GROWING. */
void
guests_fill_ring(struct hall **halls, uint32_t n_ranks);

#endif
