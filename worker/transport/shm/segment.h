/*
 * transport/shm/segment.h - memory that two ranks of one host share
 *
 * One rank creates the segment (transport/shm/segment.h) and the other opens
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

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "transport/shm/ring.h"

/*
 * The memory is a file without a name in any file system, whose size is
 * sealed. The kernel frees it with the last process that has it. Others open
 * it through the creator's /proc/<pid>/fd. The kernel permits that only to
 * the same user (or a debugger), and only if the creator's pid is visible. A
 * random key, which is part of the file's name, proves that it is the right
 * file.
 *
 * Thread: any.
 */

enum {
    MEMORY_KEY = 32,
    MEMORY_PAGE = 4096, /* sharing fails where pages are larger */
};

/* What others need to open the memory. */
struct shared_memory_handle {
    uint32_t pid; /* as the creator's own /proc says */
    uint32_t fd;
    uint8_t key[MEMORY_KEY];
};

/* Create n_bytes of zeroed memory, all of it allocated. The caller owns out_fd
 * and tells others out_place. Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED
 * (the text says why). */
enum hoop_status
shared_memory_create(size_t n_bytes,
                     struct shared_memory_handle *out_place,
                     int *out_fd);
/* The same, but memory is allocated only where memory_populate() asks for it,
 * if the kernel can do that (Linux 5.14); otherwise all of it is. */
enum hoop_status
shared_memory_create_sparse(size_t n_bytes,
                            struct shared_memory_handle *out_place,
                            int *out_fd);
/* Open the memory of another process; the caller owns out_fd. Handle:
 * HOOP_E_UNAVAILABLE (out of reach), HOOP_E_DATA_LOSS (its size may change,
 * which could make this process fault later). */
enum hoop_status
shared_memory_open(const struct shared_memory_handle *place,
                   int *out_fd,
                   size_t *out_n_bytes);

/* Reserve n_bytes of addresses with nothing behind them. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
memory_reserve(size_t n_bytes, uint8_t **out_base);
/* Map n_bytes of the file from offset to at, inside what was reserved. All
 * pages are mapped now, so that messages cause no page faults later. */
enum hoop_status
memory_map(uint8_t *at, size_t n_bytes, int fd, size_t offset);
/* The same, but each page is mapped when it is touched. */
enum hoop_status
memory_map_lazily(uint8_t *at, size_t n_bytes, int fd, size_t offset);
/* The same for memory of shared_memory_create_sparse(), from its beginning: nothing
 * is allocated yet. */
enum hoop_status
memory_map_sparse(uint8_t *at, size_t n_bytes, int fd);
/* Allocate and map n_bytes of sparse memory. Without this, touching them when
 * memory is short would end the process. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
memory_populate(uint8_t *at, size_t n_bytes);
/* Map n_bytes that another rank has filled, all at once, instead of page by
 * page when they are touched. */
void
memory_prefault(uint8_t *at, size_t n_bytes);
/* Keep the mappings out of forked children, which could otherwise change the
 * memory or keep it alive. Call when everything is mapped. */
enum hoop_status
memory_dont_fork(uint8_t *base, size_t n_bytes);
/* Unmap. base may be NULL. */
void
memory_unmap(uint8_t *base, size_t n_bytes);

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
