/* checkpoint/file.c - name, write and read the files of a checkpoint */

#include "checkpoint/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "checkpoint/folder.h"

static enum hoop_status
status_from_errno(int error)
{
    if (error == ENOENT || error == ENOTDIR)
        return HOOP_E_NOT_FOUND;
    if (error == EACCES || error == EPERM || error == EROFS)
        return HOOP_E_DENIED;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG ||
        error == ENOMEM || error == EMFILE || error == ENFILE)
        return HOOP_E_EXHAUSTED;
    if (error == EIO)
        return HOOP_E_DATA_LOSS;
    return HOOP_E_UNAVAILABLE;
}

enum hoop_status
file_raise_errno(const struct folder *folder,
                 int error,
                 const char *action,
                 const char *name)
{
    return error_raise(status_from_errno(error), "cannot %s %s%s%s: %s", action,
                       folder->path, name ? "/" : "", name ? name : "",
                       strerrordesc_np(error));
}

/*
 * Write a new file sequentially.
 *
 * A process that exceeds its limit on file sizes gets SIGXFSZ, which would
 * end the user's process. So the thread blocks the signal while it writes,
 * and consumes it if its own write has caused it.
 */

enum {
    FILE_PAD_ALIGNMENT_MAX = 64
};

struct file_writer {
    const struct folder *folder;
    const char *name;
    int fd; /* -1: finished */
    uint64_t n_bytes;
    struct digest *digest;
};

enum hoop_status
file_writer_create(const struct folder *folder,
                   const char *name,
                   struct file_writer **out_writer)
{
    CLEANUP(digest_destroy) struct digest *digest = NULL;
    CLEANUP(free)
    struct file_writer *file_writer = calloc(1, sizeof(*file_writer));

    if (!file_writer)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a file");
    const enum hoop_status status = digest_create(&digest);
    if (status != HOOP_OK)
        return error_pass(status);
    *file_writer = (struct file_writer){.folder = folder, .name = name};
    file_writer->fd =
        openat(folder->fd, name,
               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_writer->fd < 0)
        return file_raise_errno(folder, errno, "create", name);
    file_writer->digest = STEAL(digest);
    *out_writer = STEAL(file_writer);
    return HOOP_OK;
}

/* write() without SIGXFSZ. */
static ssize_t
write_without_sigxfsz(int fd, const void *bytes, size_t n_bytes)
{
    static const struct timespec at_once = {0};
    sigset_t limit;
    sigset_t before;
    sigset_t pending;

    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    const ssize_t n = write(fd, bytes, n_bytes);
    const int error = errno;
    if (n < 0 && error == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return n;
}

/* Append up to LIMIT_WRITE bytes. */
static enum hoop_status
file_writer_append_chunk(struct file_writer *file_writer,
                         const uint8_t *bytes,
                         size_t n_bytes)
{
    digest_add(file_writer->digest, bytes, n_bytes);
    while (n_bytes > 0) {
        const ssize_t n =
            write_without_sigxfsz(file_writer->fd, bytes, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_raise_errno(file_writer->folder, errno, "write",
                                    file_writer->name);
        bytes += n;
        n_bytes -= (size_t)n;
        file_writer->n_bytes += (uint64_t)n;
    }
    return HOOP_OK;
}

enum hoop_status
file_writer_append(struct file_writer *file_writer,
                   const void *bytes,
                   size_t n_bytes)
{
    for (size_t at = 0; at < n_bytes; at += LIMIT_WRITE) {
        const size_t n_left = n_bytes - at;
        const enum hoop_status status = file_writer_append_chunk(
            file_writer, (const uint8_t *)bytes + at,
            n_left < LIMIT_WRITE ? n_left : LIMIT_WRITE);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
file_writer_pad(struct file_writer *file_writer, size_t alignment)
{
    static const uint8_t zeros[FILE_PAD_ALIGNMENT_MAX];
    const size_t n_over = file_writer->n_bytes % alignment;

    assert(alignment <= FILE_PAD_ALIGNMENT_MAX);
    if (n_over == 0)
        return HOOP_OK;
    return file_writer_append(file_writer, zeros, alignment - n_over);
}

enum hoop_status
file_writer_sync_and_close(struct file_writer *file_writer,
                           struct written_file *out_written)
{
    if (fsync(file_writer->fd) < 0)
        return file_raise_errno(file_writer->folder, errno, "sync",
                                file_writer->name);
    const int fd = file_writer->fd;
    file_writer->fd = -1;
    if (close(fd) < 0)
        return file_raise_errno(file_writer->folder, errno, "close",
                                file_writer->name);
    *out_written = (struct written_file){file_writer->n_bytes,
                                         digest_value(file_writer->digest)};
    return HOOP_OK;
}

void
file_writer_destroy(struct file_writer *file_writer)
{
    if (!file_writer)
        return;
    if (file_writer->fd >= 0)
        close(file_writer->fd);
    digest_destroy(file_writer->digest);
    free(file_writer);
}

void
file_writer_discard(struct file_writer *file_writer)
{
    if (file_writer)
        unlinkat(file_writer->folder->fd, file_writer->name, 0);
    file_writer_destroy(file_writer);
}

/* The names of a checkpoint's files. */

void
file_name_format(const struct file_name *name,
                 char out_text[FILE_NAME_BUFFER_BYTES])
{
    switch (name->kind) {
    case FILE_NAME_PART:
        snprintf(out_text, FILE_NAME_BUFFER_BYTES,
                 "hoop-%" PRIu64 "-%016" PRIx64 "-%" PRIu32 ".part",
                 name->generation, name->token, name->place);
        return;
    case FILE_NAME_INDEX:
        snprintf(out_text, FILE_NAME_BUFFER_BYTES,
                 "hoop-%" PRIu64 "-%016" PRIx64 ".index", name->generation,
                 name->token);
        return;
    }
}

bool
file_name_parse(const char *text, struct file_name *out_name)
{
    struct file_name name = {.kind = FILE_NAME_PART};
    char again[FILE_NAME_BUFFER_BYTES];

    if (strlen(text) >= FILE_NAME_BUFFER_BYTES)
        return false;
    const int n_fields =
        sscanf(text, "hoop-%20" SCNu64 "-%16" SCNx64 "-%10" SCNu32,
               &name.generation, &name.token, &name.place);
    if (n_fields < 2)
        return false;
    if (n_fields == 2)
        name.kind = FILE_NAME_INDEX;
    /* The name is hoop's only if file_name_format() would have written it. */
    file_name_format(&name, again);
    if (strcmp(again, text) != 0)
        return false;
    *out_name = name;
    return true;
}

/* Read ranges of a file directly into their places. */

struct file_reader {
    const struct folder *folder;
    const struct hoop_checkpoint_file *file;
    int fd;
    uint64_t start; /* of what has not been read yet */
    uint64_t end;
    int n_pending_iovecs;
    struct iovec places[LIMIT_READ_RANGES];
    uint8_t nowhere[LIMIT_READ_GAP];
};

static enum hoop_status
file_size_check(const struct file_reader *file_reader)
{
    const struct hoop_checkpoint_file *file = file_reader->file;
    struct stat stat;

    if (fstat(file_reader->fd, &stat) < 0)
        return file_raise_errno(file_reader->folder, errno, "look at",
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
    file_reader->n_pending_iovecs = 0;
    file_reader->start = file_reader->end = 0;
    file_reader->fd =
        openat(folder->fd, file->name,
               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (file_reader->fd < 0 && errno == ENOENT)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s is missing, and the index names it",
                           folder->path, file->name);
    if (file_reader->fd < 0)
        return file_raise_errno(folder, errno, "open", file->name);
    const enum hoop_status status = file_size_check(file_reader);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reader = STEAL(file_reader);
    return HOOP_OK;
}

/* Remove the first n_bytes, which have been read, from the places. */
static void
iovecs_advance(struct iovec **places, int *n_pending_iovecs, size_t n_bytes)
{
    while (*n_pending_iovecs > 0 && n_bytes >= (*places)->iov_len) {
        n_bytes -= (*places)->iov_len;
        (*places)++;
        (*n_pending_iovecs)--;
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
    int n_pending_iovecs = file_reader->n_pending_iovecs;

    while (n_pending_iovecs > 0) {
        const ssize_t n = preadv(file_reader->fd, places, n_pending_iovecs,
                                 (off_t)file_reader->start);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return file_raise_errno(file_reader->folder, errno, "read",
                                    file_reader->file->name);
        if (n == 0)
            return error_raise(HOOP_E_DATA_LOSS, "%s/%s ends at byte %llu",
                               file_reader->folder->path,
                               file_reader->file->name,
                               (unsigned long long)file_reader->start);
        file_reader->start += (uint64_t)n;
        iovecs_advance(&places, &n_pending_iovecs, (size_t)n);
    }
    file_reader->n_pending_iovecs = 0;
    return HOOP_OK;
}

/* Whether the range continues the last pending one, both in the file and in
 * memory. */
static bool
range_continues_pending(const struct file_reader *file_reader,
                        const struct file_range *range)
{
    if (file_reader->n_pending_iovecs == 0 || range->offset != file_reader->end)
        return false;
    const struct iovec *last =
        &file_reader->places[file_reader->n_pending_iovecs - 1];
    return (uint8_t *)last->iov_base + last->iov_len == range->bytes;
}

static void
iovec_append(struct file_reader *file_reader, void *bytes, size_t n_bytes)
{
    file_reader->places[file_reader->n_pending_iovecs++] =
        (struct iovec){bytes, n_bytes};
    file_reader->end += n_bytes;
}

enum hoop_status
file_reader_add_range(struct file_reader *file_reader,
                      const struct file_range *range)
{
    enum hoop_status status = HOOP_OK;

    assert(range->offset >= file_reader->end);
    if (range_continues_pending(file_reader, range)) {
        file_reader->places[file_reader->n_pending_iovecs - 1].iov_len +=
            range->n_bytes;
        file_reader->end += range->n_bytes;
        return HOOP_OK;
    }
    /* Up to two places are needed, for the gap and for the range. */
    if (file_reader->n_pending_iovecs > LIMIT_READ_RANGES - 2 ||
        range->offset - file_reader->end >= LIMIT_READ_GAP)
        status = file_reader_read_pending(file_reader);
    if (status != HOOP_OK)
        return error_pass(status);
    if (file_reader->n_pending_iovecs == 0)
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
