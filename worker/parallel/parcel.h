/*
 * parallel/parcel.h - one tensor of a transfer, on its way
 *
 * What is received has its memory before it is started, unless it may be of any
 * shape, and is handed out or withdrawn when all has ended. With sharing, what
 * travels is this rank's share of a tensor that can be cut. A list of no tensors
 * travels, too, as a parcel that is empty. With sharing a list has a closing
 * besides: an empty tensor that is sent with the list, but which the receiver
 * takes or refuses when the shares have been gathered, so that the sender knows.
 */

#ifndef PARALLEL_PARCEL_H
#define PARALLEL_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/tensor_message.h"
#include "parallel/pipe_tag.h"
#include "parallel/transfer.h"

struct parcel {
    const struct transfer *transfer;
    enum transfer_way way;
    size_t index;              /* in its list */
    struct hoop_tensor tensor; /* what is sent, or received to */
    struct hoop_tensor share;  /* of it, when it is cut */
    bool is_cut;
    bool is_empty;      /* stands for a list of none */
    bool is_closing;    /* of its list, which it is not part of */
    bool is_any_shape;  /* expected: tensor is what comes */
    bool is_owned;      /* tensor's data are hoop's until handed out */
    uint32_t came_part; /* of what came and did not fit */
    hoop_op_t *op;      /* while it is under way */
};

/*
 * A new parcel, of which transfer, way and index are set. Checks the tensor and
 * gives memory to one that is received.
 * Handle: HOOP_E_INVALID and HOOP_E_EXHAUSTED; nothing to withdraw then.
 */
enum hoop_status
parcel_prepare(struct parcel *parcel);

/* What has come is its receiver's, or nobody's. Sent: nothing. */
void
parcel_hand_out(struct parcel *parcel);
void
parcel_withdraw(struct parcel *parcel);

bool
parcel_is_received(const struct parcel *parcel);
/* Whether its list has a closing: not to itself. */
bool
parcel_has_closing(const struct parcel *parcel);
/* Whether it is received when the rest of the transfer has been. */
static inline bool
parcel_is_late(const struct parcel *parcel)
{
    return parcel->is_closing && parcel_is_received(parcel);
}

/* Tag of its shares among those who gather. */
uint64_t
parcel_share_tag(const struct parcel *parcel);
/* Its place in its list, as a message says it. */
uint32_t
parcel_part(const struct parcel *parcel);

/* Between the stages; borrows parcel. */
struct tensor_message
parcel_message(struct parcel *parcel);

/* Its journey failed, with the text that is the last error's: raised again
 * with a word on what it was. */
enum hoop_status
parcel_raise(const struct parcel *parcel, enum hoop_status status);

#endif
