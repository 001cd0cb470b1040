/* hoop-perf/progress.h - shows the progress in one line on a terminal */

#ifndef HOOP_PERF_PROGRESS_H
#define HOOP_PERF_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* Return whether stderr is a terminal, or HOOP_PROGRESS says that it is shown
 * on one. */
bool
progress_is_wanted(void);

/* "allreduce [######....] 3/5 64K"; replaces the line shown before. */
void
progress_show(const char *name, size_t done, size_t total, const char *size);

/* Erase the line. */
void
progress_clear(void);

#endif
