/*
 * rpc/coordinator_connection.h - a client's connection, plain or under TLS
 *
 * Speaks NNG's request protocol (rpc/sp_stream.h) on the loop. Requests go to
 * the owner, replies are queued and leave when the socket takes them. Input is
 * read into memory that is charged to the connection's account (rpc/budget.h);
 * a message that is too large for who sends it is answered and skipped. While
 * many bytes of replies wait, no more requests are read. A part of
 * rpc_listener.c. Thread: the loop's.
 */

#ifndef RPC_COORDINATOR_CONNECTION_H
#define RPC_COORDINATOR_CONNECTION_H

#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "rpc/authentication.h"
#include "rpc/budget.h"
#include "rpc/connection_pool.h"
#include "rpc/control_stream.h"
#include "rpc/rpc_exchange.h"
#include "rpc/sp_stream.h"
#include "rpc/sp_writer.h"

struct coordinator_connection;
struct loop;
struct loop_watch;
struct rpc_tls;

enum {
    PEER_TEXT = 96, /* an IPv6 address with its interface, and a port */
};

/*
 * TLS_HANDSHAKE -> HELLO -> READY
 *
 * Without TLS it begins at HELLO. Whatever goes wrong ends the connection,
 * and with it this.
 */
enum connection_state {
    CONNECTION_TLS_HANDSHAKE,
    CONNECTION_HELLO,
    CONNECTION_READY,
};

/* Only on_end may destroy the connection, and does. */
struct connection_events {
    /* Both have said hello. */
    enum hoop_status (*on_ready)(struct coordinator_connection *connection);
    /* Fails: the client asks too much. */
    enum hoop_status (*on_request)(struct coordinator_connection *connection,
                                   const struct sp_frame *frame);
    /* A request was skipped, and this thread's error text says why. */
    enum hoop_status (*on_skipped)(struct coordinator_connection *connection,
                                   uint32_t frame_id);
    /* Something has come. */
    void (*on_heard)(struct coordinator_connection *connection);
    /* Takes exchange, whose reply the socket has. */
    void (*on_sent)(struct rpc_exchange *exchange);
    /* The error text of this thread says why. */
    void (*on_end)(struct coordinator_connection *connection,
                   enum hoop_status status);
};

struct coordinator_connection {
    uint32_t id; /* 0: not READY */
    struct rpc_listener *listener;
    const struct connection_events *events;
    struct rpc_tls *rpc_tls; /* NULL: plain */
    enum connection_state state;
    struct control_stream control_stream;
    struct loop_watch *watch;
    struct sp_reader reader;
    size_t n_room_charged; /* of reader */
    struct sp_writer writer;
    struct budget_account account;
    struct pool_entry entry;
    struct authentication auth;
    struct rpc_exchanges exchanges;
    size_t n_exchanges;
    size_t n_uncharged; /* of them, whose reply is not charged */
    struct rpc_replies replies;
    size_t n_reply_bytes;                     /* of replies, and leaving */
    struct rpc_exchange *leaving;             /* in writer; NULL: none */
    TAILQ_ENTRY(coordinator_connection) link; /* greeting, or ready */
    uint64_t deadline_ns;                     /* until it is READY */
    char peer[PEER_TEXT];
};

struct connection_options {
    struct loop *loop;
    struct rpc_tls *rpc_tls;
    struct budget *budget;
    struct rpc_listener *listener;
    const struct connection_events *events; /* static */
};

/* Takes fd, also if it fails. Nothing is called from within. */
enum hoop_status
coordinator_connection_create(const struct connection_options *options,
                              int fd,
                              const struct address *peer,
                              struct coordinator_connection **out_connection);
/* Its exchanges are the owner's. NULL is fine. */
void
coordinator_connection_destroy(struct coordinator_connection *connection);

/* It ends when the loop comes to it. */
void
coordinator_connection_cut(const struct coordinator_connection *connection);

/* exchange is of the connection's list and stays there until it is sent. What
 * the socket takes at once is not kept. */
void
coordinator_connection_reply(struct coordinator_connection *connection,
                             struct rpc_exchange *exchange);

#endif
