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

static int
line_write(char *line, size_t n_bytes, const struct ending *ending)
{
    const int status = ending->wait_status;
    const int number = WTERMSIG(status);
    const int pid = (int)ending->pid;
    const uint32_t rank = ending->rank;

    if (WIFSIGNALED(status) && pid == 0)
        return snprintf(line, n_bytes, "rank %u ended (killed by signal %d)\n",
                        rank, number);
    if (WIFSIGNALED(status))
        return snprintf(line, n_bytes,
                        "%d killed by signal %d (%s)\n"
                        "rank %u ended (killed by signal %d)\n",
                        pid, number, strsignal(number), rank, number);
    if (pid == 0)
        return snprintf(line, n_bytes, "rank %u ended (exit code %d)\n", rank,
                        WEXITSTATUS(status));
    return snprintf(line, n_bytes,
                    "%d exited with code %d\nrank %u ended (exit code %d)\n",
                    pid, WEXITSTATUS(status), rank, WEXITSTATUS(status));
}

void
obituary_write(const struct obituary *obituary, const struct ending *ending)
{
    char line[192];

    if (obituary->fd < 0)
        return;
    const int n = line_write(line, sizeof(line), ending);
    /* Whoever reads does without then. */
    if (write(obituary->fd, line, (size_t)n) < 0)
        return;
}
