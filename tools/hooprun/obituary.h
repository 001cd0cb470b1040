/*
 * hooprun/obituary.h - tells the workers how others have ended
 *
 * Only a parent learns that. So hooprun writes a line into a file that no file
 * system knows, and that HOOP_ENDINGS names, as soon as a worker has ended: the
 * errors of those who waited for it then say what happened to it.
 */

#ifndef HOOPRUN_OBITUARY_H
#define HOOPRUN_OBITUARY_H

#include "hooprun/outcome.h"

enum {
    OBITUARY_PATH_MAX = 64,
};

struct obituary {
    int fd; /* -1: there is none, and nothing is written */
    char path[OBITUARY_PATH_MAX];
};

/* Without memory for it, the workers do without. */
void
obituary_open(struct obituary *obituary);
void
obituary_close(struct obituary *obituary);

/* "1234 killed by signal 9 (Killed)", and for those who wait for it in their
 * joins, "rank 2 ended (killed by signal 9)"; that alone where the pid is 0: it
 * was another host's. */
void
obituary_write(const struct obituary *obituary, const struct ending *ending);

#endif
