/*
 * api/tensor_message.h - tensors as messages, for the library's own calls
 *
 * Like hoop_batch_tensors(), but with tags of the library (api/tags.h): a
 * tensor that a pipeline sends never matches a receive of the program on the
 * same communicator.
 */

#ifndef API_TENSOR_MESSAGE_H
#define API_TENSOR_MESSAGE_H

#include <stdbool.h>

#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/p2p.h"
#include "hoop/tensor.h"

#include "engine/engine.h"
#include "wire/frame_tensor.h"

/* A tensor to send or to receive, as in struct hoop_tensor_message. */
struct tensor_message {
    enum hoop_message_kind kind;
    const struct hoop_tensor *tensor;
    struct hoop_tensor *received;
    uint32_t peer; /* of a receive also HOOP_ANY_SOURCE */
    uint64_t tag;  /* on the wire: tag_of_library_part() */
    /* frame_part(), FRAME_PART_EMPTY or 0; equal on both sides */
    uint32_t part;
    bool has_dtype; /* with HOOP_ANY_SHAPE: accept only the tensor's dtype */
    /* Makes a receive fail, and with it the matching send, with this text; the
     * tensor has no elements. NULL: an ordinary message. */
    const char *refusal;
    /* the part of a message that does not fit; NULL: not wanted */
    uint32_t *received_part;
};

/*
 * Check all messages, then start them together. The list and the tensor structs
 * are borrowed for the call; the tensors' memory and received are borrowed
 * until completion. Messages of one list keep their order. This process need
 * not be a member of comm.
 * Handle: HOOP_E_INVALID, before any message has moved.
 */
enum hoop_status
tensor_message_start(const struct tensor_message *messages,
                     size_t n_messages,
                     hoop_comm_t *comm,
                     hoop_op_t **out_ops);

/* Check that there is a place for what is received for expected. name is the
 * tensor's name in the error text. Handle: HOOP_E_INVALID. */
enum hoop_status
tensor_message_check_output(const struct hoop_tensor *expected,
                            const struct hoop_tensor *received,
                            const char *name);

/* Like tensor_message_start(), and wait for all. If one fails, no received
 * tensor is handed out. */
enum hoop_status
tensor_message_run(const struct tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm);

/* As tensor_message_run(). statuses has an element for each message, which is
 * set when the message has been waited for. */
enum hoop_status
tensor_message_run_each(const struct tensor_message *messages,
                        size_t n_messages,
                        hoop_comm_t *comm,
                        enum hoop_status *statuses);

/* As hoop_wait_all(), and sets the status of each operation that is not NULL,
 * unless out_statuses is NULL. */
enum hoop_status
wait_for_each(hoop_op_t **ops,
              size_t n_ops,
              int64_t timeout_ms,
              enum hoop_status *out_statuses);

#endif
