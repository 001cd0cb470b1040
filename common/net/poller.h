/*
 * net/poller.h - an epoll for the data sockets, with a wakeup
 *
 * Level-triggered. Thread: only the progress owner, one at a time, except
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

/* Add a descriptor, borrowed until poller_remove(). Its events carry owner. */
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

/* Return up to n_max events; if there are none, wait timeout_ms (-1: forever).
 * Returns their number; 0 also after poller_wake() or a signal. */
size_t
poller_wait(struct poller *poller,
            struct poller_event *events,
            size_t n_max,
            int timeout_ms);

/* Make the current or the next poller_wait() return. */
void
poller_wake(struct poller *poller);
/* Return the handle by which other processes can do that too.
 * Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
poller_wakeup_handle(const struct poller *poller,
                     struct wakeup_handle *out_place);

/* Return a descriptor that is readable when there are events, for a
 * loop_watch. */
int
poller_fd(const struct poller *poller);

#endif
