/* net/wakeup.c - wake a thread that sleeps on a descriptor, and track open
 * descriptors */

#include "net/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "net/port_owner.h"

/* Track open descriptors, so that a forked child can close them. */

enum {
    WORD_BITS = 64,
};

/* One bit per descriptor; numbers are small, because the kernel always assigns
 * the lowest free one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t *words;
static size_t n_words;

static uint64_t
descriptor_bit(int fd)
{
    return (uint64_t)1 << ((size_t)fd % WORD_BITS);
}

static size_t
descriptor_word_index(int fd)
{
    return (size_t)fd / WORD_BITS;
}

/* Make room for fd. Called with the lock. */
static uint64_t *
descriptor_bitmap_grow(int fd)
{
    const size_t n_wanted = descriptor_word_index(fd) + 1;

    if (n_wanted <= n_words)
        return words;

    uint64_t *grown = reallocarray(words, 2 * n_wanted, sizeof(*words));
    if (!grown)
        return NULL;
    memset(grown + n_words, 0, (2 * n_wanted - n_words) * sizeof(*words));
    n_words = 2 * n_wanted;
    words = grown;
    return words;
}

void
descriptor_track(int fd)
{
    if (fd < 0)
        return;
    descriptor_lock();
    if (descriptor_bitmap_grow(fd))
        words[descriptor_word_index(fd)] |= descriptor_bit(fd);
    descriptor_unlock();
}

void
descriptor_close(int fd)
{
    if (fd < 0)
        return;
    /* Clear the bit and close under one lock: the number may be reused as soon
     * as it is closed. */
    descriptor_lock();
    if (descriptor_word_index(fd) < n_words)
        words[descriptor_word_index(fd)] &= ~descriptor_bit(fd);
    close(fd);
    descriptor_unlock();
}

void
descriptor_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
descriptor_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void
descriptor_close_all(void)
{
    for (size_t i = 0; i < n_words; i++) {
        for (int bit = 0; bit < WORD_BITS; bit++) {
            if (words[i] >> bit & 1)
                close((int)i * WORD_BITS + bit);
        }
        words[i] = 0;
    }
}

/* Wake a thread, also one of another process. */

enum {
    TEXT_BYTES = 64,
    RINGS_MAX = 512, /* bytes read at once */
};

enum hoop_status
wakeup_open(int out_fds[2])
{
    char why[RESOURCE_LIMIT_TEXT];
    int fds[2];

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return error_raise(
            HOOP_E_EXHAUSTED, "no pipe: %s",
            resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));
    for (unsigned i = 0; i < 2; i++) {
        descriptor_track(fds[i]);
        out_fds[i] = fds[i];
    }
    return HOOP_OK;
}

void
wakeup_close(int fds[2])
{
    for (unsigned i = 0; i < 2; i++) {
        descriptor_close(fds[i]);
        fds[i] = -1;
    }
}

enum hoop_status
wakeup_export(const int fds[2], struct wakeup_handle *out_place)
{
    struct wakeup_handle place = {.fd = (uint32_t)fds[1]};
    struct stat file;

    const enum hoop_status status = proc_own_pid(&place.pid);
    if (status != HOOP_OK)
        return error_pass(status);
    if (fstat(fds[1], &file) != 0)
        return error_raise(HOOP_E_UNAVAILABLE, "no wake-up descriptor: %s",
                           strerror(errno));
    place.inode = file.st_ino;
    *out_place = place;
    return HOOP_OK;
}

static enum hoop_status
wakeup_unreachable_raise(const struct wakeup_handle *place, const char *why)
{
    return error_raise(
        HOOP_E_UNAVAILABLE,
        "the wake-up descriptor of process %u cannot be opened: %s", place->pid,
        why);
}

enum hoop_status
wakeup_import(const struct wakeup_handle *place, int *out_fd)
{
    char path[TEXT_BYTES];
    char expected[TEXT_BYTES];
    char found[TEXT_BYTES];

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", place->pid, place->fd);
    snprintf(expected, sizeof(expected), "pipe:[%" PRIu64 "]", place->inode);
    /* Check what it is before opening it, because opening may have effects. */
    const ssize_t n = readlink(path, found, sizeof(found) - 1);
    if (n < 0)
        return wakeup_unreachable_raise(place, strerror(errno));
    found[n] = '\0';
    if (strcmp(found, expected) != 0)
        return wakeup_unreachable_raise(place,
                                        "another process has its number here");
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return wakeup_unreachable_raise(place, strerror(errno));
    descriptor_track(fd);
    *out_fd = fd;
    return HOOP_OK;
}

void
wakeup_signal(int fd)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    static const uint8_t one = 1;

    /* A write fails only if the pipe is full, and then it is readable
     * already. */
    if (write(fd, &one, sizeof(one)) < 0)
        return;
}

void
wakeup_clear(int fd)
{
    uint8_t signal_bytes[RINGS_MAX];

    while (read(fd, signal_bytes, sizeof(signal_bytes)) ==
           (ssize_t)sizeof(signal_bytes))
        ;
}
