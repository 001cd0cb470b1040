/*
 * transport/segment.h - memory that two ranks of one host share
 *
 * One side makes it: a file of memory without a name in any file system, of a
 * size that is sealed, which the kernel frees with the last process that has
 * it. The other opens it through the maker's /proc/<pid>/fd: the kernel lets
 * only the same user (or a debugger) do that, and only one who sees the maker
 * at all; a key, which is also the file's name, proves that it is the right
 * one. Who cannot, for whatever reason, goes on without.
 *
 * A page of controls, then a ring for each direction (transport/ring.h), whose
 * beginning is mapped behind its end once more. A forked child has none of it.
 * Where pages are larger than 4096 bytes nothing is shared.
 *
 * Thread: any, one at a time for a segment.
 */

#ifndef TRANSPORT_SEGMENT_H
#define TRANSPORT_SEGMENT_H

#include <stdint.h>

#include "hoop/status.h"

#include "transport/ring.h"

enum {
    SEGMENT_KEY = 32,
};

/* Where the other side finds it. */
struct segment_place {
    uint32_t pid; /* as the maker's own /proc says */
    uint32_t fd;
    uint8_t key[SEGMENT_KEY];
};

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
               struct segment_place *out_place,
               struct segment **out_segment);
/* Handle: HOOP_E_UNAVAILABLE (not to be reached), HOOP_E_EXHAUSTED,
 * HOOP_E_DATA_LOSS (it is not what it must be). */
enum hoop_status
segment_open(const struct segment_place *place, struct segment **out_segment);
/* The maker: nobody will open it any more. */
void
segment_seal_off(struct segment *segment);
/* NULL is fine. */
void
segment_destroy(struct segment *segment);

/* Of a ring, where n_ranks share a host. */
size_t
segment_ring_bytes(uint32_t n_ranks);

#endif
