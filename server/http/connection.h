/*
 * http/connection.h - the connections of the HTTP server
 *
 * A connection does the TLS handshake if there is one, is read until the head
 * of its request is complete, is answered, and is then read until the client
 * closes, so that a client that is still sending gets the answer instead of a
 * reset. One deadline covers all of this. Connections are kept in the order in
 * which they came.
 *
 * A stream of events has no deadline. Events wait in its memory until the
 * socket takes them. It is closed if they are too many, or if it has taken none
 * for LIMIT_HTTP_STALL_MS.
 *
 * Thread: the server's.
 */

#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "http/feed.h"
#include "http/http.h"
#include "http/request.h"
#include "http/site.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"

struct tls;
struct tls_context;

enum {
    RESERVED_FDS_MAX = LIMIT_HTTP_CONNECTIONS / 2,
    CONNECTION_MIN_STAY_MS = 20,
};

enum connection_state {
    CONNECTION_IN_TLS_HANDSHAKE, /* doing the TLS handshake */
    CONNECTION_READING,
    CONNECTION_AWAITING_ANSWER, /* of a query, or the end of a delay */
    CONNECTION_WRITING,
    CONNECTION_STREAMING,
    CONNECTION_AWAITING_CLOSE, /* answered, waiting for the client to close */
};

struct connection {
    TAILQ_ENTRY(connection) link;
    struct http *http;
    enum connection_state state;
    bool is_trusted; /* it has shown a token */
    enum http_method method;
    int fd;
    struct tls *tls; /* NULL: no TLS */
    struct loop_watch *watch;
    uint64_t deadline_ns;
    uint64_t evictable_from_ns;     /* not closed to make room before this time,
                                   unless it has sent something */
    struct address_network network; /* of the client */
    bool is_loopback;
    size_t n_in; /* in AWAITING_CLOSE: bytes that were discarded */
    char in[LIMIT_HTTP_HEADERS];
    char *out; /* the answer; NULL: none yet */
    size_t n_out;
    size_t n_sent;
    struct feed_reader reader;
    bool
        is_cut_off; /* a stream that lacks events: it is closed within a second,
                        when no callback of the feed is running */
    struct loop_timer *delay; /* until the answer is written; NULL: at once */
    uint64_t last_taken_ns;   /* STREAMING: when the socket took something, or
                                 nothing was left for it */
};

TAILQ_HEAD(connections, connection);

struct http {
    struct http_options options;
    struct site site;
    struct feed *feed;       /* NULL: there is no page */
    struct tls_context *tls; /* NULL: no TLS */
    struct loop *loop;
    struct socket_listeners sockets;
    struct loop_watch *watches[ADDRESS_LIST_MAX]; /* [sockets.n] */
    struct loop_timer *timeout_timer; /* deadline of the oldest connection */
    struct loop_timer *resume_timer;  /* until connections are accepted again */
    struct accept_pause pause;
    struct connections connections; /* oldest first, without streams */
    struct connections streams;
    size_t n_connections; /* streams included */
    size_t n_connections_max;
    size_t n_streams;
    int reserved_fds[RESERVED_FDS_MAX]; /* descriptors held in reserve */
    size_t n_reserve_fds_held;
    size_t n_reserved_fds_max;
    bool is_running;
    pthread_t thread;
    char address[LIMIT_ADDRESS];
};

/* Serve a client. Takes ownership of fd. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
connection_create(struct http *http, int fd, const struct address *peer);

void
connection_destroy(struct connection *connection);

/* Close a connection to make room, after looking at what it has sent. Returns
 * false if there is none to close. */
bool
connections_evict_one(struct http *http);

/* Close connections whose time is over. A callback of the timer. */
void
on_connection_timeout(void *http);

/* Start the timer for the oldest connection. */
void
connection_timer_arm(struct http *http);

/* Close streams that take nothing. A callback of the feed. */
void
connections_on_second(void *http);

/* Callbacks of the feed. */
void
connection_on_events(struct feed_reader *reader,
                     const char *bytes,
                     size_t n_bytes);
size_t
connection_events_room(struct feed_reader *reader);
void
connection_on_answer(struct feed_reader *reader,
                     enum hoop_status status,
                     const char *json);

/* Hold descriptors in reserve. */
void
reserved_fds_fill(struct http *http);
/* Returns false if none was left. */
bool
reserved_fds_release_one(struct http *http);

#endif
