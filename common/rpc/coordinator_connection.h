/*
 * rpc/coordinator_connection.h - the coordinator's end of a client's connection
 *
 * Speaks NNG's request protocol (rpc/sp_stream.h) on the loop, with or without
 * TLS. Requests are passed to the owner; replies are queued until the socket
 * accepts them. Input is read into memory that is charged to the connection's
 * account (rpc/budget.h); a message that is too large for its sender is
 * answered and skipped. While too many bytes of replies wait, no more requests
 * are read. A part of rpc_listener.c. Thread: the loop's.
 */

#ifndef RPC_COORDINATOR_CONNECTION_H
#define RPC_COORDINATOR_CONNECTION_H

#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "rpc/authentication.h"
#include "rpc/budget.h"
#include "rpc/connection_pool.h"
#include "rpc/rpc_exchange.h"
#include "rpc/rpc_tls.h"
#include "rpc/sp_stream.h"

struct coordinator_connection;
struct loop;
struct loop_watch;
struct rpc_tls;

enum {
    PEER_TEXT = 96, /* room for an IPv6 address with its interface, and a
                       port */
};

/*
 *   TLS_HANDSHAKE -> HELLO -> READY
 *
 * Without TLS the first state is HELLO. Any error ends the connection.
 */
enum connection_state {
    CONNECTION_TLS_HANDSHAKE,
    CONNECTION_HELLO,
    CONNECTION_READY,
};

/* Callbacks to the owner. Only on_end may destroy the connection, and it
 * must. */
struct connection_events {
    /* Both sides have said hello. */
    enum hoop_status (*on_ready)(struct coordinator_connection *connection);
    /* A request has arrived. A failure, for too many requests, ends the
     * connection. */
    enum hoop_status (*on_request)(struct coordinator_connection *connection,
                                   const struct sp_frame *frame);
    /* A request was skipped; this thread's error text says why. */
    enum hoop_status (*on_skipped)(struct coordinator_connection *connection,
                                   uint32_t frame_id);
    /* Something was received. */
    void (*on_heard)(struct coordinator_connection *connection);
    /* The socket has accepted the reply of exchange. The callee takes ownership
     * of exchange. */
    void (*on_sent)(struct rpc_exchange *exchange);
    /* The connection is to be ended; this thread's error text says why. */
    void (*on_end)(struct coordinator_connection *connection,
                   enum hoop_status status);
};

struct coordinator_connection {
    uint32_t id; /* 0 until READY */
    struct rpc_listener *listener;
    const struct connection_events *events;
    struct rpc_tls *rpc_tls; /* NULL: no TLS */
    enum connection_state state;
    struct control_stream control_stream;
    struct loop_watch *watch;
    struct sp_reader reader;
    size_t n_room_charged; /* charge for the reader's memory */
    struct sp_writer writer;
    struct budget_account account;
    struct pool_entry entry;
    struct authentication auth;
    struct rpc_exchanges exchanges;
    size_t n_exchanges;
    size_t n_uncharged; /* exchanges whose reply is not charged */
    struct rpc_replies replies;
    size_t n_reply_bytes;         /* bytes of replies, and of
                                                 leaving */
    struct rpc_exchange *leaving; /* the reply in writer; NULL:
                                                 none */
    TAILQ_ENTRY(coordinator_connection)
    link;                 /* in the listener's list
                                                 handshaking_connections or ready */
    uint64_t deadline_ns; /* time limit for becoming
                                                 READY */
    char peer[PEER_TEXT];
};

struct connection_options {
    struct loop *loop;
    struct rpc_tls *rpc_tls;
    struct budget *budget;
    struct rpc_listener *listener;
    const struct connection_events *events; /* static */
};

/* Create a connection. Takes fd, even on failure. No callback is called from
 * within. */
enum hoop_status
coordinator_connection_create(const struct connection_options *options,
                              int fd,
                              const struct address *peer,
                              struct coordinator_connection **out_connection);
/* Destroy the connection; its exchanges stay with the owner. NULL is
 * allowed. */
void
coordinator_connection_destroy(struct coordinator_connection *connection);

/* Shut down the socket; the connection ends in a later turn of the loop. */
void
coordinator_connection_shutdown(
    const struct coordinator_connection *connection);

/* Send or queue the reply of exchange, which is in the connection's list and
 * stays there until it is sent. Bytes the socket accepts at once are not
 * queued. */
void
coordinator_connection_reply(struct coordinator_connection *connection,
                             struct rpc_exchange *exchange);

#endif
