/* checkpoint/reading.c - ranges of a file, straight to where they belong */

#include "checkpoint/reading.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "checkpoint/folder.h"

struct reading {
    const struct folder *folder;
    const struct hoop_checkpoint_file *file;
    int fd;
    uint64_t start; /* of what is not read yet */
    uint64_t end;
    int n_places;
    struct iovec places[LIMIT_READ_RANGES];
    uint8_t nowhere[LIMIT_READ_GAP];
};

static enum hoop_status
size_check(const struct reading *reading)
{
    const struct hoop_checkpoint_file *file = reading->file;
    struct stat stat;

    if (fstat(reading->fd, &stat) < 0)
        return folder_raise(reading->folder, errno, "look at", file->name);
    if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size != file->n_bytes)
        return error_raise(
            HOOP_E_DATA_LOSS, "%s/%s has %llu bytes, the index says %llu",
            reading->folder->path, file->name, (unsigned long long)stat.st_size,
            (unsigned long long)file->n_bytes);
    return HOOP_OK;
}

enum hoop_status
reading_create(const struct folder *folder,
               const struct hoop_checkpoint_file *file,
               struct reading **out_reading)
{
    CLEANUP(reading_destroy)
    struct reading *reading = malloc(sizeof(*reading));

    if (!reading)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for reading");
    reading->folder = folder;
    reading->file = file;
    reading->n_places = 0;
    reading->start = reading->end = 0;
    reading->fd =
        openat(folder->fd, file->name,
               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (reading->fd < 0 && errno == ENOENT)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s is missing, and the index names it",
                           folder->path, file->name);
    if (reading->fd < 0)
        return folder_raise(folder, errno, "open", file->name);
    const enum hoop_status status = size_check(reading);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reading = STEAL(reading);
    return HOOP_OK;
}

/* n_bytes of the places have been read, from the first on. */
static void
places_advance(struct iovec **places, int *n_places, size_t n_bytes)
{
    while (*n_places > 0 && n_bytes >= (*places)->iov_len) {
        n_bytes -= (*places)->iov_len;
        (*places)++;
        (*n_places)--;
    }
    if (n_bytes > 0) {
        (*places)->iov_base = (uint8_t *)(*places)->iov_base + n_bytes;
        (*places)->iov_len -= n_bytes;
    }
}

enum hoop_status
reading_finish(struct reading *reading)
{
    struct iovec *places = reading->places;
    int n_places = reading->n_places;

    while (n_places > 0) {
        const ssize_t n =
            preadv(reading->fd, places, n_places, (off_t)reading->start);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return folder_raise(reading->folder, errno, "read",
                                reading->file->name);
        if (n == 0)
            return error_raise(HOOP_E_DATA_LOSS, "%s/%s ends at byte %llu",
                               reading->folder->path, reading->file->name,
                               (unsigned long long)reading->start);
        reading->start += (uint64_t)n;
        places_advance(&places, &n_places, (size_t)n);
    }
    reading->n_places = 0;
    return HOOP_OK;
}

/* Whether it continues what is not read yet, in the file and in memory. */
static bool
range_continues(const struct reading *reading, const struct range *range)
{
    if (reading->n_places == 0 || range->offset != reading->end)
        return false;
    const struct iovec *last = &reading->places[reading->n_places - 1];
    return (uint8_t *)last->iov_base + last->iov_len == range->bytes;
}

static void
place_add(struct reading *reading, void *bytes, size_t n_bytes)
{
    reading->places[reading->n_places++] = (struct iovec){bytes, n_bytes};
    reading->end += n_bytes;
}

enum hoop_status
reading_add(struct reading *reading, const struct range *range)
{
    enum hoop_status status = HOOP_OK;

    assert(range->offset >= reading->end);
    if (range_continues(reading, range)) {
        reading->places[reading->n_places - 1].iov_len += range->n_bytes;
        reading->end += range->n_bytes;
        return HOOP_OK;
    }
    /* Room for what lies between, and for the range. */
    if (reading->n_places > LIMIT_READ_RANGES - 2 ||
        range->offset - reading->end >= LIMIT_READ_GAP)
        status = reading_finish(reading);
    if (status != HOOP_OK)
        return error_pass(status);
    if (reading->n_places == 0)
        reading->start = reading->end = range->offset;
    if (range->offset > reading->end)
        place_add(reading, reading->nowhere, range->offset - reading->end);
    place_add(reading, range->bytes, range->n_bytes);
    return HOOP_OK;
}

void
reading_destroy(struct reading *reading)
{
    if (!reading)
        return;
    if (reading->fd >= 0)
        close(reading->fd);
    free(reading);
}
