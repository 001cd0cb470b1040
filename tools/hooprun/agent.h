/*
 * hooprun/agent.h - the process that stands between hooprun and its workers
 *
 * The kernel ends workers whose parent is killed, but not what they have
 * started. So hooprun forks an agent, which starts the workers and does all
 * that is to be done. It is a subreaper: processes whose parents have ended
 * become its children. If hooprun is killed, the agent kills them all; if the
 * agent is killed, hooprun does, which is a subreaper, too. The agent leads a
 * process group of its own, so that a signal to hooprun's does not hit both.
 */

#ifndef HOOPRUN_AGENT_H
#define HOOPRUN_AGENT_H

#include <signal.h>
#include <sys/types.h>

/* What the agent knows of the process that forked it. */
struct agent_front {
    int fd;      /* readable at the latest when that process has ended */
    pid_t group; /* its process group: the terminal's, if it has one */
};

/* In the agent. Returns the exit code. front is borrowed. */
typedef int
agent_fn(void *owner, const struct agent_front *front);

/*
 * Fork the agent, pass on to it the signals of mask, which must be blocked,
 * and wait for its end. Returns in both processes: the exit code.
 */
int
agent_run(agent_fn *run, void *owner, const sigset_t *mask);

/* Kill all descendants of this process, a subreaper, but spare and its own;
 * spare may be 0. Reaps them. */
void
agent_kill_descendants(pid_t spare);

#endif
