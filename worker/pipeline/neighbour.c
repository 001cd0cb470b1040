/* pipeline/neighbour.c - the directions between a stage and its neighbours */

#include "pipeline/neighbour.h"

const struct neighbour_direction neighbour_directions[NEIGHBOUR_N_DIRECTIONS] =
    {
        [HOOP_P2P_SEND_PREV] = {"input_grad", HOOP_SEND,
                                NEIGHBOUR_PASS_BACKWARD, false},
        [HOOP_P2P_RECV_PREV] = {"input", HOOP_RECV, NEIGHBOUR_PASS_FORWARD,
                                false},
        [HOOP_P2P_SEND_NEXT] = {"output", HOOP_SEND, NEIGHBOUR_PASS_FORWARD,
                                true},
        [HOOP_P2P_RECV_NEXT] = {"output_grad", HOOP_RECV,
                                NEIGHBOUR_PASS_BACKWARD, true},
};

uint32_t
neighbour_rank(enum hoop_p2p_direction direction, uint32_t rank, uint32_t size)
{
    if (size == 0)
        return HOOP_NO_RANK;
    return neighbour_directions[direction].is_next ? (rank + 1) % size
                                                   : (rank + size - 1) % size;
}

struct neighbours
neighbours_in_ring(hoop_comm_t *comm)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);

    return (struct neighbours){
        .comm = comm,
        .prev = neighbour_rank(HOOP_P2P_SEND_PREV, rank, size),
        .next = neighbour_rank(HOOP_P2P_SEND_NEXT, rank, size),
    };
}

struct tensor_message
neighbour_message(const struct neighbours *neighbours,
                  enum hoop_p2p_direction direction,
                  const struct hoop_tensor *tensor)
{
    const struct neighbour_direction *row = &neighbour_directions[direction];

    return (struct tensor_message){
        .kind = row->kind,
        .tensor = tensor,
        .peer = row->is_next ? neighbours->next : neighbours->prev,
    };
}

const enum hoop_p2p_direction *
neighbour_order_directions(enum neighbour_order order, uint32_t rank)
{
    static const enum hoop_p2p_direction batched[NEIGHBOUR_N_DIRECTIONS] = {
        HOOP_P2P_SEND_PREV,
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_NEXT,
    };
    static const enum hoop_p2p_direction even[NEIGHBOUR_N_DIRECTIONS] = {
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_PREV,
        HOOP_P2P_RECV_NEXT,
    };
    static const enum hoop_p2p_direction odd[NEIGHBOUR_N_DIRECTIONS] = {
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_NEXT,
        HOOP_P2P_SEND_PREV,
    };

    switch (order) {
    case NEIGHBOUR_ORDER_BATCHED:
        return batched;
    case NEIGHBOUR_ORDER_UNBATCHED:
        break;
    }
    return rank % 2 == 0 ? even : odd;
}
