/*
 * rpc/rep_exchange.c - an NNG context and the request it carries
 *
 * No test of its own: all of rpc_server_test.c goes through it.
 */

#include "rpc/rep_exchange.h"

#include "base/state.h"

static const struct sm_state exchange_states[] = {
    [EXCHANGE_IDLE] = {"idle", SM_TO(EXCHANGE_RECEIVING)},
    [EXCHANGE_RECEIVING] = {"receiving",
                            SM_TO(EXCHANGE_HELD) | SM_TO(EXCHANGE_IDLE)},
    [EXCHANGE_HELD] = {"held", SM_TO(EXCHANGE_SENDING) | SM_TO(EXCHANGE_IDLE)},
    [EXCHANGE_SENDING] = {"sending", SM_TO(EXCHANGE_IDLE)},
};

void
rep_exchange_move(struct rep_exchange *exchange, enum exchange_state next)
{
    exchange->state =
        state_move(exchange_states, "exchange", exchange->state, next);
}
