/*
 * hooprun/ends.h - in which order workers have ended
 *
 * Signals of children come together, and wait() names children in the order in
 * which they were started. A descriptor of each process in one epoll has them in
 * the order in which they ended. Where there is none (no descriptors left), a
 * worker is found by wait() alone.
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

/* A child that is not reaped yet. number is given back by ends_next(). */
void
ends_add(const struct ends *ends, uint32_t number, pid_t pid);

/* The number of the child that has ended next, and is not reaped yet; -1: none.
 * Each is told once. */
int64_t
ends_next(const struct ends *ends);

#endif
