/* rpc/rpc_held.c - replies that may not leave yet */

#include "rpc/rpc_held.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/rpc_listener.h"

struct held_reply {
    STAILQ_ENTRY(held_reply) link;
    struct rpc_exchange *exchange;
    uint64_t number; /* the one it waits for */
    enum held_kind kind;
    size_t n_bytes;
    uint8_t bytes[];
};

void
rpc_held_init(struct rpc_held *held)
{
    STAILQ_INIT(&held->replies);
    held->released = 0;
    held->reads = HELD_READS_WAIT;
}

void
rpc_held_deinit(struct rpc_held *held)
{
    struct held_reply *reply;

    while ((reply = STAILQ_FIRST(&held->replies))) {
        STAILQ_REMOVE_HEAD(&held->replies, link);
        free(reply);
    }
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

    struct held_reply *reply = malloc(sizeof(*reply) + bytes.n_bytes);

    /* As if the connection had been lost: the client asks again. */
    if (!reply) {
        rpc_exchange_break(exchange);
        return;
    }
    reply->exchange = exchange;
    reply->number = number;
    reply->kind = kind;
    reply->n_bytes = bytes.n_bytes;
    memcpy(reply->bytes, bytes.bytes, bytes.n_bytes);
    STAILQ_INSERT_TAIL(&held->replies, reply, link);
}

static void
reply_leave(struct held_reply *reply)
{
    rpc_exchange_reply(reply->exchange,
                       (struct message_span){reply->bytes, reply->n_bytes});
    free(reply);
}

void
rpc_held_pass(struct rpc_held *held, enum held_reads reads)
{
    struct held_replies all = STAILQ_HEAD_INITIALIZER(all);
    struct held_reply *reply;

    held->reads = reads;
    if (reads == HELD_READS_WAIT)
        return;
    STAILQ_CONCAT(&all, &held->replies);
    while ((reply = STAILQ_FIRST(&all))) {
        STAILQ_REMOVE_HEAD(&all, link);
        if (reply->kind == HELD_READ)
            reply_leave(reply);
        else
            STAILQ_INSERT_TAIL(&held->replies, reply, link);
    }
}

void
rpc_held_release(struct rpc_held *held, uint64_t number)
{
    struct held_reply *reply;

    assert(number >= held->released);
    held->released = number;
    while ((reply = STAILQ_FIRST(&held->replies)) && reply->number <= number) {
        STAILQ_REMOVE_HEAD(&held->replies, link);
        reply_leave(reply);
    }
}

bool
rpc_held_is_empty(const struct rpc_held *held)
{
    return STAILQ_EMPTY(&held->replies);
}
