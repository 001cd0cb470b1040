/* hooprun/worker.h - one worker: its process, its environment, its pipes */

#ifndef HOOPRUN_WORKER_H
#define HOOPRUN_WORKER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoop/status.h"

#include "hooprun/agent.h"
#include "hooprun/ends.h"
#include "hooprun/options.h"

struct host;

/* The ranks of one node, which are consecutive. */
struct worker_node {
    uint32_t number;
    uint32_t n_nodes;
    uint32_t first_rank;
    uint32_t n_ranks;
};

/* What all workers of a run share. Borrowed for workers_start(). */
struct worker_setup {
    const struct options *options;
    const struct agent_front *front;
    const char *coordinator; /* with hosts: addresses of it, to be tried */
    const char *endings;     /* the path of an exit_report; "": there is none */
    const struct ends *ends; /* in which order they end */
    const char *token;       /* NULL: leave what the environment has */
    uint32_t n_restarts;     /* so far, of all workers */
    const struct worker_node
        *node;                  /* of all that are started here; NULL: as the
                                       options say */
    const char *master_address; /* of rank 0's host */
    const char *master_port;    /* was free there; for rank 0 to listen on */
    int input_fd;       /* standard input of rank 0; -1: hooprun's own */
    int64_t run_end_ms; /* of all of them; 0: it is not known yet, or never */
    bool has_terminal;  /* rank 0 may draw a progress line */
    sigset_t *old_mask; /* what the program's signal mask shall be */
    sighandler_t xfsz_action; /* and its action for SIGXFSZ */
};

struct worker {
    uint32_t rank;
    struct host *host; /* NULL: it is a child of this process */
    pid_t pid;         /* where it runs */
    int stop_signal; /* on another host: by which it is stopped; 0: it is not */
    bool is_running; /* from workers_start() until it was reaped */
    bool has_group;  /* it leads a process group of its own */
    int out_fd;      /* -1: inherited, or at its end */
    int err_fd;
};

/*
 * Fork and exec workers of consecutive ranks; returns when the program has been
 * executed by all. The first goes alone: where the program cannot be run, it is
 * told of once, on stderr. out_n_started are children of this process now, the
 * first ones of workers, whatever is returned; one that has not been executed
 * ends with 127. Each is added to setup's ends, by its rank, before the next is forked.
 *
 * Handle: HOOP_E_NOT_FOUND and HOOP_E_DENIED (the program), HOOP_E_EXHAUSTED.
 * Thread: the process must have one only.
 */
HOOP_NODISCARD enum hoop_status
workers_start(const struct worker_setup *setup,
              uint32_t first_rank,
              uint32_t n_workers,
              struct worker *workers,
              uint32_t *out_n_started);

/* To its whole group, if it has one. Only while it is running, and of this
 * process. */
void
worker_signal(const struct worker *worker, int signal_number);

#endif
