/* hooprun/supervisor.c - runs the embedded coordinator in its own process */

#include "hooprun/supervisor.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hoop/coordinator.h"

#include "variable.h"

enum {
    /* First byte of the supervisor's report; an address or a text follows. */
    REPORT_LISTENING = 'L',
    REPORT_FAILED = 'F',
    REPORT_MAX = 1024,
};

enum hoop_status
supervisor_token(char out_token[static SUPERVISOR_TOKEN_MAX])
{
    unsigned char bytes[(SUPERVISOR_TOKEN_MAX - 1) / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        warn("no random bytes for the job's token");
        return HOOP_E_UNAVAILABLE;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(&out_token[2 * i], 3, "%02x", bytes[i]);
    return HOOP_OK;
}

static void
report_write(int fd, char kind, const char *text)
{
    char report[REPORT_MAX];
    const int n = snprintf(report, sizeof(report), "%c%s", kind, text);
    const size_t n_bytes =
        (size_t)n < sizeof(report) ? (size_t)n : sizeof(report) - 1;

    if (write(fd, report, n_bytes) < 0)
        _exit(EXIT_FAILURE);
    close(fd);
}

/* Runs in the supervisor: listen, report, wait for the end of stop_fd. */
static void
supervisor_serve(const char *token,
                 const char *listen,
                 int report_fd,
                 int stop_fd)
{
    hoop_coordinator_t *coordinator = NULL;
    const struct hoop_coordinator_options options = {
        .listen = listen,
        .token = token,
        .tls = variable("HOOP_TLS"),
        .tls_cert = variable("HOOP_TLS_CERT"),
        .tls_key = variable("HOOP_TLS_KEY"),
        .tls_ca = variable("HOOP_TLS_CA"),
    };
    char byte = 0;

    if (hoop_coordinator_start(&options, &coordinator) != HOOP_OK) {
        report_write(report_fd, REPORT_FAILED, hoop_coordinator_error_text());
        _exit(EXIT_FAILURE);
    }
    report_write(report_fd, REPORT_LISTENING,
                 hoop_coordinator_address(coordinator));

    while (read(stop_fd, &byte, 1) < 0 && errno == EINTR)
        continue;
    hoop_coordinator_stop(coordinator);
    hoop_coordinator_destroy(coordinator);
    _exit(EXIT_SUCCESS);
}

/* Read to the end; the supervisor closes the pipe after its only report. */
static size_t
report_read(int fd, char report[static REPORT_MAX])
{
    size_t n_bytes = 0;

    while (n_bytes < REPORT_MAX - 1) {
        const ssize_t n = read(fd, report + n_bytes, REPORT_MAX - 1 - n_bytes);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        n_bytes += n > 0 ? (size_t)n : 0;
    }
    report[n_bytes] = '\0';
    return n_bytes;
}

static void
supervisor_begin(pid_t parent)
{
    /* Leave the terminal's foreground group, since Ctrl-C is for the
     * workers. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
}

enum hoop_status
supervisor_start(const char *token,
                 const char *listen,
                 struct supervisor *out_supervisor)
{
    const pid_t parent = getpid();
    int report[2];
    int stop[2];

    if (pipe2(report, O_CLOEXEC) != 0 || pipe2(stop, O_CLOEXEC) != 0) {
        warn("no pipe for the coordinator");
        return HOOP_E_UNAVAILABLE;
    }
    const pid_t pid = fork();
    if (pid < 0) {
        warn("cannot fork the coordinator");
        return HOOP_E_UNAVAILABLE;
    }
    if (pid == 0) {
        close(report[0]);
        close(stop[1]);
        supervisor_begin(parent);
        supervisor_serve(token, listen, report[1], stop[0]);
    }
    close(report[1]);
    close(stop[0]);

    char text[REPORT_MAX];
    const size_t n_bytes = report_read(report[0], text);
    close(report[0]);
    *out_supervisor = (struct supervisor){.pid = pid, .stop_fd = stop[1]};
    if (n_bytes == 0 || text[0] != REPORT_LISTENING) {
        warnx("the embedded coordinator did not start: %s",
              n_bytes ? text + 1 : "it ended without a word");
        supervisor_stop(out_supervisor);
        return HOOP_E_UNAVAILABLE;
    }
    snprintf(out_supervisor->address, sizeof(out_supervisor->address), "%.*s",
             SUPERVISOR_ADDRESS_MAX - 1, text + 1);
    return HOOP_OK;
}

void
supervisor_stop(struct supervisor *supervisor)
{
    if (supervisor->pid <= 0)
        return;
    close(supervisor->stop_fd);
    while (waitpid(supervisor->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    supervisor->pid = 0;
}
