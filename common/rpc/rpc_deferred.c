/* rpc/rpc_deferred.c - replies that must wait until their state is durable */

#include "rpc/rpc_deferred.h"

#include <assert.h>

#include "rpc/rpc_exchange.h"
#include "rpc/rpc_listener.h"

void
rpc_deferred_init(struct rpc_deferred *deferred)
{
    STAILQ_INIT(&deferred->replies);
    deferred->released = 0;
    deferred->reads = DEFERRED_READS_WAIT;
}

void
rpc_deferred_send(struct rpc_deferred *deferred,
                  struct rpc_exchange *exchange,
                  struct message_span bytes,
                  uint64_t number,
                  enum deferred_kind kind)
{
    if (number <= deferred->released ||
        (kind == DEFERRED_READ && deferred->reads == DEFERRED_READS_PASS)) {
        rpc_exchange_reply(exchange, bytes);
        return;
    }
    /* Without memory, close the connection, so that the client asks again. */
    if (rpc_exchange_defer(exchange, bytes) != HOOP_OK) {
        rpc_exchange_abort(exchange);
        return;
    }
    exchange->number = number;
    exchange->is_read = kind == DEFERRED_READ;
    STAILQ_INSERT_TAIL(&deferred->replies, exchange, queued);
}

void
rpc_deferred_set_read_mode(struct rpc_deferred *deferred,
                           enum deferred_reads reads)
{
    struct deferred_replies all = STAILQ_HEAD_INITIALIZER(all);
    struct rpc_exchange *exchange;

    deferred->reads = reads;
    if (reads == DEFERRED_READS_WAIT)
        return;
    STAILQ_CONCAT(&all, &deferred->replies);
    while ((exchange = STAILQ_FIRST(&all))) {
        STAILQ_REMOVE_HEAD(&all, queued);
        if (exchange->is_read)
            rpc_exchange_send_deferred(exchange);
        else
            STAILQ_INSERT_TAIL(&deferred->replies, exchange, queued);
    }
}

void
rpc_deferred_release(struct rpc_deferred *deferred, uint64_t number)
{
    struct rpc_exchange *exchange;

    assert(number >= deferred->released);
    deferred->released = number;
    while ((exchange = STAILQ_FIRST(&deferred->replies)) &&
           exchange->number <= number) {
        STAILQ_REMOVE_HEAD(&deferred->replies, queued);
        rpc_exchange_send_deferred(exchange);
    }
}

bool
rpc_deferred_is_empty(const struct rpc_deferred *deferred)
{
    return STAILQ_EMPTY(&deferred->replies);
}
