/*
 * rpc/rpc_exchange.h - what listeners of both kinds and their exchanges share
 *
 * For the listeners; others know rpc/rpc_listener.h only.
 */

#ifndef RPC_RPC_EXCHANGE_H
#define RPC_RPC_EXCHANGE_H

#include <stdint.h>

#include "base/limits.h"
#include "rpc/rpc_listener.h"

struct faults;
struct rpc_connection;

enum {
    /* More are not begun, whatever clients do. */
    EXCHANGES_MAX = 2 * LIMIT_RPC_REQUESTS,
    /* A client that asks so much and reads no reply is cut off. */
    SIBLINGS_MAX = 2 * LIMIT_RPC_PIPE_REQUESTS,
};

struct rpc_listener_type {
    void (*destroy)(struct rpc_listener *listener);
    size_t (*n_connections)(struct rpc_listener *listener);

    struct message_span (*message)(const struct rpc_exchange *exchange);
    void (*reply)(struct rpc_exchange *exchange, struct message_span bytes);
    void (*drop)(struct rpc_exchange *exchange);
    /* Ends it soon: not from within. */
    void (*cut)(const struct rpc_connection *connection);
};

/* The first member of a listener of each kind ... */
struct rpc_listener {
    const struct rpc_listener_type *type;
    struct rpc_listener_events events;
    void *owner;
    uint16_t port;
    size_t n_sending;
    struct faults *faults; /* NULL: none */
};

/* ... and of its exchanges. */
struct rpc_exchange {
    struct rpc_listener *listener;
    struct rpc_connection *connection; /* NULL: gone */
    uint64_t arrived_ns;
    uint32_t
        rules; /* of the listener's faults, as bits: those about its call */
};

/* Its connection is closed. */
void
rpc_exchange_cut(const struct rpc_exchange *exchange);

#endif
