/*
 * rpc/rpc_held.h - replies that may not leave yet
 *
 * Each waits for a number; the numbers ascend from one reply to the next, so
 * that a release ends where the first has to stay. Answers to who only reads may
 * pass all others for a while: what they say may then be forgotten again.
 * Thread: the loop's.
 */

#ifndef RPC_RPC_HELD_H
#define RPC_RPC_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "rpc/messages/message.h"

struct rpc_exchange;

STAILQ_HEAD(held_replies, rpc_exchange);

enum held_kind {
    HELD_CHANGE,
    HELD_READ, /* of a method that changes nothing */
};

enum held_reads {
    HELD_READS_WAIT,
    HELD_READS_PASS,
};

struct rpc_held {
    struct held_replies replies;
    uint64_t released;
    enum held_reads reads;
};

void
rpc_held_init(struct rpc_held *held);

/* Takes exchange; the bytes are copied. The reply leaves at once if number has
 * been released, or it is a read's that may pass. */
void
rpc_held_send(struct rpc_held *held,
              struct rpc_exchange *exchange,
              struct message_span bytes,
              uint64_t number,
              enum held_kind kind);

/* From now on. HELD_READS_PASS: those that wait leave, too. */
void
rpc_held_pass(struct rpc_held *held, enum held_reads reads);

/* number never shrinks. */
void
rpc_held_release(struct rpc_held *held, uint64_t number);

bool
rpc_held_is_empty(const struct rpc_held *held);

#endif
