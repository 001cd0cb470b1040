/* parallel/p2p_requests.c - transfers with the neighbours, started */

#include "parallel/p2p_requests.h"

#include "base/error.h"
#include "coll/tensor_message.h"

/* Of a send it is only read. */
static struct hoop_tensor *
tensor_of(const struct hoop_p2p_ops *ops, enum hoop_p2p_direction direction)
{
    switch (direction) {
    case HOOP_P2P_SEND_PREV:
        return (struct hoop_tensor *)(uintptr_t)ops->send_prev;
    case HOOP_P2P_RECV_PREV:
        return ops->recv_prev;
    case HOOP_P2P_SEND_NEXT:
        return (struct hoop_tensor *)(uintptr_t)ops->send_next;
    case HOOP_P2P_RECV_NEXT:
        return ops->recv_next;
    }
    return NULL;
}

static enum hoop_status
start_listed(const struct hoop_p2p *p2p,
             const struct tensor_message *messages,
             struct hoop_p2p_requests *requests)
{
    hoop_op_t *ops[P2P_ORDER_DIRECTIONS] = {NULL};
    const enum hoop_status status =
        tensor_message_start(messages, requests->n_requests, p2p->stages, ops);

    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < requests->n_requests; i++)
        requests->requests[i].op = ops[i];
    return HOOP_OK;
}

enum hoop_status
p2p_requests_start(const struct hoop_p2p *p2p,
                   const struct hoop_p2p_ops *ops,
                   enum p2p_order order,
                   enum tag_part part,
                   struct hoop_p2p_requests *out_requests)
{
    const enum hoop_p2p_direction *directions = p2p_order_of(order, p2p->rank);
    struct tensor_message messages[P2P_ORDER_DIRECTIONS];
    struct hoop_p2p_requests requests = {0};

    for (uint32_t i = 0; i < P2P_ORDER_DIRECTIONS; i++) {
        struct hoop_tensor *tensor = tensor_of(ops, directions[i]);

        if (!tensor)
            continue;
        messages[requests.n_requests] = (struct tensor_message){
            .kind = p2p_order_kind(directions[i]),
            .tensor = tensor,
            .peer = p2p_order_peer(directions[i], p2p->rank, p2p->size),
            .tag = tag_of(part, p2p_order_way(directions[i])),
            .has_dtype = true,
        };
        requests.requests[requests.n_requests++].direction = directions[i];
    }
    if (requests.n_requests > 0) {
        const enum hoop_status status = start_listed(p2p, messages, &requests);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_requests = requests;
    return HOOP_OK;
}

static enum hoop_status
wait_all(struct hoop_p2p_requests *requests, int64_t timeout_ms)
{
    hoop_op_t *ops[P2P_ORDER_DIRECTIONS];

    for (uint32_t i = 0; i < requests->n_requests; i++)
        ops[i] = requests->requests[i].op;
    const enum hoop_status status =
        hoop_wait_all(ops, requests->n_requests, timeout_ms);
    for (uint32_t i = 0; i < requests->n_requests; i++)
        requests->requests[i].op = ops[i];
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_requests_finish(struct hoop_p2p_requests *requests)
{
    const enum hoop_status status = wait_all(requests, HOOP_FOREVER);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_wait(struct hoop_p2p_requests *requests, int64_t timeout_ms)
{
    error_clear();
    if (!requests)
        return error_raise(HOOP_E_INVALID, "requests is NULL");
    if (requests->n_requests > P2P_ORDER_DIRECTIONS)
        return error_raise(HOOP_E_INVALID, "%u requests are more than four",
                           requests->n_requests);
    const enum hoop_status status = wait_all(requests, timeout_ms);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_requests_check_alone(const struct hoop_p2p *p2p,
                         const struct hoop_p2p_ops *ops)
{
    if (p2p->size != 1)
        return HOOP_OK;
    if (!ops->send_next != !ops->recv_prev)
        return error_raise(HOOP_E_INVALID,
                           "alone in the pipeline, what is sent to next must "
                           "be received from prev in the same call");
    if (!ops->send_prev != !ops->recv_next)
        return error_raise(HOOP_E_INVALID,
                           "alone in the pipeline, what is sent to prev must "
                           "be received from next in the same call");
    return HOOP_OK;
}

static enum hoop_status
start_as_given(hoop_p2p_t *p2p,
               const struct hoop_p2p_ops *ops,
               enum p2p_order order,
               struct hoop_p2p_requests *out_requests)
{
    bool is_member;
    enum hoop_status status = p2p_communicator_check(p2p, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!ops)
        return error_raise(HOOP_E_INVALID, "ops is NULL");
    if (!out_requests)
        return error_raise(HOOP_E_INVALID, "out_requests is NULL");
    if (!is_member) {
        out_requests->n_requests = 0;
        return HOOP_OK;
    }
    status = p2p_requests_start(p2p, ops, order, TAG_P2P, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_ops_batched(hoop_p2p_t *p2p,
                     const struct hoop_p2p_ops *ops,
                     struct hoop_p2p_requests *out_requests)
{
    return start_as_given(p2p, ops, P2P_ORDER_BATCHED, out_requests);
}

enum hoop_status
hoop_p2p_ops_unbatched(hoop_p2p_t *p2p,
                       const struct hoop_p2p_ops *ops,
                       struct hoop_p2p_requests *out_requests)
{
    return start_as_given(p2p, ops, P2P_ORDER_UNBATCHED, out_requests);
}
