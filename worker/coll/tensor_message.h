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
#include "wire/frame_tensor.h"

/* A tensor to send or to receive, as struct hoop_tensor_message says. */
struct tensor_message {
    enum hoop_message_kind kind;
    const struct hoop_tensor *tensor;
    struct hoop_tensor *received;
    uint32_t peer; /* of a receive: or HOOP_ANY_SOURCE */
    uint64_t tag;  /* on the wire: tag_of() */
    uint32_t
        part; /* frame_part(), FRAME_PART_EMPTY or 0, on both sides alike */
    bool has_dtype; /* HOOP_ANY_SHAPE, but only of the tensor's dtype */
    /* A receive that takes nothing, of a tensor of no elements: it fails, and so
     * does what is sent, with this text. NULL: it is an ordinary one. */
    const char *refusal;
    uint32_t
        *received_part; /* of what comes and does not fit; NULL: not told */
};

/*
 * Check all, then start all together; the list and the tensors are borrowed for
 * the call, the memory of both, and what is received, until completion. Those of
 * one list of tensors follow each other. comm may be NULL, or not have this process as a
 * member. Handle: HOOP_E_INVALID, before anything moved.
 */
enum hoop_status
tensor_message_start(const struct tensor_message *messages,
                     size_t n_messages,
                     hoop_comm_t *comm,
                     hoop_op_t **out_ops);

/* Whether what comes for expected has somewhere to go; name is what the text
 * calls it. Handle: HOOP_E_INVALID. */
enum hoop_status
tensor_message_check_received(const struct hoop_tensor *expected,
                              const struct hoop_tensor *received,
                              const char *name);

/* As tensor_message_start(), and wait for all. A failure of one hands out
 * nothing of any. */
enum hoop_status
tensor_message_run(const struct tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm);

#endif
