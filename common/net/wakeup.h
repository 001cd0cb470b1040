/*
 * net/wakeup.h - wake a thread that sleeps on a descriptor, and track open
 * descriptors
 *
 * A wakeup also works from another process. It is a pipe: unlike an eventfd, it
 * can be opened by other processes of the same user through /proc/<pid>/fd, as
 * shared memory is (transport/shm/segment.h). They open it for reading too, but
 * never read: so it has a reader as long as anybody could write, and nobody
 * gets a SIGPIPE when its owner dies.
 *
 * Thread: any.
 */

#ifndef NET_WAKEUP_H
#define NET_WAKEUP_H

#include <stdint.h>

#include "hoop/status.h"

/* How other processes find it. */
struct wakeup_handle {
    uint32_t pid; /* in its owner's /proc */
    uint32_t fd;
    uint64_t inode; /* of the pipe: proves that it is the right one */
};

/* Create a wakeup: [0] becomes readable when it is signalled through [1]. */
enum hoop_status
wakeup_open(int out_fds[2]);
/* -1 is allowed for both. */
void
wakeup_close(int fds[2]);
/* Return the handle for other processes. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
wakeup_export(const int fds[2], struct wakeup_handle *out_place);

/* Open another process's wakeup: a descriptor for wakeup_signal() and
 * descriptor_close(). Handle: HOOP_E_UNAVAILABLE (out of reach, or no longer
 * the same). */
enum hoop_status
wakeup_import(const struct wakeup_handle *place, int *out_fd);

void
wakeup_signal(int fd);
/* Reset the wakeup: a signal after this is seen the next time. */
void
wakeup_clear(int fd);

/*
 * Track open descriptors, so that a forked child can close them.
 *
 * A forked child inherits every socket, and while it lives no peer sees its
 * parent die. Code that opens a descriptor that must not survive a fork
 * tracks it here. descriptor_close_all() in the child closes them without
 * touching the structures that own them, which other threads may have been
 * changing.
 *
 * Thread: any, except descriptor_close_all().
 */

/* -1 is allowed for both. Without memory a descriptor is not tracked. */
void
descriptor_track(int fd);
void
descriptor_close(int fd);

/* Hold the lock around a fork, so that no other thread changes the set
 * meanwhile. */
void
descriptor_lock(void);
void
descriptor_unlock(void);
/* Call with the lock, in the child, which has only one thread. */
void
descriptor_close_all(void);

#endif
