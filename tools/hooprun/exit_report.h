/*
 * hooprun/exit_report.h - tells the workers how others have ended
 *
 * Only a parent learns that. So hooprun writes a line into a file that no file
 * system knows, and that HOOP_ENDINGS names, as soon as a worker has ended: the
 * errors of those who waited for it then say what happened to it.
 */

#ifndef HOOPRUN_EXIT_REPORT_H
#define HOOPRUN_EXIT_REPORT_H

#include "hooprun/outcome.h"

enum {
    EXIT_REPORT_PATH_MAX = 64,
};

struct exit_report {
    int fd; /* -1: there is none, and nothing is written */
    char path[EXIT_REPORT_PATH_MAX];
};

/* Without memory for it, the workers do without. */
void
exit_report_open(struct exit_report *exit_report);
void
exit_report_close(struct exit_report *exit_report);

/* "1234 killed by signal 9 (Killed)", and for those who wait for it in their
 * joins, "rank 2 ended (killed by signal 9)"; that alone where the pid is 0: it
 * was another host's. */
void
exit_report_write(const struct exit_report *exit_report,
                  const struct ending *ending);

#endif
