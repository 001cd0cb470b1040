/* idle_shutdown.c - when a hoopd that was started for one job's sake is to end */

#include "idle_shutdown.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* Somebody may hold the other end. */
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
    const bool starter_is_present = input_is_pipe_or_socket(input_fd);

    *idle_shutdown = (struct idle_shutdown){
        .deadline_ns = clock_now_ns() + limit_s * CLOCK_NS_PER_S,
        .input_fd = starter_is_present ? input_fd : -1,
        .was_held = starter_is_present,
    };
}

/* What is written there is read and means nothing. */
static bool
starter_is_present(struct idle_shutdown *idle_shutdown)
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
    if (starter_is_present(idle_shutdown) || occupancy->n_members > 0)
        return false;
    return idle_shutdown->was_held || occupancy->n_joins > 0 ||
           now_ns >= idle_shutdown->deadline_ns;
}
