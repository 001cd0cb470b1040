/*
 * standby.c - decide when a hoopd starts to serve, and when it ends unused
 *
 * A standby waits for the lock on the data. The kernel releases the lock when
 * its holder dies, and grants it to only one process. No hoopd infers from
 * silence that another is dead, so two never serve the same data. The lock is
 * polled, because a thread that sleeps for a lock does not receive the signals
 * that are blocked. The second part ends a hoopd that has no members left.
 */

#include "standby.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hoop/coordinator.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/private_file.h"
#include "coordinator.h"
#include "storage/folder_lock.h"

static const struct timespec signal_poll_interval = {.tv_nsec = 50 * 1000000L};

static const char *
unready_text(void *owner)
{
    (void)owner;
    return "standby: another hoopd uses the data\n";
}

static void
write_metrics(void *owner, FILE *out)
{
    (void)owner;
    fputs("# HELP hoop_standby Waits for the end of another hoopd.\n"
          "# TYPE hoop_standby gauge\nhoop_standby 1\n",
          out);
}

enum hoop_status
standby_wait(const struct hoop_coordinator_options *options,
             const sigset_t *ending,
             int *out_signal)
{
    CLEANUP(http_port_close) struct http_port *http = NULL;
    int number = 0;

    if (!folder_lock_is_held(options->data_dir)) {
        *out_signal = 0;
        return HOOP_OK;
    }
    /* Refuse a folder that others can write now, not only at the takeover. */
    enum hoop_status status =
        private_folder_check("data folder", options->data_dir);
    if (status != HOOP_OK)
        return error_pass(status);
    status = http_port_open(
        options,
        &(struct http_port_callbacks){.unready_text = unready_text,
                                      .write_metrics = write_metrics},
        &http);
    if (status != HOOP_OK)
        return error_pass(status);
    log_info("coordinator", "standing by, http on %s: another hoopd uses %s",
             http ? http_port_address(http) : "nothing", options->data_dir);
    while (number <= 0 && folder_lock_is_held(options->data_dir))
        number = sigtimedwait(ending, NULL, &signal_poll_interval);
    *out_signal = number > 0 ? number : 0;
    return HOOP_OK;
}

/* End a hoopd that was started for one job (--until-empty). */

/* Return whether fd is a pipe or a socket, whose other end the starter may
 * hold. */
static bool
input_is_pipe_or_socket(int fd)
{
    struct stat kind;

    return fstat(fd, &kind) == 0 &&
           (S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode));
}

void
idle_shutdown_init(struct idle_shutdown *idle_shutdown,
                   uint32_t limit_s,
                   int input_fd)
{
    const bool idle_shutdown_has_starter = input_is_pipe_or_socket(input_fd);

    *idle_shutdown = (struct idle_shutdown){
        .deadline_ns = clock_now_ns() + limit_s * CLOCK_NS_PER_S,
        .input_fd = idle_shutdown_has_starter ? input_fd : -1,
        .had_starter = idle_shutdown_has_starter,
    };
}

/* Return whether the starter still holds the other end. Bytes written there are
 * read and ignored. */
static bool
idle_shutdown_has_starter(struct idle_shutdown *idle_shutdown)
{
    struct pollfd input = {.fd = idle_shutdown->input_fd, .events = POLLIN};
    char bytes[256];

    while (idle_shutdown->input_fd >= 0 && poll(&input, 1, 0) > 0) {
        if (read(idle_shutdown->input_fd, bytes, sizeof(bytes)) <= 0)
            idle_shutdown->input_fd = -1;
    }
    return idle_shutdown->input_fd >= 0;
}

bool
idle_shutdown_is_due(struct idle_shutdown *idle_shutdown,
                     const struct coordinator_member_counts *occupancy,
                     uint64_t now_ns)
{
    if (idle_shutdown_has_starter(idle_shutdown) || occupancy->n_members > 0)
        return false;
    return idle_shutdown->had_starter || occupancy->n_joins > 0 ||
           now_ns >= idle_shutdown->deadline_ns;
}
