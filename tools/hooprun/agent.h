/*
 * hooprun/agent.h - the process between hooprun and its workers
 *
 * The kernel can end workers whose parent is killed, but not what they have
 * started. So hooprun forks an agent, which starts the workers and does all the
 * work. The agent is a subreaper: processes whose parents have ended become its
 * children. If hooprun is killed, the agent kills them all. If the agent is
 * killed, hooprun does, which is a subreaper too. The agent leads its own
 * process group, so that a signal to that of hooprun does not reach both.
 */

#ifndef HOOPRUN_AGENT_H
#define HOOPRUN_AGENT_H

#include <signal.h>
#include <sys/types.h>

/* What the agent knows about the process that forked it. */
struct agent_front {
    int fd;      /* readable when that process has ended, or before */
    pid_t group; /* its process group, to which the terminal belongs if there
                    is one */
};

/* Runs in the agent. Returns the exit code. front is borrowed. */
typedef int
agent_fn(void *owner, const struct agent_front *front);

/*
 * Fork the agent, pass the signals of mask, which must be blocked, on to it,
 * and wait for its end. Returns the exit code, in both processes.
 */
int
agent_run(agent_fn *run, void *owner, const sigset_t *mask);

/* Kill and reap all descendants of this process, a subreaper, except spare and
 * its descendants. spare may be 0. */
void
agent_kill_descendants(pid_t spare);

#endif
