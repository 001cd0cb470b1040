/*
 * rpc/rpc_exchange.c - an NNG context and the request it carries
 *
 * No test of its own: all of rpc_server_test.c goes through it.
 */

#include "rpc/rpc_exchange.h"

#include "base/state.h"
#include "rpc/rpc_connections.h"

static const struct sm_state exchange_states[] = {
    [EXCHANGE_IDLE] = {"idle", SM_TO(EXCHANGE_RECEIVING)},
    [EXCHANGE_RECEIVING] = {"receiving",
                            SM_TO(EXCHANGE_HELD) | SM_TO(EXCHANGE_IDLE)},
    [EXCHANGE_HELD] = {"held", SM_TO(EXCHANGE_SENDING) | SM_TO(EXCHANGE_IDLE)},
    [EXCHANGE_SENDING] = {"sending", SM_TO(EXCHANGE_IDLE)},
};

void
rpc_exchange_move(struct rpc_exchange *exchange, enum exchange_state next)
{
    exchange->state =
        state_move(exchange_states, "exchange", exchange->state, next);
}

struct message_span
rpc_exchange_message(const struct rpc_exchange *exchange)
{
    return (struct message_span){
        nng_msg_body(exchange->message),
        nng_msg_len(exchange->message),
    };
}

uint32_t
rpc_exchange_connection(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->id : 0;
}

uint64_t
rpc_exchange_arrived_ns(const struct rpc_exchange *exchange)
{
    return exchange->arrived_ns;
}

const char *
rpc_exchange_peer(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->peer : "";
}

size_t
rpc_exchange_siblings(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->n_exchanges : 0;
}
