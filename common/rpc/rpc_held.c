/* rpc/rpc_held.c - replies that may not leave yet */

#include "rpc/rpc_held.h"

#include <assert.h>

#include "rpc/rpc_exchange.h"
#include "rpc/rpc_listener.h"

void
rpc_held_init(struct rpc_held *held)
{
    STAILQ_INIT(&held->replies);
    held->released = 0;
    held->reads = HELD_READS_WAIT;
}

void
rpc_held_send(struct rpc_held *held,
              struct rpc_exchange *exchange,
              struct message_span bytes,
              uint64_t number,
              enum held_kind kind)
{
    if (number <= held->released ||
        (kind == HELD_READ && held->reads == HELD_READS_PASS)) {
        rpc_exchange_reply(exchange, bytes);
        return;
    }
    /* As if the connection had been lost: the client asks again. */
    if (rpc_exchange_hold(exchange, bytes) != HOOP_OK) {
        rpc_exchange_break(exchange);
        return;
    }
    exchange->number = number;
    exchange->is_read = kind == HELD_READ;
    STAILQ_INSERT_TAIL(&held->replies, exchange, queued);
}

void
rpc_held_pass(struct rpc_held *held, enum held_reads reads)
{
    struct held_replies all = STAILQ_HEAD_INITIALIZER(all);
    struct rpc_exchange *exchange;

    held->reads = reads;
    if (reads == HELD_READS_WAIT)
        return;
    STAILQ_CONCAT(&all, &held->replies);
    while ((exchange = STAILQ_FIRST(&all))) {
        STAILQ_REMOVE_HEAD(&all, queued);
        if (exchange->is_read)
            rpc_exchange_send_held(exchange);
        else
            STAILQ_INSERT_TAIL(&held->replies, exchange, queued);
    }
}

void
rpc_held_release(struct rpc_held *held, uint64_t number)
{
    struct rpc_exchange *exchange;

    assert(number >= held->released);
    held->released = number;
    while ((exchange = STAILQ_FIRST(&held->replies)) &&
           exchange->number <= number) {
        STAILQ_REMOVE_HEAD(&held->replies, queued);
        rpc_exchange_send_held(exchange);
    }
}

bool
rpc_held_is_empty(const struct rpc_held *held)
{
    return STAILQ_EMPTY(&held->replies);
}
