/*
 * net/poller.h - the data sockets' own epoll, and a wakeup for whoever waits
 *
 * Level-triggered. Thread: one at a time (the engine's drive lock), except
 * poller_wake(), which any thread may call.
 */

#ifndef NET_POLLER_H
#define NET_POLLER_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/status.h"

#include "net/wakeup.h"

struct poller;

struct poller_event {
    void *owner;
    bool can_read; /* also set for errors and hang-ups: reading tells which */
    bool can_write;
};

struct poller_interest {
    bool reads;
    bool writes;
};

enum hoop_status
poller_create(struct poller **out_poller);
void
poller_destroy(struct poller *poller);

/* owner comes back in events. fd is borrowed until poller_remove(). */
enum hoop_status
poller_add(struct poller *poller,
           int fd,
           struct poller_interest interest,
           void *owner);
enum hoop_status
poller_change(struct poller *poller,
              int fd,
              struct poller_interest interest,
              void *owner);
void
poller_remove(struct poller *poller, int fd);

/* Up to n_max events; waits timeout_ms (-1: for ever) when there are none.
 * Returns their number; 0 also when poller_wake() rang or a signal came. */
size_t
poller_wait(struct poller *poller,
            struct poller_event *events,
            size_t n_max,
            int timeout_ms);

/* Makes the current or the next poller_wait() return. */
void
poller_wake(struct poller *poller);
/* ... also of other processes, who find it there.
 * Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
poller_wakeup_handle(const struct poller *poller,
                     struct wakeup_handle *out_place);

/* Readable when events wait: for a loop_watch. */
int
poller_fd(const struct poller *poller);

#endif
