/* hooprun/ends.c - finds the order in which workers have ended */

#include "hooprun/ends.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

void
ends_open(struct ends *ends)
{
    ends->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
}

/* The remaining descriptors are closed when hooprun exits. */
void
ends_close(struct ends *ends)
{
    if (ends->epoll_fd >= 0)
        close(ends->epoll_fd);
    ends->epoll_fd = -1;
}

void
ends_add(const struct ends *ends, uint32_t number, pid_t pid)
{
    const int fd =
        ends->epoll_fd < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return;

    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u64 = (uint64_t)number << 32 | (uint32_t)fd,
    };

    if (epoll_ctl(ends->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        close(fd);
}

int64_t
ends_next(const struct ends *ends)
{
    struct epoll_event event;

    if (ends->epoll_fd < 0 || epoll_wait(ends->epoll_fd, &event, 1, 0) != 1)
        return -1;
    close((int)(event.data.u64 & UINT32_MAX));
    return (int64_t)(event.data.u64 >> 32);
}
