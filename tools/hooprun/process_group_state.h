/*
 * hooprun/process_group_state.h - state of a run, shared by the process_group
 * files
 *
 * process_group_report.c prints the sentences on standard error.
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
#include "hooprun/status.h"
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
    struct status status;
    struct outcome outcome;
    struct ending culprit; /* the rank that caused the first failure; no
                              reason: that one itself */
    char culprit_reason[PROCESS_GROUP_REASON_MAX];
    struct exit_report exit_report;
    struct hosts *hosts; /* NULL: all workers are children of this process */
    int start_code;      /* with hosts: why no worker could be started */
    enum process_group_phase phase;
    int64_t phase_end_ms;
    int64_t run_end_ms;
    int64_t suspended_ms; /* since when all are stopped */
    struct ends ends;
    uint64_t n_lines_then; /* lines printed when the first failure was
                              reported */
    uint32_t n_later;      /* failures after the first, before hooprun ended
                              the workers */
    int signal_fd;
    int front_fd;
    struct pollfd *polls; /* POLL_OTHERS, then the pipes, then those of the
                             hosts */
};

/* Return whether all workers that run are stopped. */
bool
process_group_is_stopped(const struct process_group *process_group);

/* Print what is done ("killing") to those that did not end within the grace
 * time. */
void
process_group_report_kill(struct process_group *process_group,
                          const char *what);

/* Print the first failure, and before it the rank that gave up and was waited
 * for, if the coordinator knows one, even if that still runs. */
void
process_group_report_failure(struct process_group *process_group);

/* Print one of several failures, where the other workers continue. */
void
process_group_report_loss(struct process_group *process_group,
                          const struct ending *ending);

/* Print a failure after the first, in the order in which workers end. */
void
process_group_report_later(struct process_group *process_group,
                           const struct ending *ending);

void
process_group_report_timeout(struct process_group *process_group);

/* At the end, print how many more have failed, and the first failure again if
 * the lines of other ranks have scrolled it out of sight. */
void
process_group_report_end(struct process_group *process_group);

#endif
