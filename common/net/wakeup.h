/*
 * net/wakeup.h - wakes whoever sleeps on a descriptor, also from another process
 *
 * A pipe: unlike an eventfd it can be opened by other processes of the same user
 * through /proc/<pid>/fd, as shared memory is (transport/shared_memory.h). They
 * open it for reading, too, and never read: so it has a reader as long as
 * somebody could write, and nobody gets a SIGPIPE when its owner dies.
 *
 * Thread: any.
 */

#ifndef NET_WAKEUP_H
#define NET_WAKEUP_H

#include <stdint.h>

#include "hoop/status.h"

/* Where other processes find it. */
struct wakeup_handle {
    uint32_t pid; /* as its owner's /proc says */
    uint32_t fd;
    uint64_t inode; /* of the pipe: proves that it is the right one */
};

/* Of one's own: [0] is readable once it has been rung, [1] rings. */
enum hoop_status
wakeup_open(int out_fds[2]);
/* -1 is fine for both. */
void
wakeup_close(int fds[2]);
/* Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
wakeup_export(const int fds[2], struct wakeup_handle *out_place);

/* Of another process: a descriptor that rings, for descriptor_close().
 * Handle: HOOP_E_UNAVAILABLE (not to be reached, or not what it was). */
enum hoop_status
wakeup_import(const struct wakeup_handle *place, int *out_fd);

void
wakeup_signal(int fd);
/* Whoever rings after this is heard the next time. */
void
wakeup_clear(int fd);

#endif
