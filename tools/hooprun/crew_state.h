/*
 * hooprun/crew_state.h - what crew.c knows of a run, and what it says of it
 *
 * crew_report.c has the sentences on standard error.
 */

#ifndef HOOPRUN_CREW_STATE_H
#define HOOPRUN_CREW_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hooprun/ends.h"
#include "hooprun/exit_report.h"
#include "hooprun/hosts.h"
#include "hooprun/keeper.h"
#include "hooprun/outcome.h"
#include "hooprun/output.h"
#include "hooprun/worker.h"

enum {
    CREW_REASON_MAX = 256,
};

enum crew_phase {
    CREW_RUNNING,
    CREW_FAILING,
    CREW_ASKED,
    CREW_ENDING,
    CREW_KILLING,
};

struct crew {
    const struct options *options;
    const struct worker_setup *setup;
    struct keeper *keeper;
    uint32_t n_workers; /* started */
    uint32_t n_running;
    struct worker *workers;
    struct output output;
    struct outcome outcome;
    struct ending culprit; /* for whom the first failed; no reason: itself */
    char culprit_reason[CREW_REASON_MAX];
    struct exit_report exit_report;
    struct hosts *hosts; /* NULL: all workers are children of this process */
    int start_code;      /* with hosts: why no worker could be started */
    enum crew_phase phase;
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
crew_is_stopped(const struct crew *crew);

/* What is done ("killing") to those that did not end within the grace time. */
void
crew_report_stubborn(struct crew *crew, const char *what);

/* The first failure; before it who gave up and was waited for, whom the coordinator
 * knows, even where the process goes on for a while. */
void
crew_report_failure(struct crew *crew);

/* One of several, where those that are left go on. */
void
crew_report_loss(struct crew *crew, const struct ending *ending);

/* Below the first, in the order of their ends. */
void
crew_report_later(struct crew *crew, const struct ending *ending);

void
crew_report_timeout(struct crew *crew);

/* At the end: how many more have failed, and once more the first, if the lines of
 * others have moved it out of sight. */
void
crew_report_end(struct crew *crew);

#endif
