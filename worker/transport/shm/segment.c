/* transport/shm/segment.c - memory that two ranks of one host share */

#include "transport/shm/segment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/descriptor.h"

static const uint64_t MAGIC = 0x31474e49504f4f48; /* "HOOPING1" */

/* The first page. Only the creator writes the first three fields. */
struct segment_control {
    uint64_t magic;
    uint64_t n_ring; /* bytes of one ring */
    uint8_t key[MEMORY_KEY];
    /* The ring from the creator, and the ring to it. */
    struct ring_control controls[2];
};

_Static_assert(sizeof(struct segment_control) <= MEMORY_PAGE, "one page");

static bool
is_ring_size(uint64_t n_bytes)
{
    return n_bytes >= LIMIT_RING_MIN && n_bytes <= LIMIT_RING_MAX &&
           (n_bytes & (n_bytes - 1)) == 0;
}

size_t
segment_ring_bytes(uint32_t n_ranks)
{
    size_t n_bytes = LIMIT_RING_MAX;

    while (n_bytes > LIMIT_RING_MIN && 2 * n_bytes * n_ranks > LIMIT_RING_TOTAL)
        n_bytes /= 2;
    return n_bytes;
}

void
segment_close_fd(struct segment *segment)
{
    descriptor_close(segment->fd);
    segment->fd = -1;
}

void
segment_destroy(struct segment *segment)
{
    if (!segment)
        return;
    segment_close_fd(segment);
    memory_unmap(segment->base, segment->n_mapped);
    free(segment);
}

DEFINE_CLEANUP(struct segment *, segment_destroy)

/* Returns the bytes of a ring and of its beginning once more. */
static size_t
ring_mapped_bytes(size_t n_ring)
{
    return n_ring + RING_PIECE;
}

/* Rings have the smallest size if ranks are many. Then most pages of most
 * rings are never touched, so each page is mapped when it is touched. */
static enum hoop_status
ring_map(uint8_t *at, size_t n_bytes, int fd, size_t offset, size_t n_ring)
{
    return n_ring > LIMIT_RING_MIN ? memory_map(at, n_bytes, fd, offset)
                                   : memory_map_lazily(at, n_bytes, fd, offset);
}

/* Map the page of controls and the two rings. */
static enum hoop_status
segment_map(struct segment *segment, int fd, size_t n_ring)
{
    segment->n_mapped = MEMORY_PAGE + 2 * ring_mapped_bytes(n_ring);
    enum hoop_status status = memory_reserve(segment->n_mapped, &segment->base);

    if (status == HOOP_OK)
        status = memory_map(segment->base, MEMORY_PAGE, fd, 0);
    for (size_t i = 0; status == HOOP_OK && i < 2; i++) {
        uint8_t *ring =
            segment->base + MEMORY_PAGE + i * ring_mapped_bytes(n_ring);
        const size_t offset = MEMORY_PAGE + i * n_ring;

        status = ring_map(ring, n_ring, fd, offset, n_ring);
        if (status == HOOP_OK)
            status = ring_map(ring + n_ring, RING_PIECE, fd, offset, n_ring);
    }
    if (status == HOOP_OK)
        status = memory_dont_fork(segment->base, segment->n_mapped);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Ring out_ring is written by this rank, the other is read. */
static void
rings_init(struct segment *segment, size_t n_ring, unsigned out_ring)
{
    struct segment_control *control = (struct segment_control *)segment->base;
    uint8_t *rings = segment->base + MEMORY_PAGE;
    const unsigned in_ring = 1 - out_ring;

    segment->out = (struct ring_writer){
        .control = &control->controls[out_ring],
        .bytes = rings + ring_mapped_bytes(n_ring) * out_ring,
        .n_bytes = n_ring,
    };
    segment->in = (struct ring_reader){
        .control = &control->controls[in_ring],
        .bytes = rings + ring_mapped_bytes(n_ring) * in_ring,
        .n_bytes = n_ring,
    };
}

static enum hoop_status
segment_alloc(struct segment **out_segment)
{
    struct segment *segment = calloc(1, sizeof(*segment));

    if (!segment)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a segment");
    segment->fd = -1;
    *out_segment = segment;
    return HOOP_OK;
}

enum hoop_status
segment_create(size_t n_ring,
               struct shared_memory_handle *out_place,
               struct segment **out_segment)
{
    CLEANUP(segment_destroy) struct segment *segment = NULL;
    struct shared_memory_handle place;

    enum hoop_status status = segment_alloc(&segment);
    if (status == HOOP_OK)
        status = shared_memory_create(MEMORY_PAGE + 2 * n_ring, &place,
                                      &segment->fd);
    if (status == HOOP_OK)
        status = segment_map(segment, segment->fd, n_ring);
    if (status != HOOP_OK)
        return error_pass(status);

    struct segment_control *control = (struct segment_control *)segment->base;
    control->magic = MAGIC;
    control->n_ring = n_ring;
    memcpy(control->key, place.key, MEMORY_KEY);
    rings_init(segment, n_ring, 0);
    *out_place = place;
    *out_segment = STEAL(segment);
    return HOOP_OK;
}

static enum hoop_status
segment_size_check(size_t n_bytes, size_t *out_n_ring)
{
    const size_t n_ring = (n_bytes - MEMORY_PAGE) / 2;

    if (n_bytes < MEMORY_PAGE || !is_ring_size(n_ring))
        return error_raise(HOOP_E_DATA_LOSS, "shared memory of %zu bytes",
                           n_bytes);
    *out_n_ring = n_ring;
    return HOOP_OK;
}

static enum hoop_status
segment_control_check(const struct segment *segment,
                      const struct shared_memory_handle *place,
                      size_t n_ring)
{
    const struct segment_control *control =
        (const struct segment_control *)segment->base;

    if (control->magic == MAGIC && control->n_ring == n_ring &&
        memcmp(control->key, place->key, MEMORY_KEY) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS, "shared memory of somebody else");
}

enum hoop_status
segment_open(const struct shared_memory_handle *place,
             struct segment **out_segment)
{
    CLEANUP(segment_destroy) struct segment *segment = NULL;
    size_t n_bytes = 0;
    size_t n_ring = 0;

    enum hoop_status status = segment_alloc(&segment);
    if (status == HOOP_OK)
        status = shared_memory_open(place, &segment->fd, &n_bytes);
    if (status == HOOP_OK)
        status = segment_size_check(n_bytes, &n_ring);
    if (status == HOOP_OK)
        status = segment_map(segment, segment->fd, n_ring);
    if (status == HOOP_OK)
        status = segment_control_check(segment, place, n_ring);
    if (status != HOOP_OK)
        return error_pass(status);
    segment_close_fd(segment);
    rings_init(segment, n_ring, 1);
    *out_segment = STEAL(segment);
    return HOOP_OK;
}
