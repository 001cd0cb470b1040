/*
 * coll/tensor_message.c - tensors as messages
 *
 * Every call is a batch, of one if need be: each message is checked and, when
 * it is to be received, given its memory, then all are started together. No
 * test of its own: tensor_p2p_test.c and tensor_batch_test.c hold it.
 */

#include "coll/tensor_message.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "coll/message.h"
#include "coll/presence.h"
#include "session/comm.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct batch {
    const struct tensor_message *messages;
    size_t n_messages;
    hoop_comm_t *comm;
    enum engine_mode mode;
    /* One for each message: */
    struct result *results; /* of receives */
    struct engine_message *requests;
    struct op **ops;
};

static enum hoop_status
batch_allocate(struct batch *batch)
{
    const size_t n = batch->n_messages;

    batch->results = calloc(n, sizeof(*batch->results));
    batch->requests = calloc(n, sizeof(*batch->requests));
    batch->ops = calloc(n, sizeof(struct op *));
    if (batch->results && batch->requests && batch->ops)
        return HOOP_OK;
    return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages", n);
}

static void
batch_deinit_at(struct batch *batch)
{
    free(batch->results);
    free(batch->requests);
    free(batch->ops);
}

/* No receive hands out anything. */
static void
batch_withdraw(const struct batch *batch)
{
    for (size_t i = 0; batch->results && i < batch->n_messages; i++)
        result_withdraw(&batch->results[i]);
}

static bool
is_any_shape(const struct hoop_tensor *tensor)
{
    return tensor->shape.n_dims == HOOP_ANY_SHAPE;
}

static enum hoop_status
any_prepare(struct hoop_tensor *out, struct result *out_result)
{
    if (out->data)
        return error_raise(HOOP_E_INVALID,
                           "what is received in any shape is allocated by "
                           "hoop: the tensor's data must be NULL");
    *out_result = (struct result){out, *out};
    return HOOP_OK;
}

static enum hoop_status
out_prepare(struct hoop_tensor *out, struct result *out_result)
{
    if (!out)
        return error_raise(HOOP_E_INVALID, "tensor is NULL");
    if (is_any_shape(out))
        return any_prepare(out, out_result);
    return result_prepare(out, "tensor", out->dtype, &out->shape, out_result);
}

static enum hoop_status
message_prepare(const struct tensor_message *message,
                const hoop_comm_t *comm,
                struct result *out_result)
{
    /* The rest of it is the tensor's. */
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
    return out_prepare(message->tensor, out_result);
}

static struct engine_message
request_of(const struct tensor_message *message, enum engine_mode mode)
{
    struct hoop_tensor *tensor = message->tensor;
    struct engine_message request = {
        .call = {.root = message->peer},
        .tag = message->tag,
        .peer = message->peer,
        .tensor = tensor,
        .part = message->part,
        .mode = mode,
    };

    if (is_any_shape(tensor)) {
        request.call.name = CALL_RECV_ANY_TENSOR;
        request.call.dtype = message->has_dtype
                                 ? tensor->dtype
                                 : (enum hoop_dtype)FRAME_ANY_DTYPE;
        return request;
    }
    request.call.name =
        message->kind == HOOP_SEND ? CALL_SEND_TENSOR : CALL_RECV_TENSOR;
    request.call.dtype = tensor->dtype;
    request.call.count = operand_count(tensor);
    request.bytes = tensor->data;
    return request;
}

static enum hoop_status
batch_prepare(const struct batch *batch)
{
    for (size_t i = 0; i < batch->n_messages; i++) {
        const enum hoop_status status = message_prepare(
            &batch->messages[i], batch->comm, &batch->results[i]);

        if (status != HOOP_OK && batch->n_messages > 1)
            return error_raise(status, "message %zu of the batch: %s", i,
                               error_text());
        if (status != HOOP_OK)
            return error_pass(status);
        batch->requests[i] = request_of(&batch->messages[i], batch->mode);
    }
    return HOOP_OK;
}

static enum hoop_status
batch_start(struct batch *batch, hoop_op_t **out_ops)
{
    enum hoop_status status = batch_allocate(batch);

    if (status == HOOP_OK)
        status = batch_prepare(batch);
    if (status == HOOP_OK)
        status = engine_start_messages(batch->comm->channel, batch->requests,
                                       batch->n_messages, batch->ops);
    if (status != HOOP_OK) {
        batch_withdraw(batch);
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
    CLEANUP(batch_deinit)
    struct batch batch = {messages, n_messages, comm, .mode = ENGINE_START};
    bool is_member;
    const enum hoop_status status = presence_check(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_ops && n_messages > 0)
        return error_raise(HOOP_E_INVALID, "out_ops is NULL");
    if (!is_member) {
        for (size_t i = 0; i < n_messages; i++)
            out_ops[i] = (hoop_op_t *)engine_start_nothing();
        return HOOP_OK;
    }
    return n_messages > 0 ? batch_start(&batch, out_ops) : HOOP_OK;
}

enum hoop_status
tensor_message_run(const struct tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm)
{
    CLEANUP(free)
    hoop_op_t **ops = calloc(n_messages + 1, sizeof(hoop_op_t *));
    CLEANUP(batch_deinit)
    struct batch batch = {messages, n_messages, comm,
                          .mode = n_messages == 1 ? ENGINE_START_AND_WAIT
                                                  : ENGINE_START};
    bool is_member;
    enum hoop_status status = presence_check(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member || n_messages == 0)
        return HOOP_OK;
    if (!ops)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_messages);
    status = batch_start(&batch, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    status = hoop_wait_all(ops, n_messages, HOOP_FOREVER);
    if (status != HOOP_OK)
        batch_withdraw(&batch);
    return status;
}
