/*
 * hooprun/process_group_state.h - what process_group.c knows of a run, and what it says of it
 *
 * process_group_report.c has the sentences on standard error.
 */

#ifndef HOOPRUN_PROCESS_GROUP_STATE_H
#define HOOPRUN_PROCESS_GROUP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hooprun/ends.h"
#include "hooprun/exit_report.h"
#include "hooprun/hosts.h"
#include "hooprun/outcome.h"
#include "hooprun/output.h"
#include "hooprun/supervisor.h"
#include "hooprun/worker.h"

enum {
    PROCESS_GROUP_REASON_MAX = 256,
};

enum process_group_phase {
    PROCESS_GROUP_RUNNING,
    PROCESS_GROUP_FAILING,
    PROCESS_GROUP_TERMINATING,
    PROCESS_GROUP_ENDING,
    PROCESS_GROUP_KILLING,
};

struct process_group {
    const struct options *options;
    const struct worker_setup *setup;
    struct supervisor *supervisor;
    uint32_t n_workers; /* started */
    uint32_t n_running;
    struct worker *workers;
    struct output output;
    struct outcome outcome;
    struct ending culprit; /* for whom the first failed; no reason: itself */
    char culprit_reason[PROCESS_GROUP_REASON_MAX];
    struct exit_report exit_report;
    struct hosts *hosts; /* NULL: all workers are children of this process */
    int start_code;      /* with hosts: why no worker could be started */
    enum process_group_phase phase;
    int64_t phase_end_ms;
    int64_t run_end_ms;
    int64_t suspended_ms; /* since when all stand still */
    struct ends ends;
    uint64_t n_lines_then; /* printed when the first failure was told */
    uint32_t n_later;      /* failures after the first, of their own accord */
    int signal_fd;
    int front_fd;
    struct pollfd *polls; /* POLL_OTHERS, then the pipes, then the hosts' */
};

/* Whether all workers that run are stopped. */
bool
process_group_is_stopped(const struct process_group *process_group);

/* What is done ("killing") to those that did not end within the grace time. */
void
process_group_report_kill(struct process_group *process_group,
                          const char *what);

/* The first failure; before it who gave up and was waited for, whom the coordinator
 * knows, even where the process goes on for a while. */
void
process_group_report_failure(struct process_group *process_group);

/* One of several, where those that are left go on. */
void
process_group_report_loss(struct process_group *process_group,
                          const struct ending *ending);

/* Below the first, in the order of their ends. */
void
process_group_report_later(struct process_group *process_group,
                           const struct ending *ending);

void
process_group_report_timeout(struct process_group *process_group);

/* At the end: how many more have failed, and once more the first, if the lines of
 * others have moved it out of sight. */
void
process_group_report_end(struct process_group *process_group);

#endif
