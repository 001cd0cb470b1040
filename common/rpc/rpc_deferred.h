/*
 * rpc/rpc_deferred.h - replies that must wait until their state is durable
 *
 * Each reply waits for a number. The numbers ascend from one reply to the next,
 * so a release stops at the first reply that must stay. Replies to reads may be
 * allowed to pass all others for a while; the state that they report may then
 * be lost again. Thread: the loop's.
 */

#ifndef RPC_RPC_DEFERRED_H
#define RPC_RPC_DEFERRED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/messages/message.h"

struct rpc_exchange;

STAILQ_HEAD(deferred_replies, rpc_exchange);

enum deferred_kind {
    DEFERRED_CHANGE,
    DEFERRED_READ, /* of a method that changes nothing */
};

enum deferred_reads {
    DEFERRED_READS_WAIT,
    DEFERRED_READS_PASS,
};

struct rpc_deferred {
    struct deferred_replies replies;
    uint64_t released;
    enum deferred_reads reads;
};

void
rpc_deferred_init(struct rpc_deferred *deferred);

/* Send the reply at once if number has been released, or if it is a read and
 * reads may pass; otherwise keep a copy. Takes exchange. */
void
rpc_deferred_send(struct rpc_deferred *deferred,
                  struct rpc_exchange *exchange,
                  struct message_span bytes,
                  uint64_t number,
                  enum deferred_kind kind);

/* Set whether reads may pass from now on. With DEFERRED_READS_PASS the waiting
 * reads are sent too. */
void
rpc_deferred_set_read_mode(struct rpc_deferred *deferred,
                           enum deferred_reads reads);

/* Send the replies that wait for a number up to this one. number never
 * decreases. */
void
rpc_deferred_release(struct rpc_deferred *deferred, uint64_t number);

bool
rpc_deferred_is_empty(const struct rpc_deferred *deferred);

#endif
