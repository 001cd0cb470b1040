/*
 * parallel/p2p_order.h - in which order a stage posts its four transfers
 *
 * Two orders, as Megatron has them. Batched: with the previous stage first,
 * everything started at once. Unbatched: first what goes from even ranks to odd
 * ones, then the other way, forward before backward; on every edge one end
 * sends while the other receives, so that no ring of stages blocks, even if
 * each transfer waited for the other end before the next is begun.
 *
 *     even  send next, recv prev, send prev, recv next
 *     odd   recv prev, send next, recv next, send prev
 *
 * What travels forward never meets a receive of what travels backward, whoever
 * the neighbours are: a way is a tag.
 */

#ifndef PARALLEL_P2P_ORDER_H
#define PARALLEL_P2P_ORDER_H

#include <stdint.h>

#include "hoop/p2p_communicator.h"

enum {
    P2P_ORDER_DIRECTIONS = 4
};

enum p2p_order {
    P2P_ORDER_BATCHED,
    P2P_ORDER_UNBATCHED,
};

/* [P2P_ORDER_DIRECTIONS], static. */
const enum hoop_p2p_direction *
p2p_order_of(enum p2p_order order, uint32_t rank);

enum p2p_order_way {
    P2P_ORDER_FORWARD,  /* to next, from prev */
    P2P_ORDER_BACKWARD, /* to prev, from next */
};

enum p2p_order_way
p2p_order_way(enum hoop_p2p_direction direction);

enum hoop_message_kind
p2p_order_kind(enum hoop_p2p_direction direction);

/* The rank at the other end, in a ring of size stages. */
uint32_t
p2p_order_peer(enum hoop_p2p_direction direction, uint32_t rank, uint32_t size);

#endif
