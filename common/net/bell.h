/*
 * net/bell.h - wakes whoever sleeps on a descriptor, also from another process
 *
 * A pipe: unlike an eventfd it can be opened by other processes of the same user
 * through /proc/<pid>/fd, as shared memory is (transport/shared_memory.h). They
 * open it for reading, too, and never read: so it has a reader as long as
 * somebody could write, and nobody gets a SIGPIPE when its owner dies.
 *
 * Thread: any.
 */

#ifndef NET_BELL_H
#define NET_BELL_H

#include <stdint.h>

#include "hoop/status.h"

/* Where other processes find it. */
struct bell_place {
    uint32_t pid; /* as its owner's /proc says */
    uint32_t fd;
    uint64_t inode; /* of the pipe: proves that it is the right one */
};

/* Of one's own: [0] is readable once it has been rung, [1] rings. */
enum hoop_status
bell_open(int out_fds[2]);
/* -1 is fine for both. */
void
bell_close(int fds[2]);
/* Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
bell_locate(const int fds[2], struct bell_place *out_place);

/* Of another process: a descriptor that rings, for descriptor_close().
 * Handle: HOOP_E_UNAVAILABLE (not to be reached, or not what it was). */
enum hoop_status
bell_reach(const struct bell_place *place, int *out_fd);

void
bell_ring(int fd);
/* Whoever rings after this is heard the next time. */
void
bell_silence(int fd);

#endif
