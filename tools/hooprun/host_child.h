/*
 * hooprun/host_child.h - the processes through which hooprun reaches its agents
 *
 * Their descriptors do not block. The processes end when this one ends.
 */

#ifndef HOOPRUN_HOST_CHILD_H
#define HOOPRUN_HOST_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "hooprun/worker.h"

struct host_child {
    pid_t pid;
    int in_fd;  /* its standard input, to be written */
    int out_fd; /* its standard output and error, to be read */
    int err_fd;
};

/* Run the command that starts an agent on the host, or the agent itself if the
 * host is this one. Return false on failure, after printing why to stderr. */
bool
host_child_start(const struct worker_setup *setup,
                 const char *host,
                 struct host_child *out_child);

/* Start a process that reads standard input in hooprun's process group, since
 * only the terminal's foreground group may read it. What it reads comes through
 * the returned descriptor; -1: failed, after printing why to stderr. */
int
host_input_start(const struct worker_setup *setup, pid_t *out_pid);

/* Wait for the end of a child, and kill it after most_ms. Sets *pid to 0. */
void
host_child_end(pid_t *pid, int *out_wait_status, int most_ms);

#endif
