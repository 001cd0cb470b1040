/*
 * coll/tensor_message.h - tensors as messages, for the library's own calls
 *
 * The same as hoop_batch_tensors(), with tags of the library's own
 * (coll/tags.h): what a pipeline sends meets nothing that a program sends on
 * the same communicator.
 */

#ifndef COLL_TENSOR_MESSAGE_H
#define COLL_TENSOR_MESSAGE_H

#include <stdbool.h>

#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/p2p.h"
#include "hoop/tensor.h"

#include "engine/engine.h"

/* A tensor to send or to receive, by hoop/tensor.h's rule of ownership. */
struct tensor_message {
    enum hoop_message_kind kind;
    struct hoop_tensor *tensor; /* of a send: only read */
    uint32_t peer;              /* of a receive: or HOOP_ANY_SOURCE */
    uint64_t tag;               /* on the wire: tag_of() */
    /* Of a list of n: n << 16 | i; 0: of none. Both sides must say the same. */
    uint32_t part;
    bool has_dtype; /* HOOP_ANY_SHAPE, but only of the tensor's dtype */
};

/*
 * Check all, then start all together; the list is borrowed for the call, the
 * tensors until completion. comm may be NULL, or not have this process as a
 * member. Handle: HOOP_E_INVALID, before anything moved.
 */
enum hoop_status
tensor_message_start(const struct tensor_message *messages,
                     size_t n_messages,
                     hoop_comm_t *comm,
                     hoop_op_t **out_ops);

/* ... and wait for all. A failure of one hands out nothing of any. */
enum hoop_status
tensor_message_run(const struct tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm);

#endif
