/* vacancy.c - when a hoopd that was started for one job's sake is to end */

#include "vacancy.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* Somebody may hold the other end. */
static bool
has_other_end(int fd)
{
    struct stat kind;

    return fstat(fd, &kind) == 0 &&
           (S_ISFIFO(kind.st_mode) || S_ISSOCK(kind.st_mode));
}

void
vacancy_init(struct vacancy *vacancy, uint32_t limit_s, int input_fd)
{
    const bool is_held = has_other_end(input_fd);

    *vacancy = (struct vacancy){
        .deadline_ns = clock_now_ns() + limit_s * CLOCK_NS_PER_S,
        .input_fd = is_held ? input_fd : -1,
        .was_held = is_held,
    };
}

/* What is written there is read and means nothing. */
static bool
is_held(struct vacancy *vacancy)
{
    struct pollfd input = {.fd = vacancy->input_fd, .events = POLLIN};
    char bytes[256];

    while (vacancy->input_fd >= 0 && poll(&input, 1, 0) > 0) {
        if (read(vacancy->input_fd, bytes, sizeof(bytes)) <= 0)
            vacancy->input_fd = -1;
    }
    return vacancy->input_fd >= 0;
}

bool
vacancy_is_due(struct vacancy *vacancy,
               const struct coordinator_occupancy *occupancy,
               uint64_t now_ns)
{
    if (is_held(vacancy) || occupancy->n_members > 0)
        return false;
    return vacancy->was_held || occupancy->n_joins > 0 ||
           now_ns >= vacancy->deadline_ns;
}
