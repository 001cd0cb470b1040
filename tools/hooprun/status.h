/*
 * hooprun/status.h - a process that asks the coordinator how the job is doing
 *
 * A coordinator may take its time to answer, and hooprun must not wait for it.
 * So a process of its own asks, and writes a line into a pipe each time.
 */

#ifndef HOOPRUN_STATUS_H
#define HOOPRUN_STATUS_H

#include <stdbool.h>

#include "hooprun/status_text.h"
#include "hooprun/worker.h"

struct supervisor;

struct status {
    int fd; /* to read; -1: there is no such process */
    size_t n_bytes;
    char bytes[STATUS_TEXT_MAX]; /* of a line that is not complete */
};

/* Return whether a status line can be shown: on a terminal that can erase it,
 * on which no other process writes lines. */
bool
status_is_wanted(const struct options *options);

/* Fork the process, if a line is wanted. It ends when the pipe is closed. supervisor
 * may be NULL. Without a process, status->fd is -1. */
void
status_start(struct status *status,
             const struct worker_setup *setup,
             const struct supervisor *supervisor);

/* Read what is there. Returns the last complete line, which is valid until the
 * next call, or NULL. Closes the pipe at its end. */
const char *
status_read(struct status *status);

void
status_stop(struct status *status);

#endif
