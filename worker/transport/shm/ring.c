/* transport/shm/ring.c - a stream of bytes through shared memory */

#include "transport/shm/ring.h"

#include <assert.h>
#include <string.h>

enum {
    /* If less than one in so many bytes of the ring is free, writing waits for
     * more. */
    ROOM_PART = 4,
    PHASE_BYTES = 4096,
    PHASE_BAD = 15,
};

/*
 * For many bytes, memcpy() is one string instruction. It writes lines that
 * another processor has without fetching them first, which takes a third of
 * the time if the two processors are far from each other. But it is sixteen
 * times slower if source and destination differ by 1 to 15 modulo 4096. The
 * empty asm statement keeps the compiler from turning the loop into a
 * memcpy().
 */
static void
copy_without_aliasing(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
    struct line {
        uint8_t bytes[RING_STEP];
    } line;

    if ((uintptr_t)(to - from) % PHASE_BYTES - 1 >= PHASE_BAD) {
        memcpy(to, from, n_bytes);
        return;
    }
    for (; n_bytes >= sizeof(line); n_bytes -= sizeof(line)) {
        memcpy(&line, from, sizeof(line));
        memcpy(to, &line, sizeof(line));
        to += sizeof(line);
        from += sizeof(line);
        __asm__ volatile("" : "+r"(to), "+r"(from));
    }
    if (n_bytes > 0)
        memcpy(to, from, n_bytes);
}

/* The writer's side. */

static uint64_t
ring_room(const struct ring_writer *ring)
{
    return ring->n_bytes - (ring->written - ring->read);
}

static void
refresh_read_position(struct ring_writer *ring)
{
    const uint64_t read =
        atomic_load_explicit(&ring->control->read, memory_order_acquire);

    if (ring->written - read > ring->n_bytes)
        ring->is_broken = true;
    else
        ring->read = read;
}

static size_t
iovec_size(const struct iovec *spans, size_t n_spans)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_spans; i++)
        n_bytes += spans[i].iov_len;
    return n_bytes;
}

static void
publish(struct ring_writer *ring, uint64_t written)
{
    ring->written = written;
    atomic_store(&ring->control->written, written);
}

/* Write n_bytes of spans, for which there is room, and publish them piece by
 * piece. */
static void
write_pieces(struct ring_writer *ring,
             const struct iovec *spans,
             size_t n_bytes)
{
    const uint64_t end = ring->written + n_bytes;
    uint64_t at = ring->written;
    size_t skipped = 0;

    while (at < end) {
        const size_t n_span = spans->iov_len - skipped;
        const uint64_t n_piece = ring->written + RING_PIECE - at;
        size_t n_here = n_span < end - at ? n_span : (size_t)(end - at);

        if (n_here > n_piece)
            n_here = (size_t)n_piece;
        /* The pointer of an empty span may be invalid. */
        if (n_here > 0)
            copy_without_aliasing(ring->bytes + at % ring->n_bytes,
                                  (const uint8_t *)spans->iov_base + skipped,
                                  n_here);
        at += n_here;
        skipped += n_here;
        if (skipped == spans->iov_len) {
            skipped = 0;
            spans++;
        }
        if (at - ring->written == RING_PIECE)
            publish(ring, at);
    }
    if (at != ring->written)
        publish(ring, at);
}

size_t
ring_write(struct ring_writer *ring, const struct iovec *spans, size_t n_spans)
{
    const size_t n_wanted = iovec_size(spans, n_spans);

    if (ring_room(ring) < n_wanted)
        refresh_read_position(ring);
    if (ring->is_broken)
        return 0;
    const size_t n_bytes =
        n_wanted < ring_room(ring) ? n_wanted : (size_t)ring_room(ring);
    const size_t n_whole = n_bytes / RING_STEP * RING_STEP;

    write_pieces(ring, spans, n_whole);
    return n_whole;
}

/* Do not wait until the ring is empty: half a header may stay there until its
 * end is written. */
bool
ring_has_room(struct ring_writer *ring)
{
    const uint64_t n_wanted = ring->n_bytes / ROOM_PART;

    if (!ring->is_broken && ring_room(ring) < n_wanted)
        refresh_read_position(ring);
    /* If the ring is broken, the next write reports it. */
    return ring->is_broken || ring_room(ring) >= n_wanted;
}

void
ring_mark_end(struct ring_writer *ring)
{
    atomic_store(&ring->control->has_ended, 1);
}

bool
ring_must_wake_reader(struct ring_writer *ring)
{
    return atomic_load(&ring->control->reader_sleeps) != 0 &&
           atomic_exchange(&ring->control->reader_sleeps, 0) != 0;
}

bool
ring_writer_prepare_sleep(struct ring_writer *ring)
{
    atomic_store(&ring->control->writer_sleeps, 1);
    return atomic_load(&ring->control->read) == ring->read;
}

void
ring_writer_clear_sleeping(struct ring_writer *ring)
{
    if (atomic_load_explicit(&ring->control->writer_sleeps,
                             memory_order_relaxed))
        atomic_store(&ring->control->writer_sleeps, 0);
}

/* The reader's side. */

const uint8_t *
ring_peek(struct ring_reader *ring, size_t *out_n_bytes)
{
    const uint64_t written =
        atomic_load_explicit(&ring->control->written, memory_order_acquire);

    if (written - ring->read > ring->n_bytes || written < ring->written)
        ring->is_broken = true;
    else
        ring->written = written;
    *out_n_bytes = ring->is_broken ? 0 : (size_t)(written - ring->read);
    return ring->bytes + ring->read % ring->n_bytes;
}

void
ring_consume(struct ring_reader *ring, size_t n_bytes)
{
    assert(n_bytes <= ring->written - ring->read);
    ring->read += n_bytes;
    if (ring->read - ring->released >= RING_PIECE)
        ring_release(ring);
}

void
ring_release(struct ring_reader *ring)
{
    if (ring->released == ring->read)
        return;
    ring->released = ring->read;
    atomic_store(&ring->control->read, ring->read);
}

bool
ring_has_ended(const struct ring_reader *ring)
{
    return atomic_load(&ring->control->has_ended) != 0;
}

bool
ring_must_wake_writer(struct ring_reader *ring)
{
    return atomic_load(&ring->control->writer_sleeps) != 0 &&
           atomic_exchange(&ring->control->writer_sleeps, 0) != 0;
}

bool
ring_reader_prepare_sleep(struct ring_reader *ring)
{
    atomic_store(&ring->control->reader_sleeps, 1);
    return atomic_load(&ring->control->written) == ring->written &&
           !ring_has_ended(ring);
}

void
ring_reader_clear_sleeping(struct ring_reader *ring)
{
    if (atomic_load_explicit(&ring->control->reader_sleeps,
                             memory_order_relaxed))
        atomic_store(&ring->control->reader_sleeps, 0);
}
