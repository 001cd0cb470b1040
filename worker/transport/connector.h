/*
 * transport/connector.h - dials peers and accepts them, on the control loop
 *
 * A connection is handed on only when both sides have proved themselves
 * (transport/handshake.h). Whoever needs one dials; when two dial each other
 * at once, the lower rank's dial stays. Strangers cost a bounded handshake each
 * and are named in the log: transport/connector_accept.c.
 *
 * Thread: the loop's, except connector_dial() and connector_formed().
 */

#ifndef TRANSPORT_CONNECTOR_H
#define TRANSPORT_CONNECTOR_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "net/loop.h"
#include "net/tls.h"
#include "transport/roster.h"
#include "transport/shm_negotiation.h"

enum {
    /* Silence may be a busy network ... */
    CONNECTOR_SILENT_MS = 10000,
    /* ... and the last try that is made then takes its time. So much later,
     * and a little, on_unreachable() has said so. */
    CONNECTOR_UNREACHABLE_MS = CONNECTOR_SILENT_MS + LIMIT_HANDSHAKE_MS,
};

struct connector;

/* Why there is no connection between this rank and another, though both live:
 * one of the two lacks what it needs for that. It may have it later. */
struct connector_shortage {
    uint32_t rank;           /* the other end */
    uint32_t of;             /* who lacks it: rank, or this one */
    enum hoop_status status; /* HOOP_E_EXHAUSTED or HOOP_E_DENIED */
    const char *why;         /* "its process may open 17 files (...)" */
};

struct connector_options {
    struct loop *loop;           /* borrowed for life */
    const struct roster *roster; /* borrowed for life */
    const char *token;           /* borrowed for the call */
    int listen_fd;               /* borrowed for life; -1: only dial */
    /* Until when the world may form: whose kernel answers has so long to do so
     * itself, if that is later than usual, or until connector_formed(). 0: the
     * usual. */
    uint64_t forming_until_ns;
    /* After so long it says which dial is not answered (base/wait_notice.h); 0: it
     * does not. */
    uint32_t wait_notice_ms;
    enum shm_mode shm_negotiation;
    /* HOOP_TLS: on; NULL: off. Borrowed for the call. */
    const struct tls_files *tls;
    /* fd is handed over, proven, and what both sides share beside it; NULL:
     * nothing. On the loop's thread. */
    void (*on_connected)(void *owner,
                         uint32_t rank,
                         int fd,
                         struct segment *segment);
    void (*on_unreachable)(void *owner, uint32_t rank, const char *why);
    /* Instead, or of a connection that rank dialed. It may be dialed again. */
    void (*on_shortage)(void *owner, const struct connector_shortage *shortage);
    /* Instead, of one that tls encrypts, which is handed over, too: the first
     * (stream 0) and any beside it. */
    void (*on_encrypted)(void *owner,
                         uint32_t rank,
                         unsigned stream,
                         int fd,
                         struct tls *tls);
    /* The same of a connection beside the first, 1 to LIMIT_STREAMS; NULL: none
     * is accepted. */
    void (*on_stream)(void *owner, uint32_t rank, unsigned stream, int fd);
    void *owner;
};

/* Thread: before the loop runs, or on it. */
enum hoop_status
connector_create(const struct connector_options *options,
                 struct connector **out_connector);
/* The dials whose last answer is on its way are waited for, 100 ms at most, and
 * handed over: their acceptors take them for connected. Before
 * connector_destroy(), if callbacks may still be called. Thread: after the loop
 * has stopped. */
void
connector_finish(struct connector *connector);
/* Closes what has not been handed over. NULL is fine. Thread: after the loop
 * has stopped, or on it. */
void
connector_destroy(struct connector *connector);

/*
 * Want a connection to rank: on_connected(), on_unreachable() or on_shortage()
 * follows, once.
 * Thread: any.
 */
void
connector_dial(struct connector *connector, uint32_t rank);

/*
 * The world has formed: handshakes, also those under way, have the usual time
 * from now on. Thread: any, before connector_destroy(). Fails only for lack of
 * memory.
 */
enum hoop_status
connector_formed(struct connector *connector);

/*
 * Want one more connection to rank, beside the first, which is there: the
 * stream-th. Only to higher ranks: they do not dial. on_stream() follows, or
 * nothing: it is tried for a second at most. Thread: any.
 */
void
connector_dial_stream(struct connector *connector,
                      uint32_t rank,
                      unsigned stream);

#endif
