/* hooprun/obituary.c - tells the workers how others have ended */

#include "hooprun/obituary.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void
obituary_open(struct obituary *obituary)
{
    *obituary = (struct obituary){.fd = memfd_create("hooprun", MFD_CLOEXEC)};
    if (obituary->fd >= 0)
        snprintf(obituary->path, sizeof(obituary->path), "/proc/%d/fd/%d",
                 (int)getpid(), obituary->fd);
}

void
obituary_close(struct obituary *obituary)
{
    if (obituary->fd >= 0)
        close(obituary->fd);
    obituary->fd = -1;
}

void
obituary_write(const struct obituary *obituary, const struct ending *ending)
{
    const int status = ending->wait_status;
    char line[192];
    int n;

    if (obituary->fd < 0)
        return;
    if (WIFSIGNALED(status))
        n = snprintf(line, sizeof(line),
                     "%d killed by signal %d (%s)\n"
                     "rank %u ended (killed by signal %d)\n",
                     (int)ending->pid, WTERMSIG(status),
                     strsignal(WTERMSIG(status)), ending->rank,
                     WTERMSIG(status));
    else
        n = snprintf(line, sizeof(line),
                     "%d exited with code %d\nrank %u ended (exit code %d)\n",
                     (int)ending->pid, WEXITSTATUS(status), ending->rank,
                     WEXITSTATUS(status));
    /* Whoever reads does without then. */
    if (write(obituary->fd, line, (size_t)n) < 0)
        return;
}
