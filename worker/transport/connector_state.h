/*
 * transport/connector_state.h - what connector.c and connector_stream.c share
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_CONNECTOR_STATE_H
#define TRANSPORT_CONNECTOR_STATE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "transport/connector.h"
#include "transport/greeting.h"

TAILQ_HEAD(greeting_list, greeting);

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
    struct greeting *dial;
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
    struct tls_context *secures; /* NULL: connections are plain */
    struct loop_watch *listener;
    struct loop_timer *breather;
    struct greeting_list greetings; /* oldest first */
    unsigned n_accepted;            /* of them, strangers */
    struct link *links;             /* [rank] */
};

void
connector_forget(struct connector *connector, struct greeting *greeting);
/* The descriptor, proven, changes hands; greeting is gone. segment: NULL where
 * nothing is shared. */
void
connector_hand_over(struct connector *connector,
                    struct greeting *greeting,
                    struct segment *segment);
/* Takes fd. out_greeting: a dial of ours, whose handshake's peer is to be set;
 * NULL: a stranger's. */
enum hoop_status
connector_greet(struct connector *connector,
                int fd,
                const struct address *address,
                struct greeting **out_greeting);

/* connector_stream.c */

/* May the verified stranger be one beside the first? */
enum handshake_answer
connector_stream_answer(const struct connector *connector,
                        const struct link *link,
                        const struct handshake *handshake);
/* The handshake of one is over. */
void
connector_stream_answered(struct connector *connector,
                          struct greeting *greeting);
/* The dial of one came to nothing. */
void
connector_stream_failed(struct link *link,
                        unsigned stream,
                        enum hoop_status status);
/* The link's timer: it is time for another try. */
void
connector_stream_retry(struct link *link);

#endif
