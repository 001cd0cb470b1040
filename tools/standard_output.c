/* standard_output.c - makes a program fail if its output was not written */

#include "standard_output.h"

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
standard_output_close(void)
{
    const bool had_failed = ferror(stdout) != 0;

    errno = 0;
    const bool is_written = fflush(stdout) == 0 && !had_failed;
    /* If stdout was closed from the start and nothing was written, only
     * fclose() fails, with EBADF, and that is no error. */
    if (is_written && (fclose(stdout) == 0 || errno == EBADF))
        return;
    if (errno != 0)
        warn("cannot write standard output");
    else
        warnx("cannot write standard output");
    _exit(EXIT_FAILURE);
}

void
standard_output_check_at_exit(void)
{
    atexit(standard_output_close);
}
