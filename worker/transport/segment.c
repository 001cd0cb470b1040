/* transport/segment.c - memory that two ranks of one host share */

#include "transport/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "net/descriptor.h"

/* Of kernels newer than the C library. */
#ifndef MFD_NOEXEC_SEAL
enum {
    MFD_NOEXEC_SEAL = 8,
};
#endif

enum {
    PAGE_BYTES = 4096,
    NAME_BYTES = 64,
    PATH_BYTES = 64,
    KEY_IN_NAME = 16, /* bytes of the key */
};

static const uint64_t MAGIC = 0x31474e49504f4f48; /* "HOOPING1" */
static const int SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/* The first page. Only the maker writes the first three. */
struct segment_page {
    uint64_t magic;
    uint64_t n_ring; /* bytes of one ring */
    uint8_t key[SEGMENT_KEY];
    /* From the maker, and to it. */
    struct ring_control controls[2];
};

_Static_assert(sizeof(struct segment_page) <= PAGE_BYTES, "one page");

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

static void
name_of(const uint8_t key[SEGMENT_KEY], char out_name[NAME_BYTES])
{
    int n = snprintf(out_name, NAME_BYTES, "hoop-");

    for (int i = 0; i < KEY_IN_NAME; i++)
        n += snprintf(out_name + n, (size_t)(NAME_BYTES - n), "%02x", key[i]);
}

void
segment_seal_off(struct segment *segment)
{
    descriptor_close(segment->fd);
    segment->fd = -1;
}

void
segment_destroy(struct segment *segment)
{
    if (!segment)
        return;
    segment_seal_off(segment);
    if (segment->base)
        munmap(segment->base, segment->n_mapped);
    free(segment);
}

DEFINE_CLEANUP(struct segment *, segment_destroy)

static enum hoop_status
map_failed(void)
{
    return error_raise(HOOP_E_EXHAUSTED, "cannot map shared memory: %s",
                       strerror(errno));
}

static bool
map_at(uint8_t *at, size_t n_bytes, int fd, size_t offset)
{
    return mmap(at, n_bytes, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
                (off_t)offset) != MAP_FAILED;
}

/* Of a ring and its beginning once more. */
static size_t
ring_span(size_t n_ring)
{
    return n_ring + RING_PIECE;
}

/* The page of controls, and the rings. All at once: what is touched for the
 * first time amid the messages costs a fault there. */
static enum hoop_status
segment_map(struct segment *segment, int fd, size_t n_ring)
{
    segment->n_mapped = PAGE_BYTES + 2 * ring_span(n_ring);
    uint8_t *base = mmap(NULL, segment->n_mapped, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return map_failed();
    segment->base = base;
    if (!map_at(base, PAGE_BYTES, fd, 0))
        return map_failed();
    for (size_t i = 0; i < 2; i++) {
        uint8_t *ring = base + PAGE_BYTES + i * ring_span(n_ring);
        const size_t offset = PAGE_BYTES + i * n_ring;

        if (!map_at(ring, n_ring, fd, offset) ||
            !map_at(ring + n_ring, RING_PIECE, fd, offset))
            return map_failed();
    }
    /* What a child does not have it can neither change nor keep alive. */
    if (madvise(base, segment->n_mapped, MADV_DONTFORK) != 0)
        return map_failed();
    return HOOP_OK;
}

/* Which of the two rings is written here; the other is read. */
static void
rings_init(struct segment *segment, size_t n_ring, unsigned out_ring)
{
    struct segment_page *page = (struct segment_page *)segment->base;
    uint8_t *rings = segment->base + PAGE_BYTES;
    const unsigned in_ring = 1 - out_ring;

    segment->out = (struct ring_writer){
        .control = &page->controls[out_ring],
        .bytes = rings + ring_span(n_ring) * out_ring,
        .n_bytes = n_ring,
    };
    segment->in = (struct ring_reader){
        .control = &page->controls[in_ring],
        .bytes = rings + ring_span(n_ring) * in_ring,
        .n_bytes = n_ring,
    };
}

/* An unnamed file of memory, all of it there, whose size is final. */
static enum hoop_status
memory_open(const char *name, size_t n_bytes, int *out_fd)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, flags);
    if (fd < 0)
        return error_raise(HOOP_E_UNAVAILABLE, "no file of memory: %s",
                           strerror(errno));
    descriptor_track(fd);
    /* Now, not when it is touched: that would end the process. */
    if (fallocate(fd, 0, 0, (off_t)n_bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0) {
        *out_fd = fd;
        return HOOP_OK;
    }
    const int error = errno;
    descriptor_close(fd);
    return error_raise(HOOP_E_UNAVAILABLE, "no %zu bytes of shared memory: %s",
                       n_bytes, strerror(error));
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

/* This process, as those see it who share its /proc. */
static enum hoop_status
own_pid(uint32_t *out_pid)
{
    char text[16];
    const ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

    if (n <= 0)
        return error_raise(HOOP_E_UNAVAILABLE, "no /proc/self: %s",
                           strerror(errno));
    text[n] = '\0';
    *out_pid = (uint32_t)strtoul(text, NULL, 10);
    return HOOP_OK;
}

enum hoop_status
segment_create(size_t n_ring,
               struct segment_place *out_place,
               struct segment **out_segment)
{
    CLEANUP(segment_destroy) struct segment *segment = NULL;
    struct segment_place place = {0};
    char name[NAME_BYTES];

    enum hoop_status status = own_pid(&place.pid);
    if (status == HOOP_OK)
        status = random_fill(place.key, SEGMENT_KEY);
    if (status == HOOP_OK)
        status = segment_alloc(&segment);
    if (status != HOOP_OK)
        return error_pass(status);
    name_of(place.key, name);
    status = memory_open(name, PAGE_BYTES + 2 * n_ring, &segment->fd);
    if (status == HOOP_OK)
        status = segment_map(segment, segment->fd, n_ring);
    if (status != HOOP_OK)
        return error_pass(status);

    struct segment_page *page = (struct segment_page *)segment->base;
    page->magic = MAGIC;
    page->n_ring = n_ring;
    memcpy(page->key, place.key, SEGMENT_KEY);
    rings_init(segment, n_ring, 0);
    place.fd = (uint32_t)segment->fd;
    *out_place = place;
    *out_segment = STEAL(segment);
    return HOOP_OK;
}

static enum hoop_status
unreached(const struct segment_place *place, const char *why)
{
    return error_raise(HOOP_E_UNAVAILABLE,
                       "the shared memory of process %u is out of reach: %s",
                       place->pid, why);
}

/* Look at what it is before it is opened: opening may have effects. */
static enum hoop_status
place_open(const struct segment_place *place, int *out_fd)
{
    char path[PATH_BYTES];
    char name[NAME_BYTES];
    char expected[PATH_BYTES + NAME_BYTES];
    char found[PATH_BYTES + NAME_BYTES];

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", place->pid, place->fd);
    name_of(place->key, name);
    snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
    const ssize_t n = readlink(path, found, sizeof(found) - 1);
    if (n < 0)
        return unreached(place, strerror(errno));
    found[n] = '\0';
    if (strcmp(found, expected) != 0)
        return unreached(place, "another process has its number here");
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return unreached(place, strerror(errno));
    descriptor_track(fd);
    *out_fd = fd;
    return HOOP_OK;
}

/* What could make us fault later: a size that is not final, or not enough. */
static enum hoop_status
memory_check(int fd, size_t *out_n_ring)
{
    struct stat file;
    const int seals = fcntl(fd, F_GET_SEALS);

    if (fstat(fd, &file) != 0 || seals < 0 || (seals & SEALS) != SEALS)
        return error_raise(HOOP_E_DATA_LOSS,
                           "shared memory whose size is not sealed");
    const uint64_t n_ring = ((uint64_t)file.st_size - PAGE_BYTES) / 2;
    if (file.st_size < PAGE_BYTES || !is_ring_size(n_ring))
        return error_raise(HOOP_E_DATA_LOSS, "shared memory of %lld bytes",
                           (long long)file.st_size);
    *out_n_ring = n_ring;
    return HOOP_OK;
}

static enum hoop_status
page_check(const struct segment *segment,
           const struct segment_place *place,
           size_t n_ring)
{
    const struct segment_page *page =
        (const struct segment_page *)segment->base;

    if (page->magic == MAGIC && page->n_ring == n_ring &&
        memcmp(page->key, place->key, SEGMENT_KEY) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS, "shared memory of somebody else");
}

enum hoop_status
segment_open(const struct segment_place *place, struct segment **out_segment)
{
    CLEANUP(segment_destroy) struct segment *segment = NULL;
    size_t n_ring = 0;

    enum hoop_status status = segment_alloc(&segment);
    if (status == HOOP_OK)
        status = place_open(place, &segment->fd);
    if (status == HOOP_OK)
        status = memory_check(segment->fd, &n_ring);
    if (status == HOOP_OK)
        status = segment_map(segment, segment->fd, n_ring);
    if (status == HOOP_OK)
        status = page_check(segment, place, n_ring);
    if (status != HOOP_OK)
        return error_pass(status);
    segment_seal_off(segment);
    rings_init(segment, n_ring, 1);
    *out_segment = STEAL(segment);
    return HOOP_OK;
}
