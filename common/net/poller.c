/* net/poller.c - an epoll for the data sockets, with a wakeup */

#include "net/poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/process.h"
#include "net/wakeup.h"

enum {
    /* Events taken from the kernel at once; the others stay ready. */
    POLLER_BATCH = 64,
};

struct poller {
    int epoll_fd;
    int wakeup[2];
};

DEFINE_CLEANUP(struct poller *, poller_destroy)

static enum hoop_status
poller_epoll_ctl(struct poller *poller,
                 int operation,
                 int fd,
                 struct epoll_event *event)
{
    char why[RESOURCE_LIMIT_TEXT];

    if (epoll_ctl(poller->epoll_fd, operation, fd, event) == 0)
        return HOOP_OK;
    const int error = errno;
    return error_raise(error == ENOSPC || error == ENOMEM ? HOOP_E_EXHAUSTED
                                                          : HOOP_E_INTERNAL,
                       "no epoll watch for a descriptor: %s",
                       resource_error_describe(RESOURCE_WATCH, error, why));
}

static struct epoll_event
epoll_event_of(struct poller_interest interest, void *owner)
{
    return (struct epoll_event){
        .events = (interest.reads ? (uint32_t)EPOLLIN : 0) |
                  (interest.writes ? (uint32_t)EPOLLOUT : 0),
        .data.ptr = owner,
    };
}

static enum hoop_status
poller_open(struct poller *poller)
{
    char why[RESOURCE_LIMIT_TEXT];

    poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll_fd < 0)
        return error_raise(
            HOOP_E_EXHAUSTED, "no epoll descriptor: %s",
            resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));

    descriptor_track(poller->epoll_fd);
    const enum hoop_status status = wakeup_open(poller->wakeup);
    if (status != HOOP_OK)
        return error_pass(status);
    return poller_add(poller, poller->wakeup[0],
                      (struct poller_interest){.reads = true}, poller);
}

enum hoop_status
poller_create(struct poller **out_poller)
{
    CLEANUP(poller_destroy)
    struct poller *poller = calloc(1, sizeof(*poller));

    if (!poller)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a poller");
    poller->epoll_fd = -1;
    poller->wakeup[0] = -1;
    poller->wakeup[1] = -1;

    const enum hoop_status status = poller_open(poller);
    if (status != HOOP_OK)
        return error_pass(status);

    *out_poller = STEAL(poller);
    return HOOP_OK;
}

void
poller_destroy(struct poller *poller)
{
    if (!poller)
        return;
    wakeup_close(poller->wakeup);
    descriptor_close(poller->epoll_fd);
    free(poller);
}

enum hoop_status
poller_add(struct poller *poller,
           int fd,
           struct poller_interest interest,
           void *owner)
{
    struct epoll_event event = epoll_event_of(interest, owner);

    return poller_epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

enum hoop_status
poller_change(struct poller *poller,
              int fd,
              struct poller_interest interest,
              void *owner)
{
    struct epoll_event event = epoll_event_of(interest, owner);

    return poller_epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event);
}

void
poller_remove(struct poller *poller, int fd)
{
    /* Fails only if the descriptor was not added. */
    epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

size_t
poller_wait(struct poller *poller,
            struct poller_event *events,
            size_t n_max,
            int timeout_ms)
{
    struct epoll_event ready[POLLER_BATCH];
    size_t n_events = 0;

    /* Ask for one more, so that the wakeup displaces no event. */
    const int n_wanted =
        n_max < POLLER_BATCH - 1 ? (int)n_max + 1 : POLLER_BATCH;
    const int n_ready =
        epoll_wait(poller->epoll_fd, ready, n_wanted, timeout_ms);

    for (int i = 0; i < n_ready; i++) {
        if (ready[i].data.ptr == poller) {
            wakeup_clear(poller->wakeup[0]);
            continue;
        }
        if (n_events == n_max)
            break;
        events[n_events++] = (struct poller_event){
            .owner = ready[i].data.ptr,
            .can_read = (ready[i].events & ~(uint32_t)EPOLLOUT) != 0,
            .can_write = (ready[i].events & EPOLLOUT) != 0,
        };
    }
    return n_events;
}

void
poller_wake(struct poller *poller)
{
    wakeup_signal(poller->wakeup[1]);
}

enum hoop_status
poller_wakeup_handle(const struct poller *poller,
                     struct wakeup_handle *out_place)
{
    return wakeup_export(poller->wakeup, out_place);
}

int
poller_fd(const struct poller *poller)
{
    return poller->epoll_fd;
}
