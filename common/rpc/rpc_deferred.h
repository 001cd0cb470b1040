/*
 * rpc/rpc_deferred.h - replies that may not leave yet
 *
 * Each waits for a number; the numbers ascend from one reply to the next, so
 * that a release ends where the first has to stay. Answers to who only reads may
 * pass all others for a while: what they say may then be forgotten again.
 * Thread: the loop's.
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

/* Takes exchange; the bytes are copied. The reply leaves at once if number has
 * been released, or it is a read's that may pass. */
void
rpc_deferred_send(struct rpc_deferred *deferred,
                  struct rpc_exchange *exchange,
                  struct message_span bytes,
                  uint64_t number,
                  enum deferred_kind kind);

/* From now on. DEFERRED_READS_PASS: those that wait leave, too. */
void
rpc_deferred_pass(struct rpc_deferred *deferred, enum deferred_reads reads);

/* number never shrinks. */
void
rpc_deferred_release(struct rpc_deferred *deferred, uint64_t number);

bool
rpc_deferred_is_empty(const struct rpc_deferred *deferred);

#endif
