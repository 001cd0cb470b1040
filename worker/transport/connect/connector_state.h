/*
 * transport/connect/connector_state.h - what the files of the connector share
 *
 * Private to connector.c and connector_accept.c.
 *
 * Thread: the control loop.
 */

#ifndef TRANSPORT_CONNECT_CONNECTOR_STATE_H
#define TRANSPORT_CONNECT_CONNECTOR_STATE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "base/log.h"
#include "transport/connect/connector.h"
#include "transport/connect/handshaker.h"

TAILQ_HEAD(handshaker_list, handshaker);

/*
 * IDLE -> WANTED <-> DIALED -> CONNECTED
 *   \________\_________\_____> UNREACHABLE
 *
 * A WANTED link is between two tries, or awaits the peer's own dial.
 */
enum link_state {
    LINK_IDLE,
    LINK_WANTED,
    LINK_DIALED,
    LINK_CONNECTED,
    LINK_UNREACHABLE,
};

struct link {
    struct connector *connector;
    uint32_t rank;
    enum link_state state;
    struct handshaker *dial;
    struct loop_timer *retry;
    uint64_t refused_until_ns;
    uint64_t silent_until_ns;
    uint64_t retry_ms;
    bool dial_broke_in_tls; /* a dial ended during the TLS handshake */
    /* Bit i: the i-th stream is to be dialed. */
    _Atomic uint32_t streams_wanted;
    uint32_t streams; /* bit i: the i-th stream is dialed, or here */
    uint64_t stream_retry_ms;
};

struct connector {
    struct connector_options options;
    struct handshake_key key;
    struct tls_context *tls_context; /* NULL: connections are plain */
    struct loop_watch *listener;
    struct loop_timer *accept_pause;
    struct loop_timer *notice_timer; /* NULL: no notices */
    struct wait_notice notice;
    /* Kept to accept one more connection when no other descriptor is left; -1
     * if it is in use or there is none. */
    int reserve_fd;
    bool has_accept_failed; /* the last connection could not be accepted */
    struct handshaker_list handshakers; /* oldest first */
    unsigned n_accepted; /* those of handshakers that we did not dial */
    unsigned n_accepted_handshakes_max;
    struct link *links; /* one per rank */
};

void
connector_drop_handshaker(struct connector *connector,
                          struct handshaker *handshaker);
/* The handshake is complete: give the descriptor, and segment unless it is
 * NULL, to the owner's callback. handshaker is destroyed. */
void
connector_hand_over_connection(struct connector *connector,
                               struct handshaker *handshaker,
                               struct segment *segment);
/* Take over fd and begin a handshake on it. For our own dial, out_handshaker
 * is not NULL, and the caller sets handshake.peer; for a connection that came,
 * out_handshaker is NULL. */
enum hoop_status
connector_start_handshake(struct connector *connector,
                          int fd,
                          const struct address *address,
                          struct handshaker **out_handshaker);

/* Report that one of the two ranks lacks a resource. The link may be tried
 * again later. */
void
connector_report_shortage(struct link *link,
                          const struct connector_shortage *shortage);

/* connector_accept.c: which connections may wait. */

enum hoop_status
connector_listen(struct connector *connector);
/* End one of the connections that have said nothing yet. Returns false if
 * there is none. */
bool
connector_evict_silent(struct connector *connector);
/* Have a descriptor in reserve again. Returns false if none can be had. */
bool
connector_refill_reserve(struct connector *connector);
/* A handshake that another rank began has failed or was ended. Log why, which
 * is this thread's last error, and destroy it. */
void
connector_reject_handshake(struct connector *connector,
                           struct handshaker *handshaker,
                           enum hoop_status status);

/* connector_accept.c: connections beside the first to a peer. */

/* Returns the answer to a verified peer that wants a connection beside the
 * first. */
enum handshake_answer
connector_stream_choose_answer(const struct connector *connector,
                               const struct link *link,
                               const struct handshake *handshake);
/* The handshake of a connection beside the first has ended. */
void
connector_stream_on_answer(struct connector *connector,
                           struct handshaker *handshaker);
/* The dial of a connection beside the first has failed. */
void
connector_stream_on_failed(struct link *link,
                           unsigned stream,
                           enum hoop_status status);
/* The timer of link has expired: try again. */
void
connector_stream_retry(struct link *link);

#endif
