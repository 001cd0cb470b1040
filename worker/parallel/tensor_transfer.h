/*
 * parallel/tensor_transfer.h - one tensor of a transfer, on its way
 *
 * What is received has its memory before it is started, unless it may be of any
 * shape, and is handed out or withdrawn when all has ended. With sharing, what
 * travels is this rank's shard of a tensor that can be cut. A list of no tensors
 * travels, too, as a tensor_transfer that is empty. With sharing a list has a closing
 * besides: an empty tensor that is sent with the list, but which the receiver
 * takes or refuses when the shares have been gathered, so that the sender knows.
 */

#ifndef PARALLEL_TENSOR_TRANSFER_H
#define PARALLEL_TENSOR_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/tensor_message.h"
#include "parallel/pipe_tag.h"
#include "parallel/transfer.h"

struct tensor_transfer {
    const struct transfer *transfer;
    enum transfer_way way;
    size_t index;              /* in its list */
    struct hoop_tensor tensor; /* what is sent, or received to */
    struct hoop_tensor shard;  /* of it, when it is cut */
    bool is_cut;
    bool is_empty;          /* stands for a list of none */
    bool is_closing;        /* of its list, which it is not part of */
    bool is_any_shape;      /* expected: tensor is what comes */
    bool is_owned;          /* tensor's data are hoop's until handed out */
    uint32_t received_part; /* of what came and did not fit */
    hoop_op_t *op;          /* while it is under way */
};

/*
 * A new tensor_transfer, of which transfer, way and index are set. Checks the tensor and
 * gives memory to one that is received.
 * Handle: HOOP_E_INVALID and HOOP_E_EXHAUSTED; nothing to withdraw then.
 */
enum hoop_status
tensor_transfer_prepare(struct tensor_transfer *tensor_transfer);

/* What has come is its receiver's, or nobody's. Sent: nothing. */
void
tensor_transfer_hand_out(struct tensor_transfer *tensor_transfer);
void
tensor_transfer_withdraw(struct tensor_transfer *tensor_transfer);

bool
tensor_transfer_is_received(const struct tensor_transfer *tensor_transfer);
/* Whether its list has a closing: not to itself. */
bool
tensor_transfer_has_closing(const struct tensor_transfer *tensor_transfer);
/* Whether it is received when the rest of the transfer has been. */
static inline bool
tensor_transfer_is_late(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer->is_closing &&
           tensor_transfer_is_received(tensor_transfer);
}

/* Tag of its shares among those who gather. */
uint64_t
tensor_transfer_share_tag(const struct tensor_transfer *tensor_transfer);
/* Its place in its list, as a message says it. */
uint32_t
tensor_transfer_part(const struct tensor_transfer *tensor_transfer);

/* Between the stages; borrows tensor_transfer. */
struct tensor_message
tensor_transfer_message(struct tensor_transfer *tensor_transfer);

/* Its journey failed, with the text that is the last error's: raised again
 * with a word on what it was. */
enum hoop_status
tensor_transfer_raise(const struct tensor_transfer *tensor_transfer,
                      enum hoop_status status);

#endif
