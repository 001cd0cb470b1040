/*
 * transport/segment.h - memory that two ranks of one host share
 *
 * One side makes it (transport/shared_memory.h), the other opens it. Who cannot, for
 * whatever reason, goes on without.
 *
 * A page of controls, then a ring for each direction (transport/ring.h), whose
 * beginning is mapped behind its end once more. A forked child has none of it.
 *
 * Thread: any, one at a time for a segment.
 */

#ifndef TRANSPORT_SEGMENT_H
#define TRANSPORT_SEGMENT_H

#include <stdint.h>

#include "hoop/status.h"

#include "transport/ring.h"
#include "transport/shared_memory.h"

struct segment {
    struct ring_writer out;
    struct ring_reader in;
    int fd; /* the maker's, until it is closed; else -1 */
    uint8_t *base;
    size_t n_mapped;
};

/* For rings of n_bytes, a power of two within the limits.
 * Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED (the text says why). */
enum hoop_status
segment_create(size_t n_bytes,
               struct memory_handle *out_place,
               struct segment **out_segment);
/* Handle: HOOP_E_UNAVAILABLE (not to be reached), HOOP_E_EXHAUSTED,
 * HOOP_E_DATA_LOSS (it is not what it must be). */
enum hoop_status
segment_open(const struct memory_handle *place, struct segment **out_segment);
/* The maker: nobody will open it any more. */
void
segment_unlink(struct segment *segment);
/* NULL is fine. */
void
segment_destroy(struct segment *segment);

/* Of a ring, where n_ranks share a host. */
size_t
segment_ring_bytes(uint32_t n_ranks);

#endif
