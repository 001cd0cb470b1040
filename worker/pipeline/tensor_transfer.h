/*
 * pipeline/tensor_transfer.h - one tensor of a transfer in progress
 *
 * A received tensor has its memory before it is started, unless it may have any
 * shape. It is handed out or withdrawn when the whole transfer has ended. With
 * sharing, this rank transfers its share of a tensor that can be cut. A list
 * without tensors is transferred as one tensor_transfer that is empty.
 *
 * With sharing a list is followed by a closing: an empty tensor that is sent
 * with the list, but that the receiver accepts or refuses only after it has
 * gathered the shares. So the sender learns whether the receiver has the list.
 */

#ifndef PIPELINE_TENSOR_TRANSFER_H
#define PIPELINE_TENSOR_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tensor_message.h"
#include "pipeline/pipe_tag.h"
#include "pipeline/transfer.h"

struct tensor_transfer {
    const struct transfer *transfer;
    enum transfer_direction way;
    size_t index;              /* in its list */
    struct hoop_tensor tensor; /* the tensor to send, or to receive into */
    struct hoop_tensor shard;  /* this rank's share, if it is cut */
    bool is_cut;
    bool is_empty;          /* stands for a list without tensors */
    bool is_closing;        /* closing of its list, not a part of it */
    bool is_any_shape;      /* any shape is accepted: tensor is what arrives */
    bool is_owned;          /* the data are hoop's until handed out */
    uint32_t received_part; /* part of what arrived but did not fit */
    hoop_op_t *op;          /* while it is in progress */
};

/* Checks the tensor and allocates memory for one that is received. transfer,
 * way and index have been set. After a failure there is nothing to withdraw.
 * Handle: HOOP_E_INVALID and HOOP_E_EXHAUSTED. */
enum hoop_status
tensor_transfer_prepare(struct tensor_transfer *tensor_transfer);

/* Hand a received tensor out to the caller, or free memory that hoop allocated
 * for it. They do nothing to a sent tensor. */
void
tensor_transfer_hand_out(struct tensor_transfer *tensor_transfer);
void
tensor_transfer_free_owned(struct tensor_transfer *tensor_transfer);

/* Returns whether the tensor is received and not sent. */
bool
tensor_transfer_is_received(const struct tensor_transfer *tensor_transfer);
/* Returns whether its list has a closing. A list to the stage itself has
 * none. */
bool
tensor_transfer_has_closing(const struct tensor_transfer *tensor_transfer);
/* Returns whether it is received only after the rest of the transfer. */
static inline bool
tensor_transfer_is_taken_last(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer->is_closing &&
           tensor_transfer_is_received(tensor_transfer);
}

/* Returns the tag of its shares between the ranks that gather them. */
uint64_t
tensor_transfer_share_tag(const struct tensor_transfer *tensor_transfer);
/* Returns its position in its list as messages carry it. */
uint32_t
tensor_transfer_frame_part(const struct tensor_transfer *tensor_transfer);

/* Returns its message between the stages, which borrows tensor_transfer. */
struct tensor_message
tensor_transfer_message(struct tensor_transfer *tensor_transfer);

/* Raises the last error again, with a description of the tensor before it.
 * Returns status. */
enum hoop_status
tensor_transfer_raise_error(const struct tensor_transfer *tensor_transfer,
                            enum hoop_status status);

#endif
