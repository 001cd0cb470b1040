/*
 * pipeline/transfer.h - one call of a pipeline
 *
 * A transfer has lists of tensors in up to four directions. All are started
 * together and then waited for.
 */

#ifndef PIPELINE_TRANSFER_H
#define PIPELINE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/pipeline.h"
#include "hoop/tensor.h"

#include "api/tags.h"
#include "base/limits.h"
#include "pipeline/neighbour.h"

/* Each kind of message of each pass and each lane has its own tag. */
enum pipe_message_kind {
    PIPE_TENSOR,
    PIPE_SHARE, /* of a tensor, between the ranks that gather it */
    /* The message after a list in shares. The receiver accepts it when it has
     * gathered all of them. */
    PIPE_CLOSING,
};

enum {
    PIPE_LANE_BITS = 24
};

static const uint32_t PIPE_N_LANES = (uint32_t)1 << PIPE_LANE_BITS;

struct transfer {
    /* by enum hoop_p2p_direction; NULL: nothing in this direction */
    const struct hoop_tensors *lists[NEIGHBOUR_N_DIRECTIONS];
    struct neighbours neighbours;
    uint32_t lane;                /* below PIPE_N_LANES */
    hoop_comm_t *tensor_parallel; /* NULL: none, or of one rank */
    /* tensors are cut into shares for it; NULL: sent whole */
    hoop_comm_t *sharing;
};

/* How a list of a transfer has ended. */
struct transfer_result {
    enum hoop_status status;
    /* moved between the stages: both sides know */
    bool has_moved;
    char text[LIMIT_ERROR_TEXT]; /* unless status is HOOP_OK */
};

/* Records the last error as a list's failure, unless the list has failed
 * before. */
void
transfer_result_fail(struct transfer_result *end, enum hoop_status status);

/* Waits for a message of a list and returns its status. If a received tensor
 * does not fit, *is_peer_given_up is set: the rest of the list is not
 * needed, and its receives are cancelled when they are waited for, so that
 * the sender is told. */
enum hoop_status
list_message_wait(hoop_op_t *op,
                  enum hoop_message_kind kind,
                  bool *is_peer_given_up);

/* Runs a transfer and waits for it. After a failure nothing is handed out.
 * Handle: as hoop_pipe_exchange_all(). */
enum hoop_status
transfer_run(const struct transfer *transfer);

/*
 * A received tensor has its memory before it is started, unless it may have
 * any shape. It is handed out or withdrawn when the whole transfer has
 * ended. With sharing, this rank transfers its share of a tensor that can be
 * cut. A list without tensors is transferred as one tensor_transfer that is
 * empty.
 *
 * With sharing a list is followed by a closing: an empty tensor that is sent
 * with the list, but that the receiver accepts or refuses only after it has
 * gathered the shares. So the sender learns whether the receiver has the
 * list.
 */

struct tensor_transfer {
    const struct transfer *transfer;
    enum hoop_p2p_direction way;
    size_t index;              /* in its list */
    struct hoop_tensor tensor; /* the tensor to send, or to receive into */
    struct hoop_tensor shard;  /* this rank's share, if it is cut */
    bool is_cut_into_shares;
    bool is_empty;          /* stands for a list without tensors */
    bool is_closing;        /* closing of its list, not a part of it */
    bool is_any_shape;      /* any shape is accepted: tensor is what arrives */
    bool is_owned;          /* the data are hoop's until handed out */
    uint32_t received_part; /* part of what arrived but did not fit */
    hoop_op_t *op;          /* while it is in progress */
};

/* Returns whether the tensor is received and not sent. */
static inline bool
tensor_transfer_is_received(const struct tensor_transfer *tensor_transfer)
{
    return neighbour_directions[tensor_transfer->way].kind == HOOP_RECV;
}

/* Returns the tag of its shares between the ranks that gather them. */
uint64_t
tensor_transfer_share_tag(const struct tensor_transfer *tensor_transfer);
/* Returns its position in its list as messages carry it. */
uint32_t
tensor_transfer_frame_part(const struct tensor_transfer *tensor_transfer);

#endif
