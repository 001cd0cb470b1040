/*
 * transport/ring.h - a stream of bytes through memory that two processes share
 *
 * One side writes, the other reads. What is written and what is read are
 * counted for ever, and a count's place is its remainder. The first RING_PIECE
 * bytes are mapped once more behind the last, so that no piece of that size is
 * ever broken at the end. Either count is in a line of its own and written by
 * one side alone.
 *
 * The other side may be hostile: a count of its own making is believed only
 * where it stays within the ring, else is_broken is set for good and nothing
 * more moves. Each side trusts its own memory of its own count.
 *
 * Sleeping. Who is about to sleep raises its flag and then looks once more at
 * the other's count; who moves its count does that first and then looks at the
 * flag. All four are sequentially consistent, so they have one order: either
 * the mover sees the flag, and rings, or the sleeper sees the new count, and
 * does not sleep. Both seeing the old would need each look to stand before the
 * other's store, and each store before its own look: a circle. Who takes a
 * flag down rings once for it.
 *
 * Thread: each end is one thread's at a time.
 */

#ifndef TRANSPORT_RING_H
#define TRANSPORT_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
    /* Counts move in steps of this, which frames are multiples of. */
    RING_STEP = 64,
    /* Published at a time, so that both sides are at work: half a frame. */
    RING_PIECE = 64 * 1024,
    /* The processor fetches lines in pairs. */
    RING_LINES = 128,
};

/* In the shared memory, zeroed at first. */
struct ring_control {
    alignas(RING_LINES) _Atomic uint64_t written;
    _Atomic uint32_t has_ended; /* nothing follows what is written */
    alignas(RING_LINES) _Atomic uint64_t read;
    alignas(RING_LINES) _Atomic uint32_t reader_sleeps;
    alignas(RING_LINES) _Atomic uint32_t writer_sleeps;
};

struct ring_writer {
    struct ring_control *control;
    uint8_t *bytes; /* n_bytes of them, and RING_PIECE of the first again */
    uint64_t n_bytes;
    uint64_t written;
    uint64_t read; /* as last seen */
    bool is_broken;
};

struct ring_reader {
    struct ring_control *control;
    const uint8_t *bytes;
    uint64_t n_bytes;
    uint64_t read;     /* by this side; the writer knows up to ... */
    uint64_t released; /* ... here */
    uint64_t written;  /* as last seen */
    bool is_broken;
};

/* As many bytes of spans as there is room for, a multiple of RING_STEP. */
size_t
ring_write(struct ring_writer *ring, const struct iovec *spans, size_t n_spans);
/* Room enough for writing on to be worth it. */
bool
ring_has_room(struct ring_writer *ring);
/* Nothing will be written any more. */
void
ring_end(struct ring_writer *ring);
/* The reader sleeps and must be woken: true once for each time it does. */
bool
ring_must_wake_reader(struct ring_writer *ring);
/* Before sleeping for want of room. False: there is more than there was. */
bool
ring_writer_may_sleep(struct ring_writer *ring);
void
ring_writer_awake(struct ring_writer *ring);

/* What has come and was not taken; of it RING_PIECE bytes in a row at least.
 * Valid until they are taken. */
const uint8_t *
ring_peek(struct ring_reader *ring, size_t *out_n_bytes);
void
ring_take(struct ring_reader *ring, size_t n_bytes);
/* Let the writer have the room of what was taken. */
void
ring_release(struct ring_reader *ring);
/* Nothing comes but what a ring_peek() after this finds. */
bool
ring_has_ended(const struct ring_reader *ring);
bool
ring_must_wake_writer(struct ring_reader *ring);
/* Before sleeping for want of bytes. False: more came since the last look. */
bool
ring_reader_may_sleep(struct ring_reader *ring);
void
ring_reader_awake(struct ring_reader *ring);

#endif
