/* net/wakeup.c - wake a thread that sleeps on a descriptor, also from another
 * process */

#include "net/wakeup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/resource_limit.h"
#include "net/descriptor.h"
#include "net/proc.h"

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
        return error_raise(HOOP_E_UNAVAILABLE, "no bell: %s", strerror(errno));
    place.inode = file.st_ino;
    *out_place = place;
    return HOOP_OK;
}

static enum hoop_status
wakeup_unreachable_raise(const struct wakeup_handle *place, const char *why)
{
    return error_raise(HOOP_E_UNAVAILABLE,
                       "the bell of process %u is out of reach: %s", place->pid,
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
