/*
 * hooprun/host_child.h - the processes through which hooprun reaches its agents
 *
 * Their descriptors do not block. They end with this process.
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

/* Run the command that starts an agent on the host, or the agent itself where that
 * is this one. False: stderr was told why not. */
bool
host_child_start(const struct worker_setup *setup,
                 const char *host,
                 struct host_child *out_child);

/* Read standard input in hooprun's process group, since only the terminal's
 * foreground group may do that: what it reads comes through the descriptor. -1:
 * nothing does, and stderr was told why. */
int
host_input_start(const struct worker_setup *setup, pid_t *out_pid);

/* Wait for the end of a child, and kill it after most_ms; *pid is 0 then. */
void
host_child_end(pid_t *pid, int *out_wait_status, int most_ms);

#endif
