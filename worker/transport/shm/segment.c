/* transport/shm/segment.c - memory that processes of one host share */

#include "transport/shm/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/random.h"
#include "net/port_owner.h"
#include "net/wakeup.h"

/* The ring: a stream of bytes through shared memory. */

enum {
    /* If less than one in so many bytes of the ring is free, writing waits for
     * more. */
    RING_WAKE_ROOM_DIVISOR = 4,
    ALIASING_PERIOD_BYTES = 4096,
    ALIASING_PHASE_MAX = 15,
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
    struct copy_line {
        uint8_t bytes[RING_ALIGNMENT_BYTES];
    } line;

    if ((uintptr_t)(to - from) % ALIASING_PERIOD_BYTES - 1 >=
        ALIASING_PHASE_MAX) {
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

/* The writer's side of the ring. */

static uint64_t
ring_room(const struct ring_writer *ring)
{
    return ring->n_bytes - (ring->written - ring->read);
}

static void
ring_refresh_read_position(struct ring_writer *ring)
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
ring_write_and_publish(struct ring_writer *ring,
                       const struct iovec *spans,
                       size_t n_bytes)
{
    const uint64_t end = ring->written + n_bytes;
    uint64_t at = ring->written;
    size_t skipped = 0;

    while (at < end) {
        const size_t n_span = spans->iov_len - skipped;
        const uint64_t n_piece = ring->written + RING_PIECE_BYTES - at;
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
        if (at - ring->written == RING_PIECE_BYTES)
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
        ring_refresh_read_position(ring);
    if (ring->is_broken)
        return 0;
    const size_t n_bytes =
        n_wanted < ring_room(ring) ? n_wanted : (size_t)ring_room(ring);
    const size_t n_whole =
        n_bytes / RING_ALIGNMENT_BYTES * RING_ALIGNMENT_BYTES;

    ring_write_and_publish(ring, spans, n_whole);
    return n_whole;
}

/* Do not wait until the ring is empty: half a header may stay there until its
 * end is written. */
bool
ring_has_room(struct ring_writer *ring)
{
    const uint64_t n_wanted = ring->n_bytes / RING_WAKE_ROOM_DIVISOR;

    if (!ring->is_broken && ring_room(ring) < n_wanted)
        ring_refresh_read_position(ring);
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

/* The reader's side of the ring. */

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
    if (ring->read - ring->released >= RING_PIECE_BYTES)
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

/* Memory that other processes of the host can open. */

/* Constants of kernels that are newer than the C library. */
#ifndef MFD_NOEXEC_SEAL
enum {
    MFD_NOEXEC_SEAL = 8,
};
#endif

#ifndef MADV_POPULATE_WRITE
enum {
    MADV_POPULATE_READ = 22,
    MADV_POPULATE_WRITE = 23,
};
#endif

enum {
    MEMFD_NAME_BYTES = 64,
    PATH_BYTES = 64,
    MEMFD_NAME_KEY_BYTES = 16, /* bytes of the key in the file's name */
};

static const int MEMFD_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

static void
memfd_name(const uint8_t key[MEMORY_KEY_BYTES], char out_name[MEMFD_NAME_BYTES])
{
    int n = snprintf(out_name, MEMFD_NAME_BYTES, "hoop-");

    for (int i = 0; i < MEMFD_NAME_KEY_BYTES; i++)
        n += snprintf(out_name + n, (size_t)(MEMFD_NAME_BYTES - n), "%02x",
                      key[i]);
}

static enum hoop_status
raise_map_failed(void)
{
    char why[RESOURCE_LIMIT_TEXT];

    return error_raise(HOOP_E_EXHAUSTED, "cannot map shared memory: %s",
                       resource_error_describe(RESOURCE_MAPPING, errno, why));
}

enum hoop_status
memory_reserve(size_t n_bytes, uint8_t **out_base)
{
    uint8_t *base = mmap(NULL, n_bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (base == MAP_FAILED)
        return raise_map_failed();
    *out_base = base;
    return HOOP_OK;
}

static enum hoop_status
map_shared(int flags, uint8_t *at, size_t n_bytes, int fd, size_t offset)
{
    if (mmap(at, n_bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED | flags, fd, (off_t)offset) == MAP_FAILED)
        return raise_map_failed();
    return HOOP_OK;
}

enum hoop_status
memory_map(uint8_t *at, size_t n_bytes, int fd, size_t offset)
{
    return map_shared(MAP_POPULATE, at, n_bytes, fd, offset);
}

enum hoop_status
memory_map_lazily(uint8_t *at, size_t n_bytes, int fd, size_t offset)
{
    return map_shared(0, at, n_bytes, fd, offset);
}

/* Returns whether the kernel can allocate pages without their being touched. */
static bool
can_populate(void)
{
    return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
}

enum hoop_status
memory_map_sparse(uint8_t *at, size_t n_bytes, int fd)
{
    if (!can_populate())
        return memory_map(at, n_bytes, fd, 0);
    return map_shared(0, at, n_bytes, fd, 0);
}

enum hoop_status
memory_populate(uint8_t *at, size_t n_bytes)
{
    const size_t n_before = (uintptr_t)at % MEMORY_PAGE_BYTES;

    /* With a kernel that cannot do this, everything is allocated from the
     * beginning. */
    if (madvise(at - n_before, n_before + n_bytes, MADV_POPULATE_WRITE) == 0 ||
        errno == EINVAL)
        return HOOP_OK;
    return error_raise(HOOP_E_EXHAUSTED, "no %zu bytes of shared memory: %s",
                       n_bytes, strerror(errno));
}

void
memory_prefault(uint8_t *at, size_t n_bytes)
{
    const size_t n_before = (uintptr_t)at % MEMORY_PAGE_BYTES;

    (void)!madvise(at - n_before, n_before + n_bytes, MADV_POPULATE_READ);
}

enum hoop_status
memory_dont_fork(uint8_t *base, size_t n_bytes)
{
    return madvise(base, n_bytes, MADV_DONTFORK) == 0 ? HOOP_OK
                                                      : raise_map_failed();
}

void
memory_unmap(uint8_t *base, size_t n_bytes)
{
    if (base)
        munmap(base, n_bytes);
}

/* Sets the size of a file. fallocate() also allocates all of it, because
 * touching memory that is not there ends the process; ftruncate() allocates
 * nothing. */
typedef int
file_resize_fn(int fd, size_t n_bytes);

static int
file_allocate(int fd, size_t n_bytes)
{
    return fallocate(fd, 0, 0, (off_t)n_bytes);
}

static int
file_truncate(int fd, size_t n_bytes)
{
    return ftruncate(fd, (off_t)n_bytes);
}

/* The kernel refuses a file of memory that is larger than RLIMIT_FSIZE, and
 * sends SIGXFSZ to the process, which would end it. */
static bool
is_file_size_allowed(size_t n_bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= n_bytes;
}

/* Call allot(), but never so that SIGXFSZ would follow. */
static int
file_resize(int fd, size_t n_bytes, file_resize_fn *allot)
{
    if (is_file_size_allowed(n_bytes))
        return allot(fd, n_bytes);
    errno = EFBIG;
    return -1;
}

/* Create an unnamed file whose size is final. */
static enum hoop_status
memfd_open(const char *name, size_t n_bytes, file_resize_fn *allot, int *out_fd)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    char why[RESOURCE_LIMIT_TEXT];

    int fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, flags);
    if (fd < 0)
        return error_raise(
            HOOP_E_UNAVAILABLE, "no file of memory: %s",
            resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));
    descriptor_track(fd);
    if (file_resize(fd, n_bytes, allot) == 0 &&
        fcntl(fd, F_ADD_SEALS, MEMFD_SEALS) == 0) {
        *out_fd = fd;
        return HOOP_OK;
    }
    const int error = errno;
    descriptor_close(fd);
    return error_raise(HOOP_E_UNAVAILABLE, "no %zu bytes of shared memory: %s",
                       n_bytes,
                       resource_error_describe(RESOURCE_MAPPING, error, why));
}

static enum hoop_status
memfd_create_with_handle(size_t n_bytes,
                         file_resize_fn *allot,
                         struct shared_memory_handle *out_place,
                         int *out_fd)
{
    struct shared_memory_handle place = {0};
    char name[MEMFD_NAME_BYTES];

    enum hoop_status status = proc_own_pid(&place.pid);
    if (status == HOOP_OK)
        status = random_fill(place.key, MEMORY_KEY_BYTES);
    if (status != HOOP_OK)
        return error_pass(status);
    memfd_name(place.key, name);
    status = memfd_open(name, n_bytes, allot, out_fd);
    if (status != HOOP_OK)
        return error_pass(status);
    place.fd = (uint32_t)*out_fd;
    *out_place = place;
    return HOOP_OK;
}

enum hoop_status
shared_memory_create(size_t n_bytes,
                     struct shared_memory_handle *out_place,
                     int *out_fd)
{
    return memfd_create_with_handle(n_bytes, file_allocate, out_place, out_fd);
}

enum hoop_status
shared_memory_create_sparse(size_t n_bytes,
                            struct shared_memory_handle *out_place,
                            int *out_fd)
{
    return memfd_create_with_handle(
        n_bytes, can_populate() ? file_truncate : file_allocate, out_place,
        out_fd);
}

static enum hoop_status
raise_memory_unreachable(const struct shared_memory_handle *place,
                         const char *why)
{
    return error_raise(HOOP_E_UNAVAILABLE,
                       "the shared memory of process %u is out of reach: %s",
                       place->pid, why);
}

/* The target is checked before it is opened, because opening may have
 * effects. */
static enum hoop_status
memfd_open_by_handle(const struct shared_memory_handle *place, int *out_fd)
{
    char path[PATH_BYTES];
    char name[MEMFD_NAME_BYTES];
    char expected[PATH_BYTES + MEMFD_NAME_BYTES];
    char found[PATH_BYTES + MEMFD_NAME_BYTES];
    char why[RESOURCE_LIMIT_TEXT];

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", place->pid, place->fd);
    memfd_name(place->key, name);
    snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
    const ssize_t n = readlink(path, found, sizeof(found) - 1);
    if (n < 0)
        return raise_memory_unreachable(place, strerror(errno));
    found[n] = '\0';
    if (strcmp(found, expected) != 0)
        return raise_memory_unreachable(place,
                                        "another process has its number here");
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return raise_memory_unreachable(
            place, resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));
    descriptor_track(fd);
    *out_fd = fd;
    return HOOP_OK;
}

enum hoop_status
shared_memory_open(const struct shared_memory_handle *place,
                   int *out_fd,
                   size_t *out_n_bytes)
{
    struct stat file;
    int fd = -1;

    const enum hoop_status status = memfd_open_by_handle(place, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    const int seals = fcntl(fd, F_GET_SEALS);
    if (fstat(fd, &file) != 0 || seals < 0 ||
        (seals & MEMFD_SEALS) != MEMFD_SEALS) {
        descriptor_close(fd);
        return error_raise(HOOP_E_DATA_LOSS,
                           "shared memory whose size is not sealed");
    }
    *out_fd = fd;
    *out_n_bytes = (size_t)file.st_size;
    return HOOP_OK;
}

/* The segment: a ring for each direction between two ranks. */

static const uint64_t SEGMENT_MAGIC = 0x31474e49504f4f48; /* "HOOPING1" */

/* The first page. Only the creator writes the first three fields. */
struct segment_control {
    uint64_t magic;
    uint64_t n_ring; /* bytes of one ring */
    uint8_t key[MEMORY_KEY_BYTES];
    /* The ring from the creator, and the ring to it. */
    struct ring_control controls[2];
};

_Static_assert(sizeof(struct segment_control) <= MEMORY_PAGE_BYTES, "one page");

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
    return n_ring + RING_PIECE_BYTES;
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
    segment->n_mapped = MEMORY_PAGE_BYTES + 2 * ring_mapped_bytes(n_ring);
    enum hoop_status status = memory_reserve(segment->n_mapped, &segment->base);

    if (status == HOOP_OK)
        status = memory_map(segment->base, MEMORY_PAGE_BYTES, fd, 0);
    for (size_t i = 0; status == HOOP_OK && i < 2; i++) {
        uint8_t *ring =
            segment->base + MEMORY_PAGE_BYTES + i * ring_mapped_bytes(n_ring);
        const size_t offset = MEMORY_PAGE_BYTES + i * n_ring;

        status = ring_map(ring, n_ring, fd, offset, n_ring);
        if (status == HOOP_OK)
            status =
                ring_map(ring + n_ring, RING_PIECE_BYTES, fd, offset, n_ring);
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
    uint8_t *rings = segment->base + MEMORY_PAGE_BYTES;
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
        status = shared_memory_create(MEMORY_PAGE_BYTES + 2 * n_ring, &place,
                                      &segment->fd);
    if (status == HOOP_OK)
        status = segment_map(segment, segment->fd, n_ring);
    if (status != HOOP_OK)
        return error_pass(status);

    struct segment_control *control = (struct segment_control *)segment->base;
    control->magic = SEGMENT_MAGIC;
    control->n_ring = n_ring;
    memcpy(control->key, place.key, MEMORY_KEY_BYTES);
    rings_init(segment, n_ring, 0);
    *out_place = place;
    *out_segment = STEAL(segment);
    return HOOP_OK;
}

static enum hoop_status
segment_size_check(size_t n_bytes, size_t *out_n_ring)
{
    const size_t n_ring = (n_bytes - MEMORY_PAGE_BYTES) / 2;

    if (n_bytes < MEMORY_PAGE_BYTES || !is_ring_size(n_ring))
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

    if (control->magic == SEGMENT_MAGIC && control->n_ring == n_ring &&
        memcmp(control->key, place->key, MEMORY_KEY_BYTES) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS, "shared memory of another job");
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
