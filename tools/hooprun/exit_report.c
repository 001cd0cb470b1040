/* hooprun/exit_report.c - tells the workers how other workers have ended */

#include "hooprun/exit_report.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void
exit_report_open(struct exit_report *exit_report)
{
    *exit_report =
        (struct exit_report){.fd = memfd_create("hooprun", MFD_CLOEXEC)};
    if (exit_report->fd >= 0)
        snprintf(exit_report->path, sizeof(exit_report->path), "/proc/%d/fd/%d",
                 (int)getpid(), exit_report->fd);
}

void
exit_report_close(struct exit_report *exit_report)
{
    if (exit_report->fd >= 0)
        close(exit_report->fd);
    exit_report->fd = -1;
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
exit_report_write(const struct exit_report *exit_report,
                  const struct ending *ending)
{
    char line[192];

    if (exit_report->fd < 0)
        return;
    const int n = line_write(line, sizeof(line), ending);
    /* If it fails, the readers go without the line. */
    if (write(exit_report->fd, line, (size_t)n) < 0)
        return;
}
