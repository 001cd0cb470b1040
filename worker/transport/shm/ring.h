/*
 * transport/shm/ring.h - a stream of bytes through shared memory
 *
 * One side writes, the other reads. Both count their bytes for ever; the
 * position in the ring is the count modulo its size. The first RING_PIECE
 * bytes are mapped once more behind the last, so that no piece of that size is
 * ever broken at the end. Each count has cache lines of its own and is written
 * by one side alone.
 *
 * The other side may be hostile. Its count is believed only as long as it
 * stays within the ring. Otherwise is_broken is set for good and nothing more
 * moves. Each side trusts its own copy of its own count.
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

#ifndef TRANSPORT_SHM_RING_H
#define TRANSPORT_SHM_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    /* Counts move in steps of this size; frames are multiples of it. */
    RING_STEP = 64,
    /* Bytes published at a time: a part of a large frame, so that both sides
     * work at once. */
    RING_PIECE = 64 * 1024,
    /* The processor fetches lines in pairs. */
    RING_LINES = 128,
};

/* The shared part of a ring. It must be zeroed at first. */
struct ring_control {
    alignas(RING_LINES) _Atomic uint64_t written;
    _Atomic uint32_t has_ended; /* nothing follows what is written */
    alignas(RING_LINES) _Atomic uint64_t read;
    alignas(RING_LINES) _Atomic uint32_t reader_sleeps;
    alignas(RING_LINES) _Atomic uint32_t writer_sleeps;
};

struct ring_writer {
    struct ring_control *control;
    uint8_t *bytes; /* n_bytes of them, then the first RING_PIECE again */
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

/* Write as many bytes of spans as there is room for, a multiple of RING_STEP.
 * Returns how many. */
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

/* Returns the bytes that have come and are not taken, and writes their number.
 * Of them min(n, RING_PIECE) bytes are in a row. They are valid until they are
 * taken. */
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

#endif
