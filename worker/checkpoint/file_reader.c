/* checkpoint/file_reader.c - read ranges of a file directly into their
 * places */

#include "checkpoint/file_reader.h"

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

struct file_reader {
    const struct folder *folder;
    const struct hoop_checkpoint_file *file;
    int fd;
    uint64_t start; /* of what has not been read yet */
    uint64_t end;
    int n_places;
    struct iovec places[LIMIT_READ_RANGES];
    uint8_t nowhere[LIMIT_READ_GAP];
};

static enum hoop_status
file_size_check(const struct file_reader *file_reader)
{
    const struct hoop_checkpoint_file *file = file_reader->file;
    struct stat stat;

    if (fstat(file_reader->fd, &stat) < 0)
        return folder_raise_errno(file_reader->folder, errno, "look at",
                                  file->name);
    if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size != file->n_bytes)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s has %llu bytes, the index says %llu",
                           file_reader->folder->path, file->name,
                           (unsigned long long)stat.st_size,
                           (unsigned long long)file->n_bytes);
    return HOOP_OK;
}

enum hoop_status
file_reader_create(const struct folder *folder,
                   const struct hoop_checkpoint_file *file,
                   struct file_reader **out_reader)
{
    CLEANUP(file_reader_destroy)
    struct file_reader *file_reader = malloc(sizeof(*file_reader));

    if (!file_reader)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for reading");
    file_reader->folder = folder;
    file_reader->file = file;
    file_reader->n_places = 0;
    file_reader->start = file_reader->end = 0;
    file_reader->fd =
        openat(folder->fd, file->name,
               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file_reader->fd < 0 && errno == ENOENT)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s is missing, and the index names it",
                           folder->path, file->name);
    if (file_reader->fd < 0)
        return folder_raise_errno(folder, errno, "open", file->name);
    const enum hoop_status status = file_size_check(file_reader);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reader = STEAL(file_reader);
    return HOOP_OK;
}

/* Remove the first n_bytes, which have been read, from the places. */
static void
iovecs_advance(struct iovec **places, int *n_places, size_t n_bytes)
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
file_reader_read_pending(struct file_reader *file_reader)
{
    struct iovec *places = file_reader->places;
    int n_places = file_reader->n_places;

    while (n_places > 0) {
        const ssize_t n = preadv(file_reader->fd, places, n_places,
                                 (off_t)file_reader->start);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return folder_raise_errno(file_reader->folder, errno, "read",
                                      file_reader->file->name);
        if (n == 0)
            return error_raise(HOOP_E_DATA_LOSS, "%s/%s ends at byte %llu",
                               file_reader->folder->path,
                               file_reader->file->name,
                               (unsigned long long)file_reader->start);
        file_reader->start += (uint64_t)n;
        iovecs_advance(&places, &n_places, (size_t)n);
    }
    file_reader->n_places = 0;
    return HOOP_OK;
}

/* Whether the range continues the last pending one, both in the file and in
 * memory. */
static bool
range_is_contiguous(const struct file_reader *file_reader,
                    const struct file_range *range)
{
    if (file_reader->n_places == 0 || range->offset != file_reader->end)
        return false;
    const struct iovec *last = &file_reader->places[file_reader->n_places - 1];
    return (uint8_t *)last->iov_base + last->iov_len == range->bytes;
}

static void
iovec_append(struct file_reader *file_reader, void *bytes, size_t n_bytes)
{
    file_reader->places[file_reader->n_places++] =
        (struct iovec){bytes, n_bytes};
    file_reader->end += n_bytes;
}

enum hoop_status
file_reader_add_range(struct file_reader *file_reader,
                      const struct file_range *range)
{
    enum hoop_status status = HOOP_OK;

    assert(range->offset >= file_reader->end);
    if (range_is_contiguous(file_reader, range)) {
        file_reader->places[file_reader->n_places - 1].iov_len +=
            range->n_bytes;
        file_reader->end += range->n_bytes;
        return HOOP_OK;
    }
    /* Up to two places are needed, for the gap and for the range. */
    if (file_reader->n_places > LIMIT_READ_RANGES - 2 ||
        range->offset - file_reader->end >= LIMIT_READ_GAP)
        status = file_reader_read_pending(file_reader);
    if (status != HOOP_OK)
        return error_pass(status);
    if (file_reader->n_places == 0)
        file_reader->start = file_reader->end = range->offset;
    if (range->offset > file_reader->end)
        iovec_append(file_reader, file_reader->nowhere,
                     range->offset - file_reader->end);
    iovec_append(file_reader, range->bytes, range->n_bytes);
    return HOOP_OK;
}

void
file_reader_destroy(struct file_reader *file_reader)
{
    if (!file_reader)
        return;
    if (file_reader->fd >= 0)
        close(file_reader->fd);
    free(file_reader);
}
