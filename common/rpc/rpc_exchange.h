/*
 * rpc/rpc_exchange.h - one request of a connection, from arrival to reply
 *
 * For the listener and its parts; others know rpc/rpc_listener.h only.
 */

#ifndef RPC_RPC_EXCHANGE_H
#define RPC_RPC_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "rpc/messages/message.h"
#include "rpc/rpc_listener.h"

struct authentication;
struct coordinator_connection;

enum {
    /* More are not begun, whatever clients do. */
    EXCHANGES_MAX = 2 * LIMIT_RPC_REQUESTS,
    /* A client that asks so much and reads no reply is cut off. */
    SIBLINGS_MAX = 2 * LIMIT_RPC_PIPE_REQUESTS,
};

struct rpc_exchange {
    struct rpc_listener *listener;
    struct coordinator_connection *connection; /* NULL: gone */
    uint64_t arrived_ns;
    uint32_t frame_id;
    uint32_t
        rules; /* of the listener's faults, as bits: those about its call */
    size_t n_charged;  /* to the account of its connection */
    bool is_uncharged; /* its reply is, for want of room there */
    struct message_span
        message;    /* borrowed while on_exchange runs; then none */
    uint8_t *reply; /* from the reply on */
    size_t n_reply;
    uint64_t number; /* that the reply waits for: rpc/rpc_deferred.h */
    bool is_read;    /* ... unless reads may pass */
    LIST_ENTRY(rpc_exchange) link; /* of its connection, or orphans */
    STAILQ_ENTRY(rpc_exchange) queued;
};

LIST_HEAD(rpc_exchanges, rpc_exchange);
STAILQ_HEAD(rpc_replies, rpc_exchange);

/* Its connection is closed soon: not from within. */
void
rpc_exchange_cut(const struct rpc_exchange *exchange);

/* Of its connection; NULL: gone. */
struct authentication *
rpc_exchange_authentication(struct rpc_exchange *exchange);

struct faults *
rpc_listener_faults(struct rpc_listener *listener);

#endif
