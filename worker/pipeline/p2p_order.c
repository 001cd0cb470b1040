/* pipeline/p2p_order.c - the order in which a stage posts its four transfers */

#include "pipeline/p2p_order.h"

const enum hoop_p2p_direction *
p2p_order_directions(enum p2p_order order, uint32_t rank)
{
    static const enum hoop_p2p_direction batched[P2P_ORDER_DIRECTIONS] = {
        HOOP_P2P_SEND_PREV,
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_NEXT,
    };
    static const enum hoop_p2p_direction even[P2P_ORDER_DIRECTIONS] = {
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_PREV,
        HOOP_P2P_RECV_NEXT,
    };
    static const enum hoop_p2p_direction odd[P2P_ORDER_DIRECTIONS] = {
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_NEXT,
        HOOP_P2P_SEND_PREV,
    };

    switch (order) {
    case P2P_ORDER_BATCHED:
        return batched;
    case P2P_ORDER_UNBATCHED:
        break;
    }
    return rank % 2 == 0 ? even : odd;
}

enum p2p_direction_pass
p2p_direction_pass(enum hoop_p2p_direction direction)
{
    return direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_RECV_PREV
               ? P2P_ORDER_FORWARD
               : P2P_ORDER_BACKWARD;
}

enum hoop_message_kind
p2p_direction_kind(enum hoop_p2p_direction direction)
{
    return direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_SEND_PREV
               ? HOOP_SEND
               : HOOP_RECV;
}

uint32_t
p2p_direction_peer(enum hoop_p2p_direction direction,
                   uint32_t rank,
                   uint32_t size)
{
    return direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_RECV_NEXT
               ? (rank + 1) % size
               : (rank + size - 1) % size;
}
