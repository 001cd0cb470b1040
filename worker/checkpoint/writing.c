/*
 * checkpoint/writing.c - a new file, written from its beginning to its end
 *
 * A process that exceeds its limit on the size of files gets a signal that ends
 * it. It is kept from the user's process: the thread blocks it while it writes,
 * and takes it out if its own write has caused it.
 */

#include "checkpoint/writing.h"

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

struct writing {
    const struct folder *folder;
    const char *name;
    int fd; /* -1: finished */
    uint64_t n_bytes;
    struct digest *digest;
};

enum hoop_status
writing_create(const struct folder *folder,
               const char *name,
               struct writing **out_writing)
{
    CLEANUP(digest_destroy) struct digest *digest = NULL;
    CLEANUP(free) struct writing *writing = calloc(1, sizeof(*writing));

    if (!writing)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a file");
    const enum hoop_status status = digest_create(&digest);
    if (status != HOOP_OK)
        return error_pass(status);
    *writing = (struct writing){.folder = folder, .name = name};
    writing->fd =
        openat(folder->fd, name,
               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (writing->fd < 0)
        return folder_raise(folder, errno, "create", name);
    writing->digest = STEAL(digest);
    *out_writing = STEAL(writing);
    return HOOP_OK;
}

/* write(), without SIGXFSZ. */
static ssize_t
write_quietly(int fd, const void *bytes, size_t n_bytes)
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

/* Up to LIMIT_WRITE of them. */
static enum hoop_status
chunk_add(struct writing *writing, const uint8_t *bytes, size_t n_bytes)
{
    digest_add(writing->digest, bytes, n_bytes);
    while (n_bytes > 0) {
        const ssize_t n = write_quietly(writing->fd, bytes, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return folder_raise(writing->folder, errno, "write", writing->name);
        bytes += n;
        n_bytes -= (size_t)n;
        writing->n_bytes += (uint64_t)n;
    }
    return HOOP_OK;
}

enum hoop_status
writing_add(struct writing *writing, const void *bytes, size_t n_bytes)
{
    for (size_t at = 0; at < n_bytes; at += LIMIT_WRITE) {
        const size_t n_left = n_bytes - at;
        const enum hoop_status status =
            chunk_add(writing, (const uint8_t *)bytes + at,
                      n_left < LIMIT_WRITE ? n_left : LIMIT_WRITE);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
writing_align(struct writing *writing, size_t alignment)
{
    static const uint8_t zeros[ALIGNMENT_MAX];
    const size_t n_over = writing->n_bytes % alignment;

    assert(alignment <= ALIGNMENT_MAX);
    if (n_over == 0)
        return HOOP_OK;
    return writing_add(writing, zeros, alignment - n_over);
}

enum hoop_status
writing_finish(struct writing *writing, struct written *out_written)
{
    if (fsync(writing->fd) < 0)
        return folder_raise(writing->folder, errno, "sync", writing->name);
    const int fd = writing->fd;
    writing->fd = -1;
    if (close(fd) < 0)
        return folder_raise(writing->folder, errno, "close", writing->name);
    *out_written =
        (struct written){writing->n_bytes, digest_value(writing->digest)};
    return HOOP_OK;
}

void
writing_destroy(struct writing *writing)
{
    if (!writing)
        return;
    if (writing->fd >= 0)
        close(writing->fd);
    digest_destroy(writing->digest);
    free(writing);
}

void
writing_abandon(struct writing *writing)
{
    if (writing)
        unlinkat(writing->folder->fd, writing->name, 0);
    writing_destroy(writing);
}
