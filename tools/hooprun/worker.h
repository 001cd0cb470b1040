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

/* Shared by all workers of a run. Borrowed for workers_start(). */
struct worker_setup {
    const struct options *options;
    const struct agent_front *front;
    const char *coordinator; /* with hosts: its addresses, to be tried */
    const char *endings;     /* path of the exit_report; "": none */
    const char *records;     /* folder for their records; "": none, or that of
                                the environment */
    const struct ends *ends; /* records the order in which they end */
    const char *token;       /* NULL: keep that of the environment */
    uint32_t n_restarts;     /* restarts so far, of all workers */
    const struct worker_node
        *node;                  /* node of all workers started here; NULL: as
                                   the options say */
    const char *master_address; /* of rank 0's host */
    const char *master_port;    /* a port that was free there, on which rank
                                   0 can listen */
    int input_fd;       /* standard input of rank 0; -1: hooprun's own */
    int64_t run_end_ms; /* deadline of all workers; 0: none, or not known yet */
    bool has_terminal;  /* rank 0 may draw a progress line */
    sigset_t *old_mask; /* signal mask of the program */
    sighandler_t xfsz_action; /* the program's action for SIGXFSZ */
};

struct worker {
    uint32_t rank;
    struct host *host; /* NULL: it is a child of this process */
    pid_t pid;         /* on the host where it runs */
    int stop_signal; /* on another host: the signal that stopped it; 0: none */
    bool is_running; /* from workers_start() until it was reaped */
    bool has_group;  /* it leads its own process group */
    int out_fd;      /* -1: inherited, or it has ended */
    int err_fd;
};

/*
 * Fork and exec workers of consecutive ranks; returns when all have executed
 * the program.
 *
 * The first one is started alone, so that a program that cannot be run is
 * reported only once, on stderr. Whatever is returned, the first *out_n_started
 * of workers are now children of this process; one that could not exec ends
 * with 127. Each is added to setup's ends, by its rank, before the next one is
 * forked.
 *
 * Handle: HOOP_E_NOT_FOUND and HOOP_E_DENIED (the program), HOOP_E_EXHAUSTED.
 *
 * Thread: the process must have only one thread.
 */
HOOP_NODISCARD enum hoop_status
workers_start(const struct worker_setup *setup,
              uint32_t first_rank,
              uint32_t n_workers,
              struct worker *workers,
              uint32_t *out_n_started);

/* Send it to the whole group, if it has one. Only while it is running, and a
 * child of this process. */
void
worker_signal(const struct worker *worker, int signal_number);

#endif
