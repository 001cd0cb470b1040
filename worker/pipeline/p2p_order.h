/*
 * pipeline/p2p_order.h - the order in which a stage posts its four transfers
 *
 * There are two orders, as in Megatron. Batched: first those with the previous
 * stage, and all are started together. Unbatched: first forward, then backward,
 * and of each first transfers from even to odd ranks, then those from odd to
 * even ranks. On every link one end sends while the other receives, so no ring
 * of stages deadlocks even if each transfer waits for the other end before the
 * next one starts.
 *
 *     even  send next, recv prev, send prev, recv next
 *     odd   recv prev, send next, recv next, send prev
 *
 * Each direction of travel has its own tag, so a forward message never matches
 * a receive of a backward one, even if both neighbours are the same rank.
 */

#ifndef PIPELINE_P2P_ORDER_H
#define PIPELINE_P2P_ORDER_H

#include <stdint.h>

#include "hoop/p2p_communicator.h"

enum {
    P2P_ORDER_DIRECTIONS = 4
};

enum p2p_order {
    P2P_ORDER_BATCHED,
    P2P_ORDER_UNBATCHED,
};

/* Returns the P2P_ORDER_DIRECTIONS directions in order. The array is static. */
const enum hoop_p2p_direction *
p2p_order_directions(enum p2p_order order, uint32_t rank);

enum p2p_direction_pass {
    P2P_ORDER_FORWARD,  /* to next, from prev */
    P2P_ORDER_BACKWARD, /* to prev, from next */
};

/* Return the direction of travel of a transfer, and whether it is a send. */
enum p2p_direction_pass
p2p_direction_pass(enum hoop_p2p_direction direction);

enum hoop_message_kind
p2p_direction_kind(enum hoop_p2p_direction direction);

/* Returns the rank at the other end, in a ring of size stages. */
uint32_t
p2p_direction_peer(enum hoop_p2p_direction direction,
                   uint32_t rank,
                   uint32_t size);

#endif
