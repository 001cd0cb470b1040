/* hoop-perf/progress.h - one line on a terminal that says how far we are */

#ifndef HOOP_PERF_PROGRESS_H
#define HOOP_PERF_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* stderr is a terminal, or HOOP_PROGRESS says that it ends on one. */
bool
progress_is_wanted(void);

/* "allreduce [######....] 3/5 64K"; replaces the line shown before. */
void
progress_show(const char *name, size_t done, size_t total, const char *size);

/* Take the line away again. */
void
progress_clear(void);

#endif
