/*
 * checkpoint/file_writer.c - write a new file sequentially
 *
 * A process that exceeds its limit on file sizes gets SIGXFSZ, which would end
 * the user's process. So the thread blocks the signal while it writes, and
 * consumes it if its own write has caused it.
 */

#include "checkpoint/file_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "checkpoint/folder.h"

enum {
    ALIGNMENT_MAX = 64
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
        return folder_raise_errno(folder, errno, "create", name);
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
            return folder_raise_errno(file_writer->folder, errno, "write",
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
    static const uint8_t zeros[ALIGNMENT_MAX];
    const size_t n_over = file_writer->n_bytes % alignment;

    assert(alignment <= ALIGNMENT_MAX);
    if (n_over == 0)
        return HOOP_OK;
    return file_writer_append(file_writer, zeros, alignment - n_over);
}

enum hoop_status
file_writer_sync_and_close(struct file_writer *file_writer,
                           struct written_file *out_written)
{
    if (fsync(file_writer->fd) < 0)
        return folder_raise_errno(file_writer->folder, errno, "sync",
                                  file_writer->name);
    const int fd = file_writer->fd;
    file_writer->fd = -1;
    if (close(fd) < 0)
        return folder_raise_errno(file_writer->folder, errno, "close",
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
