/*
 * rpc/coordinator_connection.h - a client's connection under TLS, on a loop
 *
 * It is a stranger's until TLS has shaken hands and both have said hello.
 * Requests go to the owner, replies are queued and leave when the socket takes
 * them. A part of coordinator_listener.c. Thread: the loop's.
 */

#ifndef RPC_COORDINATOR_CONNECTION_H
#define RPC_COORDINATOR_CONNECTION_H

#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "rpc/carrier.h"
#include "rpc/rpc_connections.h"
#include "rpc/rpc_exchange.h"
#include "rpc/sp_stream.h"
#include "rpc/sp_writer.h"

struct address;
struct loop;
struct loop_watch;
struct coordinator_connection;
struct seal;

/* A request, and from the reply on, that. */
struct sealed_exchange {
    struct rpc_exchange exchange;
    uint32_t frame_id;
    uint8_t *bytes;
    size_t n_bytes;
    LIST_ENTRY(sealed_exchange) link; /* of its connection, or orphans */
    STAILQ_ENTRY(sealed_exchange) reply;
};

LIST_HEAD(sealed_exchanges, sealed_exchange);
STAILQ_HEAD(sealed_replies, sealed_exchange);

/*
 * SECURING -> GREETING -> READY
 *
 * Whatever goes wrong ends the connection, and with it this.
 */
enum sealed_state {
    SEALED_SECURING,
    SEALED_GREETING,
    SEALED_READY,
};

/* Only on_end may destroy the connection, and does. */
struct sealed_events {
    /* A stranger no longer. */
    void (*on_admitted)(struct coordinator_connection *connection);
    /* Fails: the client asks too much. */
    enum hoop_status (*on_request)(struct coordinator_connection *connection,
                                   const struct sp_frame *frame);
    /* Takes exchange, whose reply the socket has. */
    void (*on_sent)(struct sealed_exchange *exchange);
    /* The error text of this thread says why. */
    void (*on_end)(struct coordinator_connection *connection,
                   enum hoop_status status);
};

struct coordinator_connection {
    struct rpc_connection connection;
    struct rpc_listener *listener;
    const struct sealed_events *events;
    struct seal *seal;
    enum sealed_state state;
    struct carrier carrier;
    struct loop_watch *watch;
    struct sp_reader reader;
    struct sp_writer writer;
    struct sealed_exchanges exchanges;
    struct sealed_replies replies;
    struct sealed_exchange *leaving; /* the reply in writer; NULL: none */
    TAILQ_ENTRY(coordinator_connection) link; /* among strangers, or clients */
    uint64_t deadline_ns;                     /* a stranger's */
};

struct sealed_terms {
    struct loop *loop;
    struct seal *seal;
    struct rpc_listener *listener;
    const struct sealed_events *events; /* static */
};

/* Takes fd, also if it fails. Nothing is called from within. */
enum hoop_status
coordinator_connection_create(const struct sealed_terms *terms,
                              int fd,
                              const struct address *peer,
                              struct coordinator_connection **out_connection);
/* Its exchanges are the owner's. NULL is fine. */
void
coordinator_connection_destroy(struct coordinator_connection *connection);

/* It ends when the loop comes to it. */
void
coordinator_connection_cut(const struct rpc_connection *connection);

/* exchange is of the connection's list and stays there until it is sent. */
void
coordinator_connection_reply(struct coordinator_connection *connection,
                             struct sealed_exchange *exchange);

#endif
