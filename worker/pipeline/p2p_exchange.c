/* pipeline/p2p_exchange.c - tensors to and from neighbours, as configured */

#include "pipeline/p2p_exchange.h"

#include "api/tensor_message.h"
#include "base/error.h"
#include "pipeline/p2p_requests.h"
#include "tensor/operand.h"
#include "tensor/shape.h"

enum hoop_status
p2p_exchange_check_send(const struct hoop_tensor *tensor, const char *name)
{
    const enum hoop_status status = operand_check(tensor, name);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The communicator's dtype and shape setting replace those of tensor. */
static struct hoop_tensor
p2p_expected_tensor(const struct hoop_p2p *p2p,
                    const struct hoop_tensor *tensor)
{
    struct hoop_tensor expected = *tensor;

    expected.dtype = p2p->dtype;
    if (p2p->has_variable_shapes)
        expected.shape.n_dims = HOOP_ANY_SHAPE;
    return expected;
}

static enum hoop_status
p2p_expected_tensor_check(const struct hoop_p2p *p2p,
                          const struct hoop_tensor *tensor,
                          const char *name)
{
    struct hoop_tensor expected = *tensor;
    size_t count;
    enum hoop_status status;

    if (tensor->shape.n_dims == HOOP_ANY_SHAPE)
        return error_raise(HOOP_E_INVALID,
                           "%s has no shape: say what will come, or create "
                           "the communicator with has_variable_shapes",
                           name);
    expected.dtype = p2p->dtype;
    status = tensor->data ? operand_check(&expected, name)
                          : shape_count(&tensor->shape, &count);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_exchange_check_receive(const struct hoop_p2p *p2p,
                           const struct hoop_tensor *tensor,
                           const struct hoop_tensor *received,
                           const char *name)
{
    if (!tensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    if (!p2p->has_dtype)
        return error_raise(HOOP_E_INVALID,
                           "%s cannot be received: the communicator was "
                           "created without a dtype",
                           name);
    if (p2p->has_variable_shapes) {
        if (tensor->data)
            return error_raise(HOOP_E_INVALID,
                               "%s has data, but where shapes vary hoop "
                               "allocates what comes: set data to NULL",
                               name);
    } else {
        const enum hoop_status status =
            p2p_expected_tensor_check(p2p, tensor, name);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    const struct hoop_tensor expected = p2p_expected_tensor(p2p, tensor);
    return tensor_message_check_output(&expected, received, name);
}

static enum hoop_status
p2p_ops_check(const struct hoop_p2p *p2p, const struct hoop_p2p_ops *ops)
{
    enum hoop_status status = HOOP_OK;

    if (ops->send_prev)
        status = p2p_exchange_check_send(ops->send_prev, "what goes to prev");
    if (status == HOOP_OK && ops->send_next)
        status = p2p_exchange_check_send(ops->send_next, "what goes to next");
    if (status == HOOP_OK && ops->recv_prev)
        status = p2p_exchange_check_receive(
            p2p, ops->recv_prev, ops->received_prev, "what comes from prev");
    if (status == HOOP_OK && ops->recv_next)
        status = p2p_exchange_check_receive(
            p2p, ops->recv_next, ops->received_next, "what comes from next");
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Transfers with the communicator's settings applied. */
struct configured_ops {
    struct hoop_tensor prev; /* expected tensor, as next */
    struct hoop_tensor next;
    struct hoop_p2p_ops ops;
};

static void
p2p_ops_apply_settings(const struct hoop_p2p *p2p,
                       const struct hoop_p2p_ops *ops,
                       struct configured_ops *out)
{
    out->ops = *ops;
    if (ops->recv_prev) {
        out->prev = p2p_expected_tensor(p2p, ops->recv_prev);
        out->ops.recv_prev = &out->prev;
    }
    if (ops->recv_next) {
        out->next = p2p_expected_tensor(p2p, ops->recv_next);
        out->ops.recv_next = &out->next;
    }
}

/* Hands a tensor out after success. After a failure it frees memory that hoop
 * allocated. */
static void
received_tensor_hand_out(const struct hoop_tensor *expected,
                         struct hoop_tensor *came,
                         struct hoop_tensor *received,
                         enum hoop_status status)
{
    if (!expected)
        return;
    if (status == HOOP_OK && received)
        *received = *came;
    else if (status != HOOP_OK && !expected->data)
        hoop_tensor_free(came);
}

static enum hoop_status
p2p_exchange_run_checked(const struct hoop_p2p *p2p,
                         const struct hoop_p2p_ops *ops,
                         uint32_t part,
                         unsigned *out_failed)
{
    struct hoop_p2p_received came = {0};
    struct p2p_posting posting = p2p_posting_default(p2p);
    struct hoop_p2p_requests requests;
    struct configured_ops configured_ops;

    configured_ops.ops = *ops;
    /* The tensor that stands for an empty list has a dtype of its own. */
    if (part != FRAME_PART_EMPTY)
        p2p_ops_apply_settings(p2p, ops, &configured_ops);
    configured_ops.ops.received_prev = &came.prev;
    configured_ops.ops.received_next = &came.next;
    posting.part = part;
    enum hoop_status status =
        p2p_requests_start(&posting, &configured_ops.ops, &requests);
    if (status != HOOP_OK)
        return error_pass(status);
    status = p2p_requests_finish(&requests, out_failed);
    received_tensor_hand_out(ops->recv_prev, &came.prev, ops->received_prev,
                             status);
    received_tensor_hand_out(ops->recv_next, &came.next, ops->received_next,
                             status);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_exchange_list_element(const struct hoop_p2p *p2p,
                          const struct hoop_p2p_ops *ops,
                          uint32_t part,
                          unsigned *out_failed)
{
    enum hoop_status status =
        part == FRAME_PART_EMPTY ? HOOP_OK : p2p_ops_check(p2p, ops);

    *out_failed = 0;
    if (status == HOOP_OK)
        status = p2p_requests_check_one_stage(p2p, ops);
    if (status == HOOP_OK)
        status = p2p_exchange_run_checked(p2p, ops, part, out_failed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
p2p_exchange_start(const struct hoop_p2p *p2p,
                   const struct hoop_p2p_ops *ops,
                   struct hoop_p2p_requests *out_requests)
{
    const struct p2p_posting posting = p2p_posting_default(p2p);
    struct configured_ops configured_ops;
    enum hoop_status status;

    if (p2p->order == P2P_ORDER_BATCHED)
        return error_raise(HOOP_E_INVALID,
                           "a batch cannot overlap: create the communicator "
                           "with is_unbatched, or wait (out_requests NULL)");
    status = p2p_ops_check(p2p, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    p2p_ops_apply_settings(p2p, ops, &configured_ops);
    status = p2p_requests_start(&posting, &configured_ops.ops, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_exchange_run_or_start(const struct hoop_p2p *p2p,
                          const struct hoop_p2p_ops *ops,
                          struct hoop_p2p_requests *out_requests)
{
    bool is_member;
    unsigned failed;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        if (out_requests)
            out_requests->n_requests = 0;
        return HOOP_OK;
    }
    status = out_requests ? p2p_exchange_start(p2p, ops, out_requests)
                          : p2p_exchange_list_element(
                                p2p, ops, frame_part_numbered(1, 0), &failed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Transfers in which both directions have the same shape. */
struct same_shape_ops {
    struct hoop_tensor prev;
    struct hoop_tensor next;
    struct hoop_p2p_ops ops;
};

static enum hoop_status
same_shape_ops_fill(const struct hoop_p2p_exchange *exchange,
                    const struct hoop_shape *shape,
                    struct hoop_p2p_received *received,
                    struct same_shape_ops *out)
{
    *out = (struct same_shape_ops){.ops = {.send_next = exchange->send_next,
                                           .send_prev = exchange->send_prev}};
    if (!exchange->recv_prev && !exchange->recv_next)
        return HOOP_OK;
    if (!shape)
        return error_raise(HOOP_E_INVALID,
                           "shape is NULL, but something is received");
    if (!received)
        return error_raise(HOOP_E_INVALID,
                           "out_received is NULL, but something is received");
    out->prev =
        (struct hoop_tensor){.data = exchange->prev_data, .shape = *shape};
    out->next =
        (struct hoop_tensor){.data = exchange->next_data, .shape = *shape};
    out->ops.recv_prev = exchange->recv_prev ? &out->prev : NULL;
    out->ops.recv_next = exchange->recv_next ? &out->next : NULL;
    out->ops.received_prev = &received->prev;
    out->ops.received_next = &received->next;
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_communicate(hoop_p2p_t *p2p,
                     const struct hoop_p2p_exchange *exchange,
                     const struct hoop_shape *shape,
                     struct hoop_p2p_received *out_received,
                     struct hoop_p2p_requests *out_requests)
{
    struct same_shape_ops same_shape_ops = {0};
    bool is_member;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status == HOOP_OK && !exchange)
        status = error_raise(HOOP_E_INVALID, "exchange is NULL");
    if (status == HOOP_OK && is_member)
        status =
            same_shape_ops_fill(exchange, shape, out_received, &same_shape_ops);
    if (status == HOOP_OK)
        status =
            p2p_exchange_run_or_start(p2p, &same_shape_ops.ops, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
