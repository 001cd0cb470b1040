/*
 * rpc/rep_exchange.h - an NNG context and the request it carries
 *
 * A part of rep_listener.c.
 */

#ifndef RPC_REP_EXCHANGE_H
#define RPC_REP_EXCHANGE_H

#include <sys/queue.h>

#include "rpc/nng_socket.h"
#include "rpc/rpc_exchange.h"

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

struct rep_exchange {
    struct rpc_exchange exchange;
    enum exchange_state state;
    nng_ctx context;
    nng_aio *aio;
    nng_msg *message;
    STAILQ_ENTRY(rep_exchange) ended; /* its receive or send */
    LIST_ENTRY(rep_exchange) link;    /* in all */
    SLIST_ENTRY(rep_exchange) idle;
};

/* Every change of state. */
void
rep_exchange_move(struct rep_exchange *exchange, enum exchange_state next);

#endif
