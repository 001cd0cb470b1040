/*
 * rpc/rpc_exchange.h - an NNG context and the request it carries
 *
 * A part of rpc_listener.c; others know rpc/rpc_listener.h only.
 */

#ifndef RPC_RPC_EXCHANGE_H
#define RPC_RPC_EXCHANGE_H

#include <stdint.h>
#include <sys/queue.h>

#include "rpc/nng_socket.h"
#include "rpc/rpc_listener.h"

struct rpc_connection;

/*
 * IDLE -> RECEIVING -> HELD -> SENDING -> IDLE
 *             |         `-> IDLE (dropped)
 *             `-> IDLE (closed)
 */
enum exchange_state {
    EXCHANGE_IDLE,
    EXCHANGE_RECEIVING,
    EXCHANGE_HELD,
    EXCHANGE_SENDING,
};

struct rpc_exchange {
    struct rpc_listener *listener;
    enum exchange_state state;
    nng_ctx context;
    nng_aio *aio;
    nng_msg *message;
    struct rpc_connection *connection; /* NULL: gone */
    uint64_t arrived_ns;
    STAILQ_ENTRY(rpc_exchange) ended; /* its receive or send */
    LIST_ENTRY(rpc_exchange) link;    /* in all */
    SLIST_ENTRY(rpc_exchange) idle;
};

/* Every change of state. */
void
rpc_exchange_move(struct rpc_exchange *exchange, enum exchange_state next);

#endif
