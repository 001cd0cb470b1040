/*
 * pipeline/p2p_communicator.h - the settings of a P2PCommunicator
 *
 * Also the order in which a stage posts its transfers, and shapes as they are
 * sent.
 */

#ifndef PIPELINE_P2P_COMMUNICATOR_H
#define PIPELINE_P2P_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"
#include "hoop/tensor.h"

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
 *
 * Each direction of travel has its own tag, so a forward message never
 * matches a receive of a backward one, even if both neighbours are the same
 * rank.
 */

enum {
    P2P_N_DIRECTIONS = 4
};

enum p2p_order {
    P2P_ORDER_BATCHED,
    P2P_ORDER_UNBATCHED,
};

/* Returns the P2P_N_DIRECTIONS directions in order. The array is static. */
const enum hoop_p2p_direction *
p2p_order_directions(enum p2p_order order, uint32_t rank);

enum p2p_direction_pass {
    P2P_PASS_FORWARD,  /* to next, from prev */
    P2P_PASS_BACKWARD, /* to prev, from next */
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

struct hoop_p2p {
    hoop_comm_t *stages;
    uint32_t rank;
    uint32_t size; /* 0: this process is not a member */
    bool has_dtype;
    enum hoop_dtype dtype; /* of received tensors */
    bool has_variable_shapes;
    enum p2p_order order;
};

/* Begins a public call: clears the last error and tells whether this process is
 * a member. A process that is not does nothing in the call.
 * Handle: HOOP_E_INVALID (p2p is NULL). */
enum hoop_status
p2p_communicator_check_member(const struct hoop_p2p *p2p, bool *out_is_member);

/* Sequence, micro-batch and hidden dimension. */
enum {
    P2P_SHAPES_DIMS = 3
};

/* Writes a shape as sizes. Error texts call it name.
 * Handle: HOOP_E_INVALID (not three dimensions, too many elements). */
enum hoop_status
p2p_shapes_pack(const struct hoop_shape *shape,
                const char *name,
                int64_t sizes[P2P_SHAPES_DIMS]);

/* Reads the sizes that came from rank.
 * Handle: HOOP_E_MISMATCH (no tensor can have them). */
enum hoop_status
p2p_shapes_unpack(const int64_t sizes[P2P_SHAPES_DIMS],
                  uint32_t rank,
                  struct hoop_shape *out_shape);

#endif
