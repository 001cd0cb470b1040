/* hooprun/status.c - a process that asks the coordinator how the job is doing */

#include "hooprun/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hoop/control.h"

#include "clock_ms.h"
#include "hooprun/supervisor.h"
#include "variable.h"

enum {
    ASK_INTERVAL_MS = 1000,
    ASK_TIMEOUT_MS = 3000,
};

/* A pipe may lead to the same terminal, as with tee, where lines would be
 * written into the status line. */
static bool
output_is_elsewhere(void)
{
    struct stat status;

    return fstat(STDOUT_FILENO, &status) != 0 ||
           (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode));
}

bool
status_is_wanted(const struct options *options)
{
    const char *terminal = variable("TERM");

    return !options->is_status_off && options->style == OUTPUT_PREFIXED &&
           isatty(STDERR_FILENO) == 1 && output_is_elsewhere() && terminal &&
           strcmp(terminal, "dumb") != 0;
}

/* Ask once. Returns false if there is nothing to say. */
static bool
status_ask(hoop_control_t *control,
           struct status_text *status,
           char out_line[static STATUS_TEXT_MAX])
{
    const struct hoop_control_roster *roster = NULL;
    char text[STATUS_TEXT_MAX];

    /* The job may not have begun, and its workers may not use hoop at all. */
    if (hoop_control_totals(control, &roster) != HOOP_OK ||
        !status_text_update(status, roster, now_ms()))
        return false;
    status_text_format(status, roster, NULL, out_line);
    if (!status_text_is_stuck(status))
        return true;
    /* The answer takes the place of the one above. */
    memcpy(text, out_line, sizeof(text));
    if (hoop_control_activities(control, &roster) == HOOP_OK)
        status_text_format(status, roster, roster, out_line);
    else
        memcpy(out_line, text, sizeof(text));
    return true;
}

/* Runs in the process, until the pipe is closed. */
static void
status_serve(const struct hoop_control_options *options, int fd)
{
    struct status_text status = {0};
    hoop_control_t *control = NULL;

    if (hoop_control_create(options, &control) != HOOP_OK)
        _exit(EXIT_FAILURE);
    while (poll(&(struct pollfd){fd, 0, 0}, 1, ASK_INTERVAL_MS) == 0) {
        char line[STATUS_TEXT_MAX + 1] = "";

        if (!status_ask(control, &status, line))
            line[0] = '\0';
        strcat(line, "\n");
        if (write(fd, line, strlen(line)) < 0)
            break;
    }
    _exit(EXIT_SUCCESS);
}

static void
status_begin(pid_t parent, const struct supervisor *supervisor)
{
    /* As the supervisor, which must see that hooprun closes its pipe. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    if (supervisor)
        close(supervisor->stop_fd);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
}

void
status_start(struct status *status,
             const struct worker_setup *setup,
             const struct supervisor *supervisor)
{
    const struct hoop_control_options options = {
        .coordinator = supervisor ? supervisor->address : setup->coordinator,
        .job = setup->options->job,
        .token = setup->token,
        .timeout_ms = ASK_TIMEOUT_MS,
    };
    const pid_t parent = getpid();
    int fds[2];

    *status = (struct status){.fd = -1};
    if (!status_is_wanted(setup->options) || pipe2(fds, O_CLOEXEC) != 0)
        return;
    const pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        status_begin(parent, supervisor);
        status_serve(&options, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return;
    }
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    status->fd = fds[0];
}

const char *
status_read(struct status *status)
{
    static char line[STATUS_TEXT_MAX];
    const char *last = NULL;
    char byte = 0;
    ssize_t n = 0;

    while ((n = read(status->fd, &byte, 1)) == 1) {
        if (byte != '\n') {
            if (status->n_bytes < sizeof(status->bytes) - 1)
                status->bytes[status->n_bytes++] = byte;
            continue;
        }
        status->bytes[status->n_bytes] = '\0';
        status->n_bytes = 0;
        memcpy(line, status->bytes, sizeof(line));
        last = line;
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        status_stop(status);
        line[0] = '\0';
        last = line;
    }
    return last;
}

void
status_stop(struct status *status)
{
    if (status->fd >= 0)
        close(status->fd);
    status->fd = -1;
}
