/*
 * transport/connect/connector.h - dials peers and accepts them, on the control
 * loop
 *
 * A connection is handed over only when both sides have proved who they are
 * (transport/connect/handshake.h). Whichever rank needs a connection dials.
 * When two dial each other at once, the lower rank's dial is kept. A stranger
 * costs at most one bounded handshake and is named in the log:
 * transport/connect/connector_accept.c.
 *
 * Thread: the control loop, except where a function says otherwise.
 */

#ifndef TRANSPORT_CONNECT_CONNECTOR_H
#define TRANSPORT_CONNECT_CONNECTOR_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "net/loop.h"
#include "net/tls.h"
#include "transport/roster.h"
#include "transport/shm/negotiation.h"

enum {
    /* How long a peer may be silent: the network may be busy. */
    CONNECTOR_SILENT_MS = 10000,
    /* The longest time until on_unreachable(), give or take a little: the last
     * try may begin after that silence and takes its own time. */
    CONNECTOR_UNREACHABLE_MS = CONNECTOR_SILENT_MS + LIMIT_HANDSHAKE_MS,
};

struct connector;

/* Why there is no connection between this rank and another though both live:
 * one of the two lacks a resource, which it may have later. */
struct connector_shortage {
    uint32_t rank;           /* the other end */
    uint32_t of;             /* the rank that lacks it: rank, or this one */
    enum hoop_status status; /* HOOP_E_EXHAUSTED or HOOP_E_DENIED */
    const char *why;         /* such as "its process may open 17 files (...)" */
};

struct connector_options {
    struct loop *loop;           /* borrowed for life */
    const struct roster *roster; /* borrowed for life */
    const struct config *config; /* borrowed for life */
    int listen_fd;               /* borrowed for life; -1: only dial */
    /* Until when the world may form. A peer whose kernel answers has that long
     * to answer itself, if that is later than usual, or until
     * connector_end_forming(). 0: the usual time. */
    uint64_t forming_until_ns;
    /* A connection to rank is ready; the callback takes over fd, and segment,
     * the memory that both sides share, which may be NULL. All callbacks come
     * on the loop's thread. */
    void (*on_connected)(void *owner,
                         uint32_t rank,
                         int fd,
                         struct segment *segment);
    void (*on_unreachable)(void *owner, uint32_t rank, const char *why);
    /* The connection is not made now, because a resource is lacking on one
     * side; also for a connection that rank dialed. It may be dialed again. */
    void (*on_shortage)(void *owner, const struct connector_shortage *shortage);
    /* A connection that tls encrypts is ready; the callback takes over fd and
     * tls. stream is 0 for the first connection, otherwise the number of one
     * beside it. */
    void (*on_encrypted)(void *owner,
                         uint32_t rank,
                         unsigned stream,
                         int fd,
                         struct tls *tls);
    /* A connection beside the first is ready, number 1 to LIMIT_STREAMS; the
     * callback takes over fd. NULL: none is accepted. */
    void (*on_stream)(void *owner, uint32_t rank, unsigned stream, int fd);
    void *owner;
};

/* Create the connector, and accept connections if there is a listen_fd.
 * Thread: before the loop runs, or on it. */
enum hoop_status
connector_create(const struct connector_options *options,
                 struct connector **out_connector);
/* Wait for dials whose last answer is under way, 100 ms at most, and hand them
 * over, since their acceptors consider them connected. Call before
 * connector_destroy() if callbacks may still be called. connector may be NULL.
 * Thread: after the loop has stopped. */
void
connector_await_welcomes(struct connector *connector);
/* Close what has not been handed over. connector may be NULL. Thread: after
 * the loop has stopped, or on it. */
void
connector_destroy(struct connector *connector);

/*
 * Ask for a connection to rank, unless one is asked for or settled already.
 * Exactly one of on_connected() (or on_encrypted()), on_unreachable() and
 * on_shortage() follows. Thread: any.
 */
void
connector_dial(struct connector *connector, uint32_t rank);

/*
 * The world has formed: from now on all handshakes, also those under way, have
 * the usual time. Fails only for lack of memory. Thread: any, before
 * connector_destroy().
 */
enum hoop_status
connector_end_forming(struct connector *connector);

/*
 * Ask for one more connection, number stream, to rank, which is connected and
 * higher than this one; lower ranks dial. on_stream() or on_encrypted()
 * follows, or nothing if it fails for a second. Thread: any.
 */
void
connector_dial_stream(struct connector *connector,
                      uint32_t rank,
                      unsigned stream);

#endif
