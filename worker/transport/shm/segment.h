/*
 * transport/shm/segment.h - memory that processes of one host share
 *
 * Three parts: a ring, which is a stream of bytes through shared memory; memory
 * that other processes can open; and the segment of two ranks, which is made of
 * both.
 */

#ifndef TRANSPORT_SHM_SEGMENT_H
#define TRANSPORT_SHM_SEGMENT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "hoop/status.h"

/*
 * A ring. One side writes, the other reads. Both count their bytes for ever;
 * the position in the ring is the count modulo its size. The first
 * RING_PIECE_BYTES bytes are mapped once more behind the last, so that no piece
 * of that size is ever broken at the end. Each count has cache lines of its own
 * and is written by one side alone.
 *
 * The other side may be hostile. Its count is believed only as long as it stays
 * within the ring. Otherwise is_broken is set for good and nothing more moves.
 * Each side trusts its own copy of its own count.
 *
 * Sleeping. A side that is about to sleep sets its flag and then looks once
 * more at the other's count. A side that moves its count does that first and
 * then looks at the other's flag. All four accesses are sequentially
 * consistent, so they have one order: either the mover sees the flag and wakes
 * the sleeper, or the sleeper sees the new count and does not sleep. If both
 * saw the old values, each look would precede the other side's store, and each
 * store its own look, which is a circle. Whoever clears a flag wakes its owner
 * once.
 *
 * Thread: each end is used by one thread at a time.
 */

enum {
    /* Counts move in steps of this size; frames are multiples of it. */
    RING_ALIGNMENT_BYTES = 64,
    /* Bytes published at a time: a part of a large frame, so that both sides
     * work at once. */
    RING_PIECE_BYTES = 64 * 1024,
    /* The processor fetches lines in pairs. */
    RING_CACHE_LINE_PAIR_BYTES = 128,
};

/* The shared part of a ring. It must be zeroed at first. */
struct ring_control {
    alignas(RING_CACHE_LINE_PAIR_BYTES) _Atomic uint64_t written;
    _Atomic uint32_t has_ended; /* nothing follows what is written */
    alignas(RING_CACHE_LINE_PAIR_BYTES) _Atomic uint64_t read;
    alignas(RING_CACHE_LINE_PAIR_BYTES) _Atomic uint32_t reader_sleeps;
    alignas(RING_CACHE_LINE_PAIR_BYTES) _Atomic uint32_t writer_sleeps;
};

struct ring_writer {
    struct ring_control *control;
    uint8_t *bytes; /* n_bytes of them, then the first RING_PIECE_BYTES again */
    uint64_t n_bytes;
    uint64_t written;
    uint64_t read; /* as last seen */
    bool is_broken;
};

struct ring_reader {
    struct ring_control *control;
    const uint8_t *bytes;
    uint64_t n_bytes;
    uint64_t read;     /* by this side */
    uint64_t released; /* the part of read that the writer knows of */
    uint64_t written;  /* as last seen */
    bool is_broken;
};

/* Write as many bytes of spans as there is room for, a multiple of
 * RING_ALIGNMENT_BYTES. Returns how many. */
size_t
ring_write(struct ring_writer *ring, const struct iovec *spans, size_t n_spans);
/* Returns whether there is enough room for writing to be worth it, or the ring
 * is broken. */
bool
ring_has_room(struct ring_writer *ring);
/* Say that nothing more will be written. */
void
ring_mark_end(struct ring_writer *ring);
/* Returns whether the caller must wake the reader, which sleeps: true once for
 * each time that it does. */
bool
ring_must_wake_reader(struct ring_writer *ring);
/* Call before sleeping for want of room. Returns false if there is more room
 * than was seen, so that the caller must not sleep. */
bool
ring_writer_prepare_sleep(struct ring_writer *ring);
void
ring_writer_clear_sleeping(struct ring_writer *ring);

/* Returns the bytes that have come and are not taken, and writes their
 * number. Of them min(n, RING_PIECE_BYTES) bytes are in a row. They are
 * valid until they are taken. */
const uint8_t *
ring_peek(struct ring_reader *ring, size_t *out_n_bytes);
void
ring_consume(struct ring_reader *ring, size_t n_bytes);
/* Give the room of what was taken back to the writer. */
void
ring_release(struct ring_reader *ring);
/* Returns whether the writer has ended the stream, so that nothing follows
 * what a later ring_peek() finds. */
bool
ring_has_ended(const struct ring_reader *ring);
bool
ring_must_wake_writer(struct ring_reader *ring);
/* Call before sleeping for want of bytes. Returns false if more has come than
 * was seen, or the stream has ended. */
bool
ring_reader_prepare_sleep(struct ring_reader *ring);
void
ring_reader_clear_sleeping(struct ring_reader *ring);

/*
 * Memory that other processes of the host can open. It is a file without a name
 * in any file system, whose size is sealed. The kernel frees it with the last
 * process that has it. Others open it through the creator's /proc/<pid>/fd. The
 * kernel permits that only to the same user (or a debugger), and only if the
 * creator's pid is visible. A random key, which is part of the file's name,
 * proves that it is the right file.
 *
 * Thread: any.
 */

enum {
    MEMORY_KEY_BYTES = 32,
    MEMORY_PAGE_BYTES = 4096, /* sharing fails where pages are larger */
};

/* What others need to open the memory. */
struct shared_memory_handle {
    uint32_t pid; /* as the creator's own /proc says */
    uint32_t fd;
    uint8_t key[MEMORY_KEY_BYTES];
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
/* The same for memory of shared_memory_create_sparse(), from its beginning:
 * nothing is allocated yet. */
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

/*
 * The segment of two ranks. One rank creates it and the other opens it. If that
 * fails for any reason, both go on without it.
 *
 * A segment is a page of controls, then a ring for each direction. The
 * beginning of a ring is mapped once more behind its end. A forked child has no
 * mapping of the segment.
 *
 * Thread: any, one at a time for a segment.
 */

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
