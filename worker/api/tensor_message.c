/*
 * api/tensor_message.c - tensors as messages
 *
 * Every call is a batch, possibly of one message: each message is checked and,
 * if it is a receive, memory for it is allocated. Then all are started
 * together. The public calls on local tensors are here, too.
 */

#include "api/tensor_message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/tensor.h"

#include "api/collective.h"
#include "api/p2p.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "session/comm.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct tensor_batch {
    const struct tensor_message *messages;
    size_t n_messages;
    hoop_comm_t *comm;
    enum engine_start_mode mode;
    /* Arrays of one element for each message: */
    struct hoop_tensor *made; /* the tensor that a receive writes to */
    struct engine_message *requests;
    struct op **ops;
};

static enum hoop_status
tensor_batch_allocate(struct tensor_batch *batch)
{
    const size_t n = batch->n_messages;

    batch->made = calloc(n, sizeof(*batch->made));
    batch->requests = calloc(n, sizeof(*batch->requests));
    batch->ops = calloc(n, sizeof(struct op *));
    if (batch->made && batch->requests && batch->ops)
        return HOOP_OK;
    return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages", n);
}

static void
tensor_batch_deinit_at(struct tensor_batch *batch)
{
    free(batch->made);
    free(batch->requests);
    free(batch->ops);
}

/* Nothing was started: free the memory that was allocated for receives. */
static void
tensor_batch_free_allocated(const struct tensor_batch *batch)
{
    for (size_t i = 0; batch->made && i < batch->n_messages; i++) {
        const struct tensor_message *message = &batch->messages[i];

        if (batch->made[i].data && !message->tensor->data)
            hoop_tensor_free(&batch->made[i]);
    }
}

static bool
tensor_is_any_shape(const struct hoop_tensor *tensor)
{
    return tensor->shape.n_dims == HOOP_ANY_SHAPE;
}

/* Nothing is allocated for such a tensor. */
static bool
tensor_has_no_elements(const struct hoop_tensor *tensor)
{
    size_t count;

    return !tensor_is_any_shape(tensor) &&
           shape_count(&tensor->shape, &count) == HOOP_OK && count == 0;
}

enum hoop_status
tensor_message_check_output(const struct hoop_tensor *expected,
                            const struct hoop_tensor *received,
                            const char *name)
{
    if (!expected)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    if (tensor_is_any_shape(expected) && expected->data)
        return error_raise(
            HOOP_E_INVALID,
            "%s is to be of any shape, for which hoop allocates: "
            "its data must be NULL",
            name);
    if (!expected->data && !received && !tensor_has_no_elements(expected))
        return error_raise(HOOP_E_INVALID,
                           "%s has no data, and there is nothing to write to "
                           "what hoop allocates for it",
                           name);
    return HOOP_OK;
}

/* Prepare the tensor that a receive writes to. For HOOP_ANY_SHAPE there is none
 * yet. */
static enum hoop_status
received_tensor_prepare(const struct tensor_message *message,
                        struct hoop_tensor *out_made)
{
    const struct hoop_tensor *expected = message->tensor;
    enum hoop_status status =
        tensor_message_check_output(expected, message->received, "tensor");

    if (status != HOOP_OK || tensor_is_any_shape(expected))
        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    if (!expected->data)
        return result_allocate(expected->dtype, &expected->shape, out_made);
    *out_made = *expected;
    return operand_check(expected, "tensor");
}

static enum hoop_status
tensor_message_prepare(const struct tensor_message *message,
                       const hoop_comm_t *comm,
                       struct hoop_tensor *out_made)
{
    /* message_check() checks kind and peer only; operand_check() checks the
     * tensor. */
    const struct hoop_message ends = {.kind = message->kind,
                                      .peer = message->peer};

    const enum hoop_status status = message_check(&ends, comm);
    if (status != HOOP_OK)
        return error_pass(status);
    switch (message->kind) {
    case HOOP_SEND:
        return operand_check(message->tensor, "tensor");
    case HOOP_RECV:
        break;
    }
    return received_tensor_prepare(message, out_made);
}

static struct engine_message
tensor_message_to_request(const struct tensor_message *message,
                          const struct hoop_tensor *made,
                          enum engine_start_mode mode)
{
    const struct hoop_tensor *tensor = message->tensor;
    const bool is_receive = message->kind == HOOP_RECV;
    struct engine_message request = {
        .call = {.root = message->peer},
        .tag = message->tag,
        .peer = message->peer,
        .tensor = tensor,
        .part = message->part,
        .out = is_receive ? message->received : NULL,
        .is_owned = is_receive && !tensor->data,
        .mode = mode,
        .is_error_text_payload = message->refusal != NULL,
        .received_part = message->received_part,
    };

    if (tensor_is_any_shape(tensor)) {
        request.call.name = CALL_RECV_ANY_TENSOR;
        request.call.dtype = message->has_dtype
                                 ? tensor->dtype
                                 : (enum hoop_dtype)FRAME_ANY_DTYPE;
        return request;
    }
    request.call.name = is_receive ? CALL_RECV_TENSOR : CALL_SEND_TENSOR;
    request.call.dtype = tensor->dtype;
    request.call.count = operand_count(tensor);
    request.bytes = is_receive ? made->data : tensor->data;
    if (message->refusal) {
        request.call.dtype = (enum hoop_dtype)FRAME_ANY_DTYPE;
        request.bytes = (void *)(uintptr_t)message->refusal;
    }
    return request;
}

static enum hoop_status
tensor_batch_prepare(const struct tensor_batch *batch)
{
    for (size_t i = 0; i < batch->n_messages; i++) {
        const enum hoop_status status = tensor_message_prepare(
            &batch->messages[i], batch->comm, &batch->made[i]);

        if (status != HOOP_OK && batch->n_messages > 1)
            return error_raise(status, "message %zu of the batch: %s", i,
                               error_text());
        if (status != HOOP_OK)
            return error_pass(status);
        batch->requests[i] = tensor_message_to_request(
            &batch->messages[i], &batch->made[i], batch->mode);
    }
    return HOOP_OK;
}

static enum hoop_status
tensor_batch_start(struct tensor_batch *batch, hoop_op_t **out_ops)
{
    enum hoop_status status = tensor_batch_allocate(batch);

    if (status == HOOP_OK)
        status = tensor_batch_prepare(batch);
    if (status == HOOP_OK)
        status = engine_start_messages(batch->comm->context, batch->requests,
                                       batch->n_messages, batch->ops);
    if (status != HOOP_OK) {
        tensor_batch_free_allocated(batch);
        return error_pass(status);
    }
    for (size_t i = 0; i < batch->n_messages; i++)
        out_ops[i] = (hoop_op_t *)batch->ops[i];
    return HOOP_OK;
}

enum hoop_status
tensor_message_start(const struct tensor_message *messages,
                     size_t n_messages,
                     hoop_comm_t *comm,
                     hoop_op_t **out_ops)
{
    CLEANUP(tensor_batch_deinit)
    struct tensor_batch batch = {messages, n_messages, comm,
                                 .mode = ENGINE_START};
    bool is_member;
    const enum hoop_status status = comm_call_begin(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_ops && n_messages > 0)
        return error_raise(HOOP_E_INVALID, "out_ops is NULL");
    if (!is_member) {
        for (size_t i = 0; i < n_messages; i++)
            out_ops[i] = (hoop_op_t *)engine_null_op();
        return HOOP_OK;
    }
    return n_messages > 0 ? tensor_batch_start(&batch, out_ops) : HOOP_OK;
}

/* Copy the messages so that they are received into came. The results are handed
 * to the caller only after all messages have succeeded. */
static void
receives_redirect_to_temps(const struct tensor_message *messages,
                           size_t n_messages,
                           struct hoop_tensor *came,
                           struct tensor_message *out_copies)
{
    for (size_t i = 0; i < n_messages; i++) {
        out_copies[i] = messages[i];
        if (messages[i].received)
            out_copies[i].received = &came[i];
    }
}

static void
received_tensors_deliver(const struct tensor_message *messages,
                         size_t n_messages,
                         struct hoop_tensor *came,
                         enum hoop_status status)
{
    for (size_t i = 0; i < n_messages; i++) {
        if (messages[i].kind != HOOP_RECV || !messages[i].received)
            continue;
        if (status == HOOP_OK)
            *messages[i].received = came[i];
        else if (!messages[i].tensor->data)
            hoop_tensor_free(&came[i]);
    }
}

static enum hoop_status
tensor_messages_run_all(const struct tensor_message *messages,
                        size_t n_messages,
                        hoop_comm_t *comm,
                        enum hoop_status *statuses)
{
    CLEANUP(free)
    hoop_op_t **ops = calloc(n_messages, sizeof(hoop_op_t *));
    CLEANUP(free)
    struct hoop_tensor *came = calloc(n_messages, sizeof(*came));
    CLEANUP(free)
    struct tensor_message *copies = calloc(n_messages, sizeof(*copies));

    if (!ops || !came || !copies)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_messages);
    receives_redirect_to_temps(messages, n_messages, came, copies);
    enum hoop_status status =
        tensor_message_start(copies, n_messages, comm, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    status = wait_for_each(ops, n_messages, HOOP_FOREVER, statuses);
    received_tensors_deliver(messages, n_messages, came, status);
    return status;
}

enum hoop_status
tensor_message_run(const struct tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm)
{
    return tensor_message_run_each(messages, n_messages, comm, NULL);
}

enum hoop_status
tensor_message_run_each(const struct tensor_message *messages,
                        size_t n_messages,
                        hoop_comm_t *comm,
                        enum hoop_status *statuses)
{
    CLEANUP(tensor_batch_deinit)
    struct tensor_batch batch = {messages, 1, comm,
                                 .mode = ENGINE_START_AND_WAIT};
    hoop_op_t *op = NULL;
    bool is_member;
    enum hoop_status status = comm_call_begin(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member || n_messages == 0)
        return HOOP_OK;
    if (n_messages > 1)
        return tensor_messages_run_all(messages, n_messages, comm, statuses);
    status = tensor_batch_start(&batch, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    status = hoop_wait(op, HOOP_FOREVER);
    if (statuses)
        statuses[0] = status;
    return status;
}

/* Public functions on local tensors. */

enum hoop_status
hoop_shape_count(const struct hoop_shape *shape, size_t *out_count)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_count)
        return error_raise(HOOP_E_INVALID, "out_count is NULL");
    const enum hoop_status status = shape_count(shape, out_count);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
hoop_shape_equal(const struct hoop_shape *a, const struct hoop_shape *b)
{
    return shape_equal(a, b);
}

enum hoop_status
hoop_tensor_create(enum hoop_dtype dtype,
                   const struct hoop_shape *shape,
                   struct hoop_tensor *out_tensor)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_tensor)
        return error_raise(HOOP_E_INVALID, "out_tensor is NULL");
    const enum hoop_status status = result_allocate(dtype, shape, out_tensor);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_tensor->data)
        memset(out_tensor->data, 0, operand_bytes(out_tensor));
    return HOOP_OK;
}

void
hoop_tensor_free(struct hoop_tensor *tensor)
{
    if (!tensor)
        return;
    free(tensor->data);
    tensor->data = NULL;
}

bool
hoop_tensor_is_dense(const struct hoop_tensor *tensor)
{
    return tensor && tensor->shape.n_dims <= HOOP_MAX_DIMS &&
           layout_is_dense(tensor);
}

/* Only this function accepts a result with strides. */
static enum hoop_status
copy_output_prepare(const struct hoop_tensor *tensor, struct hoop_tensor *out)
{
    struct result result;
    enum hoop_status status;

    if (!out)
        return error_raise(HOOP_E_INVALID, "out is NULL");
    if (!out->data)
        return result_prepare(out, "out", tensor->dtype, &tensor->shape,
                              &result);
    status = result_check(out, "out", tensor->dtype, &tensor->shape);
    if (status == HOOP_OK)
        status = operand_check_strided(out, "out");
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_tensor_copy(const struct hoop_tensor *tensor, struct hoop_tensor *out)
{
    enum hoop_status status;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    status = operand_check_strided(tensor, "tensor");
    if (status == HOOP_OK)
        status = copy_output_prepare(tensor, out);
    if (status != HOOP_OK)
        return error_pass(status);
    layout_copy(tensor, out);
    return HOOP_OK;
}

/* Tensors of a list as messages, started together. */

/* Copy the list with tags as they travel; the caller frees *out_list. *comm
 * NULL becomes the default group's. */
static enum hoop_status
tensor_messages_copy(const struct hoop_tensor_message *messages,
                     size_t n_messages,
                     hoop_comm_t **comm,
                     struct tensor_message **out_list)
{
    struct tensor_message *list = calloc(n_messages + 1, sizeof(*list));
    bool is_member;
    const enum hoop_status found = comm_call_begin_or_default(comm, &is_member);

    *out_list = list;
    if (found != HOOP_OK)
        return error_pass(found);
    if (!messages && n_messages > 0)
        return error_raise(HOOP_E_INVALID, "messages is NULL");
    if (!list)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_messages);
    for (size_t i = 0; i < n_messages; i++) {
        const enum hoop_status status =
            message_check_tag(messages[i].tag, *comm);

        if (status != HOOP_OK)
            return error_raise(status, "message %zu of the batch: %s", i,
                               error_text());
        list[i] = (struct tensor_message){
            .kind = messages[i].kind,
            .tensor = messages[i].tensor,
            .received =
                messages[i].kind == HOOP_RECV ? messages[i].received : NULL,
            .peer = messages[i].peer,
            .tag = (uint64_t)messages[i].tag,
        };
    }
    return HOOP_OK;
}

enum hoop_status
hoop_batch_tensors(const struct hoop_tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm)
{
    CLEANUP(free) struct tensor_message *list = NULL;
    const enum hoop_status status =
        tensor_messages_copy(messages, n_messages, &comm, &list);

    return status == HOOP_OK ? tensor_message_run(list, n_messages, comm)
                             : error_pass(status);
}

enum hoop_status
hoop_batch_tensors_start(const struct hoop_tensor_message *messages,
                         size_t n_messages,
                         hoop_comm_t *comm,
                         hoop_op_t **out_ops)
{
    CLEANUP(free) struct tensor_message *list = NULL;
    const enum hoop_status status =
        tensor_messages_copy(messages, n_messages, &comm, &list);

    return status == HOOP_OK
               ? tensor_message_start(list, n_messages, comm, out_ops)
               : error_pass(status);
}

/* Send and receive one tensor. */

static enum hoop_status
tensor_p2p_run(const struct tensor_message *message,
               int64_t tag,
               hoop_comm_t *comm)
{
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status == HOOP_OK)
        status = message_check_tag(tag, comm);

    return status == HOOP_OK ? tensor_message_run(message, 1, comm)
                             : error_pass(status);
}

static enum hoop_status
tensor_p2p_start(const struct tensor_message *message,
                 int64_t tag,
                 hoop_comm_t *comm,
                 hoop_op_t **out_op)
{
    bool is_member;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);
    if (status == HOOP_OK)
        status = message_check_tag(tag, comm);
    return status == HOOP_OK ? tensor_message_start(message, 1, comm, out_op)
                             : error_pass(status);
}

static struct tensor_message
tensor_send_describe(const struct hoop_tensor *tensor,
                     uint32_t dest,
                     int64_t tag)
{
    return (struct tensor_message){
        .kind = HOOP_SEND,
        .tensor = tensor,
        .peer = dest,
        .tag = (uint64_t)tag,
    };
}

static struct tensor_message
tensor_recv_describe(const struct hoop_tensor *expected,
                     uint32_t source,
                     int64_t tag)
{
    return (struct tensor_message){
        .kind = HOOP_RECV,
        .tensor = expected,
        .peer = source,
        .tag = (uint64_t)tag,
    };
}

enum hoop_status
hoop_send_tensor(const struct hoop_tensor *tensor,
                 uint32_t dest,
                 int64_t tag,
                 hoop_comm_t *comm)
{
    const struct tensor_message message =
        tensor_send_describe(tensor, dest, tag);

    return tensor_p2p_run(&message, tag, comm);
}

enum hoop_status
hoop_send_tensor_start(const struct hoop_tensor *tensor,
                       uint32_t dest,
                       int64_t tag,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op)
{
    const struct tensor_message message =
        tensor_send_describe(tensor, dest, tag);

    return tensor_p2p_start(&message, tag, comm, out_op);
}

enum hoop_status
hoop_recv_tensor(const struct hoop_tensor *expected,
                 uint32_t source,
                 int64_t tag,
                 hoop_comm_t *comm,
                 struct hoop_tensor *out_tensor)
{
    struct tensor_message message = tensor_recv_describe(expected, source, tag);

    message.received = out_tensor;
    return tensor_p2p_run(&message, tag, comm);
}

enum hoop_status
hoop_recv_tensor_start(const struct hoop_tensor *expected,
                       uint32_t source,
                       int64_t tag,
                       hoop_comm_t *comm,
                       struct hoop_tensor *out_tensor,
                       hoop_op_t **out_op)
{
    struct tensor_message message = tensor_recv_describe(expected, source, tag);

    message.received = out_tensor;
    return tensor_p2p_start(&message, tag, comm, out_op);
}
