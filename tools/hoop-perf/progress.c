/* hoop-perf/progress.c - shows the progress in one line on a terminal */

#include "hoop-perf/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "variable.h"

enum {
    BAR_CELLS = 24,
};

bool
progress_is_wanted(void)
{
    const char *asked = variable("HOOP_PROGRESS");

    if (asked)
        return strcmp(asked, "0") != 0;
    return isatty(STDERR_FILENO) == 1;
}

void
progress_show(const char *name, size_t done, size_t total, const char *size)
{
    char bar[BAR_CELLS + 1];
    const size_t n_full = total ? done * BAR_CELLS / total : 0;

    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', n_full);
    bar[BAR_CELLS] = '\0';
    fprintf(stderr, "\r%s [%s] %zu/%zu %s\033[K", name, bar, done, total, size);
    fflush(stderr);
}

void
progress_clear(void)
{
    fputs("\r\033[K", stderr);
    fflush(stderr);
}
