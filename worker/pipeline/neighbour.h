/*
 * pipeline/neighbour.h - the directions between a stage and its neighbours
 *
 * The calls of a pipeline, those of a P2PCommunicator and the messages of a
 * schedule travel in four directions: to and from the previous and the next
 * stage. Each direction of travel has its own tag, so a forward message never
 * matches a receive of a backward one, even if both neighbours are the same
 * rank.
 */

#ifndef PIPELINE_NEIGHBOUR_H
#define PIPELINE_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/comm.h"
#include "hoop/p2p.h"
#include "hoop/p2p_communicator.h"
#include "hoop/tensor.h"

#include "api/tensor_message.h"

enum {
    NEIGHBOUR_N_DIRECTIONS = 4
};

enum neighbour_pass {
    NEIGHBOUR_PASS_FORWARD,  /* to next, from prev */
    NEIGHBOUR_PASS_BACKWARD, /* to prev, from next */
};

struct neighbour_direction {
    const char *list; /* the name of what travels, for example "input_grad" */
    enum hoop_message_kind kind;
    enum neighbour_pass pass;
    bool is_next; /* to or from the next stage */
};

/* By enum hoop_p2p_direction. */
extern const struct neighbour_direction
    neighbour_directions[NEIGHBOUR_N_DIRECTIONS];

/* Returns the rank at the other end, in a ring of size stages. HOOP_NO_RANK if
 * size is 0. */
uint32_t
neighbour_rank(enum hoop_p2p_direction direction, uint32_t rank, uint32_t size);

/* The ranks of comm that are next to a stage. */
struct neighbours {
    hoop_comm_t *comm;
    uint32_t prev;
    uint32_t next;
};

/* Returns the neighbours of the calling process in the ring of all ranks. They
 * are HOOP_NO_RANK if it is not a member. */
struct neighbours
neighbours_in_ring(hoop_comm_t *comm);

/* Returns a message of the tensor in this direction, without a tag. */
struct tensor_message
neighbour_message(const struct neighbours *neighbours,
                  enum hoop_p2p_direction direction,
                  const struct hoop_tensor *tensor);

/*
 * The order in which a stage posts its four transfers.
 *
 * There are two orders, as in Megatron. Batched: first those with the
 * previous stage, and all are started together. Unbatched: first forward,
 * then backward, and of each first transfers from even to odd ranks, then
 * those from odd to even ranks. On every link one end sends while the other
 * receives, so no ring of stages deadlocks even if each transfer waits for
 * the other end before the next one starts.
 *
 *     even  send next, recv prev, send prev, recv next
 *     odd   recv prev, send next, recv next, send prev
 */

enum neighbour_order {
    NEIGHBOUR_ORDER_BATCHED,
    NEIGHBOUR_ORDER_UNBATCHED,
};

/* Returns the NEIGHBOUR_N_DIRECTIONS directions in order. The array is
 * static. */
const enum hoop_p2p_direction *
neighbour_order_directions(enum neighbour_order order, uint32_t rank);

#endif
