/*
 * hooprun/ends.h - finds the order in which workers have ended
 *
 * Signals of children are merged, and wait() reports children in the order in
 * which they were started. An epoll descriptor with a descriptor of each
 * process gives the order in which they ended. Without it (no descriptors
 * left), a worker is only found by wait().
 */

#ifndef HOOPRUN_ENDS_H
#define HOOPRUN_ENDS_H

#include <stdint.h>
#include <sys/types.h>

struct ends {
    int epoll_fd; /* -1: there is none */
};

void
ends_open(struct ends *ends);
void
ends_close(struct ends *ends);

/* Add a child that is not reaped yet. ends_next() returns number. */
void
ends_add(const struct ends *ends, uint32_t number, pid_t pid);

/* Return the number of the next child that has ended and is not reaped; -1:
 * none. Each is returned once. */
int64_t
ends_next(const struct ends *ends);

#endif
