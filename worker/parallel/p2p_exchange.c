/* parallel/p2p_exchange.c - tensors to and from the neighbours, as configured */

#include "parallel/p2p_exchange.h"

#include "base/error.h"
#include "parallel/p2p_requests.h"
#include "tensor/operand.h"
#include "tensor/shape.h"

enum hoop_status
p2p_exchange_check_send(const struct hoop_tensor *tensor, const char *name)
{
    const enum hoop_status status = operand_check(tensor, name);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
check_expected(const struct hoop_p2p *p2p,
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
        return HOOP_OK;
    }
    const enum hoop_status status = check_expected(p2p, tensor, name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
check_all(const struct hoop_p2p *p2p, const struct hoop_p2p_ops *ops)
{
    enum hoop_status status = HOOP_OK;

    if (ops->send_prev)
        status = p2p_exchange_check_send(ops->send_prev, "what goes to prev");
    if (status == HOOP_OK && ops->send_next)
        status = p2p_exchange_check_send(ops->send_next, "what goes to next");
    if (status == HOOP_OK && ops->recv_prev)
        status = p2p_exchange_check_receive(p2p, ops->recv_prev,
                                            "what comes from prev");
    if (status == HOOP_OK && ops->recv_next)
        status = p2p_exchange_check_receive(p2p, ops->recv_next,
                                            "what comes from next");
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
expect(const struct hoop_p2p *p2p, struct hoop_tensor *tensor)
{
    tensor->dtype = p2p->dtype;
    if (p2p->has_variable_shapes)
        tensor->shape.n_dims = HOOP_ANY_SHAPE;
}

/* All have been checked. */
static enum hoop_status
start_checked(const struct hoop_p2p *p2p,
              const struct hoop_p2p_ops *ops,
              struct hoop_p2p_requests *out_requests)
{
    if (ops->recv_prev)
        expect(p2p, ops->recv_prev);
    if (ops->recv_next)
        expect(p2p, ops->recv_next);
    const enum hoop_status status =
        p2p_requests_start(p2p, ops, p2p->order, TAG_P2P, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Received into copies, which success hands out. */
struct copies {
    struct hoop_tensor prev;
    struct hoop_tensor next;
    struct hoop_p2p_ops ops;
};

static void
copies_make(struct copies *copies, const struct hoop_p2p_ops *ops)
{
    copies->ops = *ops;
    if (ops->recv_prev) {
        copies->prev = *ops->recv_prev;
        copies->ops.recv_prev = &copies->prev;
    }
    if (ops->recv_next) {
        copies->next = *ops->recv_next;
        copies->ops.recv_next = &copies->next;
    }
}

static void
copies_hand_out(const struct copies *copies, const struct hoop_p2p_ops *ops)
{
    if (ops->recv_prev)
        *ops->recv_prev = copies->prev;
    if (ops->recv_next)
        *ops->recv_next = copies->next;
}

/* What hoop allocated; what the caller had stays. */
static void
copies_free(struct copies *copies, const struct hoop_p2p_ops *ops)
{
    if (ops->recv_prev && !ops->recv_prev->data)
        hoop_tensor_free(&copies->prev);
    if (ops->recv_next && !ops->recv_next->data)
        hoop_tensor_free(&copies->next);
}

enum hoop_status
p2p_exchange_run(const struct hoop_p2p *p2p, const struct hoop_p2p_ops *ops)
{
    struct hoop_p2p_requests requests;
    struct copies copies;
    enum hoop_status status = p2p_requests_check_alone(p2p, ops);

    if (status == HOOP_OK)
        status = check_all(p2p, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    copies_make(&copies, ops);
    status = start_checked(p2p, &copies.ops, &requests);
    if (status != HOOP_OK)
        return error_pass(status);
    status = p2p_requests_finish(&requests);
    if (status != HOOP_OK) {
        copies_free(&copies, ops);
        return error_pass(status);
    }
    copies_hand_out(&copies, ops);
    return HOOP_OK;
}

static enum hoop_status
exchange_start(const struct hoop_p2p *p2p,
               const struct hoop_p2p_ops *ops,
               struct hoop_p2p_requests *out_requests)
{
    struct copies before;
    enum hoop_status status;

    if (p2p->order == P2P_ORDER_BATCHED)
        return error_raise(HOOP_E_INVALID,
                           "a batch cannot overlap: create the communicator "
                           "with is_unbatched, or wait (out_requests NULL)");
    status = check_all(p2p, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    copies_make(&before, ops);
    status = start_checked(p2p, ops, out_requests);
    if (status != HOOP_OK) {
        copies_hand_out(&before, ops);
        return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
p2p_exchange_call(const struct hoop_p2p *p2p,
                  const struct hoop_p2p_ops *ops,
                  struct hoop_p2p_requests *out_requests)
{
    bool is_member;
    enum hoop_status status = p2p_communicator_check(p2p, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        if (out_requests)
            out_requests->n_requests = 0;
        return HOOP_OK;
    }
    status = out_requests ? exchange_start(p2p, ops, out_requests)
                          : p2p_exchange_run(p2p, ops);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Both directions have the one shape. */
static enum hoop_status
ops_fill(const struct hoop_p2p_exchange *exchange,
         const struct hoop_shape *shape,
         struct hoop_p2p_received *received,
         struct hoop_p2p_ops *ops)
{
    *ops = (struct hoop_p2p_ops){.send_next = exchange->send_next,
                                 .send_prev = exchange->send_prev};
    if (!exchange->recv_prev && !exchange->recv_next)
        return HOOP_OK;
    if (!shape)
        return error_raise(HOOP_E_INVALID,
                           "shape is NULL, but something is received");
    if (!received)
        return error_raise(HOOP_E_INVALID,
                           "out_received is NULL, but something is received");
    if (exchange->recv_prev)
        ops->recv_prev = &received->prev;
    if (exchange->recv_next)
        ops->recv_next = &received->next;
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_communicate(hoop_p2p_t *p2p,
                     const struct hoop_p2p_exchange *exchange,
                     const struct hoop_shape *shape,
                     struct hoop_p2p_received *out_received,
                     struct hoop_p2p_requests *out_requests)
{
    struct copies before;
    struct hoop_p2p_ops ops = {0};
    bool is_member;
    enum hoop_status status = p2p_communicator_check(p2p, &is_member);

    if (status == HOOP_OK && !exchange)
        status = error_raise(HOOP_E_INVALID, "exchange is NULL");
    if (status == HOOP_OK && is_member)
        status = ops_fill(exchange, shape, out_received, &ops);
    if (status != HOOP_OK)
        return error_pass(status);
    copies_make(&before, &ops);
    if (ops.recv_prev)
        ops.recv_prev->shape = *shape;
    if (ops.recv_next)
        ops.recv_next->shape = *shape;
    status = p2p_exchange_call(p2p, &ops, out_requests);
    if (status != HOOP_OK) {
        copies_hand_out(&before, &ops);
        return error_pass(status);
    }
    return HOOP_OK;
}
