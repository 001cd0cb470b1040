/*
 * transport/shm/segment.h - memory that two ranks of one host share
 *
 * One rank creates the segment (transport/shm/shared_memory.h) and the other opens
 * it. If that fails for any reason, both go on without it.
 *
 * A segment is a page of controls, then a ring for each direction
 * (transport/shm/ring.h). The beginning of a ring is mapped once more behind its
 * end. A forked child has no mapping of the segment.
 *
 * Thread: any, one at a time for a segment.
 */

#ifndef TRANSPORT_SHM_SEGMENT_H
#define TRANSPORT_SHM_SEGMENT_H

#include <stdint.h>

#include "hoop/status.h"

#include "transport/shm/ring.h"
#include "transport/shm/shared_memory.h"

struct segment {
    struct ring_writer out;
    struct ring_reader in;
    int fd; /* the creator's, until segment_close_fd(); otherwise -1 */
    uint8_t *base;
    size_t n_mapped;
};

/* Create a segment with rings of n_bytes, a power of two from LIMIT_RING_MIN
 * to LIMIT_RING_MAX. out_place tells the other rank how to open it. Handle:
 * HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED (the text says why). */
enum hoop_status
segment_create(size_t n_bytes,
               struct shared_memory_handle *out_place,
               struct segment **out_segment);
/* Open the segment at place. Handle: HOOP_E_UNAVAILABLE (out of reach),
 * HOOP_E_EXHAUSTED, HOOP_E_DATA_LOSS (it is not such a segment). */
enum hoop_status
segment_open(const struct shared_memory_handle *place,
             struct segment **out_segment);
/* Called by the creator once the other rank has opened the segment; no further
 * opens succeed. */
void
segment_close_fd(struct segment *segment);
/* Free segment, which may be NULL. */
void
segment_destroy(struct segment *segment);

/* Returns the size of a ring on a host of n_ranks ranks. */
size_t
segment_ring_bytes(uint32_t n_ranks);

#endif
