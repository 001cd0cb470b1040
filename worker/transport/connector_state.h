/*
 * transport/connector_state.h - what connector.c, connector_accept.c and
 * connector_stream.c share
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_CONNECTOR_STATE_H
#define TRANSPORT_CONNECTOR_STATE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "base/wait_notice.h"
#include "transport/connector.h"
#include "transport/handshaker.h"

TAILQ_HEAD(handshaker_list, handshaker);

/*
 * IDLE -> WANTED <-> DIALED -> CONNECTED
 *   \________\_________\_____> UNREACHABLE
 *
 * WANTED: between two tries, or the peer's own dial is awaited.
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
    bool broke_in_tls;               /* a dial, while it was about TLS */
    _Atomic uint32_t streams_wanted; /* bit i: the i-th is to be dialed */
    uint32_t streams;                /* dialed, or here */
    uint64_t stream_retry_ms;
};

struct connector {
    struct connector_options options;
    struct handshake_key key;
    struct tls_context *tls_context; /* NULL: connections are plain */
    struct loop_watch *listener;
    struct loop_timer *accept_pause;
    struct loop_timer *notice_timer; /* NULL: nothing is said */
    struct wait_notice notice;
    /* Kept to accept one more when there is no other descriptor left; -1: it is
     * in use, or there is none. */
    int reserve_fd;
    bool has_accept_failed; /* the last connection could not be accepted */
    struct handshaker_list handshakers; /* oldest first */
    unsigned n_accepted;                /* of them, not dialed by us */
    unsigned n_accepted_max;
    struct link *links; /* [rank] */
};

void
connector_forget(struct connector *connector, struct handshaker *handshaker);
/* The descriptor, proven, changes hands; handshaker is gone. segment: NULL where
 * nothing is shared. */
void
connector_deliver(struct connector *connector,
                  struct handshaker *handshaker,
                  struct segment *segment);
/* Takes fd. out_handshaker: a dial of ours, whose handshake's peer is to be set;
 * NULL: a stranger's. */
enum hoop_status
connector_handshake(struct connector *connector,
                    int fd,
                    const struct address *address,
                    struct handshaker **out_handshaker);

/* One of the two has something no more; the link may be tried again. */
void
connector_tell_shortage(struct link *link,
                        const struct connector_shortage *shortage);

/* connector_accept.c */

enum hoop_status
connector_listen(struct connector *connector);
/* One of those who have said nothing yet makes room; false: there is none. */
bool
connector_evict(struct connector *connector);
/* Have a descriptor in reserve again. False: there is none to be had. */
bool
connector_refill(struct connector *connector);
/* A handshake of somebody else has failed, or has been ended; the text is this
 * thread's last error. */
void
connector_refuse(struct connector *connector,
                 struct handshaker *handshaker,
                 enum hoop_status status);

/* connector_stream.c */

/* May the verified stranger be one beside the first? */
enum handshake_answer
connector_stream_answer(const struct connector *connector,
                        const struct link *link,
                        const struct handshake *handshake);
/* The handshake of one is over. */
void
connector_stream_answered(struct connector *connector,
                          struct handshaker *handshaker);
/* The dial of one came to nothing. */
void
connector_stream_failed(struct link *link,
                        unsigned stream,
                        enum hoop_status status);
/* The link's timer: it is time for another try. */
void
connector_stream_retry(struct link *link);

#endif
