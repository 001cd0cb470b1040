/*
 * pipeline/p2p_exchange.c - tensors to and from neighbours, as configured
 *
 * The first part starts transfers that the caller lists and waits for them:
 * hoop_p2p_ops_batched(), hoop_p2p_ops_unbatched(), their variants with
 * neighbours of another communicator, and hoop_p2p_wait(). The second part is
 * the exchange with the settings of the communicator applied, on which
 * hoop_p2p_communicate() and p2p_methods.c are built.
 */

#include "pipeline/p2p_exchange.h"

#include <stdio.h>

#include "api/tensor_message.h"
#include "base/error.h"
#include "base/limits.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

/* Started transfers with the neighbours. */

static const struct hoop_tensor *
p2p_ops_tensor(const struct hoop_p2p_ops *ops,
               enum hoop_p2p_direction direction)
{
    switch (direction) {
    case HOOP_P2P_SEND_PREV:
        return ops->send_prev;
    case HOOP_P2P_RECV_PREV:
        return ops->recv_prev;
    case HOOP_P2P_SEND_NEXT:
        return ops->send_next;
    case HOOP_P2P_RECV_NEXT:
        return ops->recv_next;
    }
    return NULL;
}

static struct hoop_tensor *
p2p_ops_received_slot(const struct hoop_p2p_ops *ops,
                      enum hoop_p2p_direction direction)
{
    switch (direction) {
    case HOOP_P2P_RECV_PREV:
        return ops->received_prev;
    case HOOP_P2P_RECV_NEXT:
        return ops->received_next;
    case HOOP_P2P_SEND_PREV:
    case HOOP_P2P_SEND_NEXT:
        break;
    }
    return NULL;
}

struct p2p_posting
p2p_posting_default(const struct hoop_p2p *p2p)
{
    return (struct p2p_posting){
        .comm = p2p->stages,
        .rank = p2p->rank,
        .prev = hoop_p2p_prev(p2p),
        .next = hoop_p2p_next(p2p),
        .order = p2p->order,
        .tags = TAG_P2P,
        .part = frame_part_numbered(1, 0),
    };
}

static struct tensor_message
p2p_tensor_message(const struct p2p_posting *posting,
                   const struct hoop_p2p_ops *ops,
                   enum hoop_p2p_direction direction)
{
    const bool is_next_stage =
        direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_RECV_NEXT;

    return (struct tensor_message){
        .kind = p2p_direction_kind(direction),
        .tensor = p2p_ops_tensor(ops, direction),
        .received = p2p_ops_received_slot(ops, direction),
        .peer = is_next_stage ? posting->next : posting->prev,
        .tag =
            tag_of_library_part(posting->tags, p2p_direction_pass(direction)),
        .part = posting->part,
        .has_dtype = true,
    };
}

enum hoop_status
p2p_requests_start(const struct p2p_posting *posting,
                   const struct hoop_p2p_ops *ops,
                   struct hoop_p2p_requests *out_requests)
{
    const enum hoop_p2p_direction *directions =
        p2p_order_directions(posting->order, posting->rank);
    struct tensor_message messages[P2P_N_DIRECTIONS];
    hoop_op_t *started[P2P_N_DIRECTIONS] = {NULL};
    struct hoop_p2p_requests requests = {0};

    for (uint32_t i = 0; i < P2P_N_DIRECTIONS; i++) {
        if (!p2p_ops_tensor(ops, directions[i]))
            continue;
        messages[requests.n_requests] =
            p2p_tensor_message(posting, ops, directions[i]);
        requests.requests[requests.n_requests++].direction = directions[i];
    }
    if (requests.n_requests > 0) {
        const enum hoop_status status = tensor_message_start(
            messages, requests.n_requests, posting->comm, started);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    for (uint32_t i = 0; i < requests.n_requests; i++)
        requests.requests[i].op = started[i];
    *out_requests = requests;
    return HOOP_OK;
}

static enum hoop_status
p2p_requests_wait(struct hoop_p2p_requests *requests, int64_t timeout_ms)
{
    hoop_op_t *ops[P2P_N_DIRECTIONS];

    for (uint32_t i = 0; i < requests->n_requests; i++)
        ops[i] = requests->requests[i].op;
    const enum hoop_status status =
        hoop_wait_all(ops, requests->n_requests, timeout_ms);
    for (uint32_t i = 0; i < requests->n_requests; i++)
        requests->requests[i].op = ops[i];
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_requests_finish(struct hoop_p2p_requests *requests, unsigned *out_failed)
{
    enum hoop_status first = HOOP_OK;
    char text[LIMIT_ERROR_TEXT];

    *out_failed = 0;
    for (uint32_t i = 0; i < requests->n_requests; i++) {
        struct hoop_p2p_request *request = &requests->requests[i];
        const enum hoop_status status = hoop_wait(request->op, HOOP_FOREVER);

        request->op = NULL;
        if (status == HOOP_OK)
            continue;
        *out_failed |= 1U << request->direction;
        if (first == HOOP_OK)
            snprintf(text, sizeof(text), "%s", error_text());
        first = first == HOOP_OK ? status : first;
    }
    return first == HOOP_OK ? HOOP_OK : error_raise(first, "%s", text);
}

enum hoop_status
hoop_p2p_wait(struct hoop_p2p_requests *requests, int64_t timeout_ms)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!requests)
        return error_raise(HOOP_E_INVALID, "requests is NULL");
    if (requests->n_requests > P2P_N_DIRECTIONS)
        return error_raise(HOOP_E_INVALID, "%u requests are more than four",
                           requests->n_requests);
    const enum hoop_status status = p2p_requests_wait(requests, timeout_ms);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_ops_check_single_stage(const struct hoop_p2p *p2p,
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
p2p_ops_arguments_check(const struct hoop_p2p_ops *ops,
                        const struct hoop_p2p_requests *out_requests)
{
    if (!ops)
        return error_raise(HOOP_E_INVALID, "ops is NULL");
    if (!out_requests)
        return error_raise(HOOP_E_INVALID, "out_requests is NULL");
    return HOOP_OK;
}

static enum hoop_status
p2p_start_in_order(hoop_p2p_t *p2p,
                   const struct hoop_p2p_ops *ops,
                   enum p2p_order order,
                   struct hoop_p2p_requests *out_requests)
{
    bool is_member;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status == HOOP_OK)
        status = p2p_ops_arguments_check(ops, out_requests);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        out_requests->n_requests = 0;
        return HOOP_OK;
    }
    struct p2p_posting posting = p2p_posting_default(p2p);
    posting.order = order;
    status = p2p_requests_start(&posting, ops, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_ops_batched(hoop_p2p_t *p2p,
                     const struct hoop_p2p_ops *ops,
                     struct hoop_p2p_requests *out_requests)
{
    return p2p_start_in_order(p2p, ops, P2P_ORDER_BATCHED, out_requests);
}

enum hoop_status
hoop_p2p_ops_unbatched(hoop_p2p_t *p2p,
                       const struct hoop_p2p_ops *ops,
                       struct hoop_p2p_requests *out_requests)
{
    return p2p_start_in_order(p2p, ops, P2P_ORDER_UNBATCHED, out_requests);
}

/* Checks that a rank which ops needs is in comm. */
static enum hoop_status
neighbour_rank_check(uint32_t rank, const char *name, const hoop_comm_t *comm)
{
    const uint32_t size = hoop_comm_size(comm);

    if (rank < size)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "%s is rank %u, but the communicator that it is a rank "
                       "of has %u",
                       name, rank, size);
}

static enum hoop_status
p2p_neighbours_check(const struct hoop_p2p_neighbours *neighbours,
                     const struct hoop_p2p_ops *ops,
                     const hoop_comm_t *comm)
{
    enum hoop_status status = HOOP_OK;

    if (ops->send_prev || ops->recv_prev)
        status = neighbour_rank_check(neighbours->prev, "prev", comm);
    if (status == HOOP_OK && (ops->send_next || ops->recv_next))
        status = neighbour_rank_check(neighbours->next, "next", comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
p2p_start_with_neighbours(const struct hoop_p2p_neighbours *neighbours,
                          const struct hoop_p2p_ops *ops,
                          enum p2p_order order,
                          struct hoop_p2p_requests *out_requests)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!neighbours || !neighbours->group)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           neighbours ? "neighbours->group" : "neighbours");
    enum hoop_status status = p2p_ops_arguments_check(ops, out_requests);
    if (status != HOOP_OK)
        return error_pass(status);
    hoop_comm_t *comm = neighbours->comm ? neighbours->comm : neighbours->group;
    if (!hoop_comm_is_member(neighbours->group) || !hoop_comm_is_member(comm)) {
        out_requests->n_requests = 0;
        return HOOP_OK;
    }
    const struct p2p_posting posting = {
        .comm = comm,
        .rank = hoop_comm_rank(neighbours->group),
        .prev = neighbours->prev,
        .next = neighbours->next,
        .order = order,
        .tags = TAG_P2P,
        .part = frame_part_numbered(1, 0),
    };
    status = p2p_neighbours_check(neighbours, ops, comm);
    if (status == HOOP_OK)
        status = p2p_requests_start(&posting, ops, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_ops_batched_with(const struct hoop_p2p_neighbours *neighbours,
                          const struct hoop_p2p_ops *ops,
                          struct hoop_p2p_requests *out_requests)
{
    return p2p_start_with_neighbours(neighbours, ops, P2P_ORDER_BATCHED,
                                     out_requests);
}

enum hoop_status
hoop_p2p_ops_unbatched_with(const struct hoop_p2p_neighbours *neighbours,
                            const struct hoop_p2p_ops *ops,
                            struct hoop_p2p_requests *out_requests)
{
    return p2p_start_with_neighbours(neighbours, ops, P2P_ORDER_UNBATCHED,
                                     out_requests);
}

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
struct p2p_ops_with_settings {
    struct hoop_tensor prev; /* expected tensor, as next */
    struct hoop_tensor next;
    struct hoop_p2p_ops ops;
};

static void
p2p_ops_apply_settings(const struct hoop_p2p *p2p,
                       const struct hoop_p2p_ops *ops,
                       struct p2p_ops_with_settings *out)
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
    struct p2p_ops_with_settings p2p_ops_with_settings;

    p2p_ops_with_settings.ops = *ops;
    /* The tensor that stands for an empty list has a dtype of its own. */
    if (part != FRAME_PART_EMPTY)
        p2p_ops_apply_settings(p2p, ops, &p2p_ops_with_settings);
    p2p_ops_with_settings.ops.received_prev = &came.prev;
    p2p_ops_with_settings.ops.received_next = &came.next;
    posting.part = part;
    enum hoop_status status =
        p2p_requests_start(&posting, &p2p_ops_with_settings.ops, &requests);
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
        status = p2p_ops_check_single_stage(p2p, ops);
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
    struct p2p_ops_with_settings p2p_ops_with_settings;
    enum hoop_status status;

    if (p2p->order == P2P_ORDER_BATCHED)
        return error_raise(HOOP_E_INVALID,
                           "a batch cannot overlap: create the communicator "
                           "with is_unbatched, or wait (out_requests NULL)");
    status = p2p_ops_check(p2p, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    p2p_ops_apply_settings(p2p, ops, &p2p_ops_with_settings);
    status =
        p2p_requests_start(&posting, &p2p_ops_with_settings.ops, out_requests);
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
