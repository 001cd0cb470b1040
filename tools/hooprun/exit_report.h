/*
 * hooprun/exit_report.h - tells the workers how other workers have ended
 *
 * Only a parent knows that. So hooprun writes a line into an unnamed file, to
 * which HOOP_ENDINGS points, as soon as a worker has ended. The errors of ranks
 * that waited for it then say what happened to it.
 */

#ifndef HOOPRUN_EXIT_REPORT_H
#define HOOPRUN_EXIT_REPORT_H

#include "hooprun/outcome.h"

enum {
    EXIT_REPORT_PATH_MAX = 64,
};

struct exit_report {
    int fd; /* -1: there is no file, and nothing is written */
    char path[EXIT_REPORT_PATH_MAX];
};

/* Without memory for it, the workers go without. */
void
exit_report_open(struct exit_report *exit_report);
void
exit_report_close(struct exit_report *exit_report);

/* Write "1234 killed by signal 9 (Killed)" and, for joins that wait for it,
 * "rank 2 ended (killed by signal 9)". If pid is 0, the worker ran on another
 * host, and only the second is written. */
void
exit_report_write(const struct exit_report *exit_report,
                  const struct ending *ending);

#endif
