/*
 * pipeline/p2p_exchange.c - tensors to and from neighbours, as configured
 *
 * The first part starts transfers that the caller lists and waits for them:
 * hoop_p2p_ops_batched(), hoop_p2p_ops_unbatched(), their variants with
 * neighbours of another communicator, and hoop_p2p_wait(). The second part is
 * the exchange with the settings of the communicator applied, on which
 * hoop_p2p_communicate() and p2p_methods.c are built.
 */

#include "api/tensor_message.h"
#include "base/error.h"
#include "pipeline/p2p_communicator.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

/* Started transfers with the neighbours. */

static struct p2p_tensors
p2p_ops_tensors(const struct hoop_p2p_ops *ops)
{
    return (struct p2p_tensors){{
        [HOOP_P2P_SEND_PREV] = {ops->send_prev, NULL},
        [HOOP_P2P_RECV_PREV] = {ops->recv_prev, ops->received_prev},
        [HOOP_P2P_SEND_NEXT] = {ops->send_next, NULL},
        [HOOP_P2P_RECV_NEXT] = {ops->recv_next, ops->received_next},
    }};
}

/* One tensor in each direction. */
static struct p2p_posting
p2p_posting_of_tensors(struct neighbours neighbours,
                       uint32_t rank,
                       enum neighbour_order order)
{
    return (struct p2p_posting){
        .neighbours = neighbours,
        .rank = rank,
        .order = order,
        .tags = TAG_P2P,
        .part = frame_part_numbered(1, 0),
    };
}

struct p2p_posting
p2p_posting_default(const struct hoop_p2p *p2p)
{
    return p2p_posting_of_tensors(p2p->neighbours, p2p->rank, p2p->order);
}

/* The messages of a call, in the order in which they are posted. */
struct p2p_messages {
    uint32_t n_messages;
    struct tensor_message messages[NEIGHBOUR_N_DIRECTIONS];
    enum hoop_p2p_direction directions[NEIGHBOUR_N_DIRECTIONS];
};

static void
p2p_messages_fill(const struct p2p_posting *posting,
                  const struct p2p_tensors *tensors,
                  struct p2p_messages *out)
{
    const enum hoop_p2p_direction *directions =
        neighbour_order_directions(posting->order, posting->rank);

    out->n_messages = 0;
    for (uint32_t i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        const enum hoop_p2p_direction direction = directions[i];
        const struct p2p_tensor *tensor = &tensors->at[direction];
        struct tensor_message *message = &out->messages[out->n_messages];

        if (!tensor->tensor)
            continue;
        *message =
            neighbour_message(&posting->neighbours, direction, tensor->tensor);
        message->received = tensor->received;
        message->tag = tag_of_library_part(
            posting->tags, neighbour_directions[direction].pass);
        message->part = posting->part;
        message->has_dtype = true;
        out->directions[out->n_messages++] = direction;
    }
}

/* Starts the transfers after it has checked them all. */
static enum hoop_status
p2p_requests_start(const struct p2p_posting *posting,
                   const struct p2p_tensors *tensors,
                   struct hoop_p2p_requests *out_requests)
{
    hoop_op_t *ops[NEIGHBOUR_N_DIRECTIONS];
    struct p2p_messages messages;

    p2p_messages_fill(posting, tensors, &messages);
    const enum hoop_status status = tensor_message_start(
        messages.messages, messages.n_messages, posting->neighbours.comm, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_requests =
        (struct hoop_p2p_requests){.n_requests = messages.n_messages};
    for (uint32_t i = 0; i < messages.n_messages; i++)
        out_requests->requests[i] =
            (struct hoop_p2p_request){messages.directions[i], ops[i]};
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_wait(struct hoop_p2p_requests *requests, int64_t timeout_ms)
{
    hoop_op_t *ops[NEIGHBOUR_N_DIRECTIONS];

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!requests)
        return error_raise(HOOP_E_INVALID, "requests is NULL");
    if (requests->n_requests > NEIGHBOUR_N_DIRECTIONS)
        return error_raise(HOOP_E_INVALID, "%u requests are more than four",
                           requests->n_requests);
    for (uint32_t i = 0; i < requests->n_requests; i++)
        ops[i] = requests->requests[i].op;
    const enum hoop_status status =
        hoop_wait_all(ops, requests->n_requests, timeout_ms);
    for (uint32_t i = 0; i < requests->n_requests; i++)
        requests->requests[i].op = ops[i];
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Checks that a blocking call of a pipeline with one stage can end: what is
 * sent in a direction of travel must be received in the same call. */
static enum hoop_status
p2p_check_single_stage(const struct hoop_p2p *p2p,
                       const struct p2p_tensors *tensors)
{
    const struct p2p_tensor *at = tensors->at;

    if (p2p->size != 1)
        return HOOP_OK;
    if (!at[HOOP_P2P_SEND_NEXT].tensor != !at[HOOP_P2P_RECV_PREV].tensor)
        return error_raise(HOOP_E_INVALID,
                           "alone in the pipeline, what is sent to next must "
                           "be received from prev in the same call");
    if (!at[HOOP_P2P_SEND_PREV].tensor != !at[HOOP_P2P_RECV_NEXT].tensor)
        return error_raise(HOOP_E_INVALID,
                           "alone in the pipeline, what is sent to prev must "
                           "be received from next in the same call");
    return HOOP_OK;
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
                          enum neighbour_order order,
                          struct hoop_p2p_requests *out_requests)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!neighbours || !neighbours->group)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           neighbours ? "neighbours->group" : "neighbours");
    if (!ops || !out_requests)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           ops ? "out_requests" : "ops");
    hoop_comm_t *comm = neighbours->comm ? neighbours->comm : neighbours->group;
    if (!hoop_comm_is_member(neighbours->group) || !hoop_comm_is_member(comm)) {
        out_requests->n_requests = 0;
        return HOOP_OK;
    }
    const struct p2p_tensors tensors = p2p_ops_tensors(ops);
    const struct p2p_posting posting = p2p_posting_of_tensors(
        (struct neighbours){comm, neighbours->prev, neighbours->next},
        hoop_comm_rank(neighbours->group), order);
    enum hoop_status status = p2p_neighbours_check(neighbours, ops, comm);
    if (status == HOOP_OK)
        status = p2p_requests_start(&posting, &tensors, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_ops_batched_with(const struct hoop_p2p_neighbours *neighbours,
                          const struct hoop_p2p_ops *ops,
                          struct hoop_p2p_requests *out_requests)
{
    return p2p_start_with_neighbours(neighbours, ops, NEIGHBOUR_ORDER_BATCHED,
                                     out_requests);
}

enum hoop_status
hoop_p2p_ops_unbatched_with(const struct hoop_p2p_neighbours *neighbours,
                            const struct hoop_p2p_ops *ops,
                            struct hoop_p2p_requests *out_requests)
{
    return p2p_start_with_neighbours(neighbours, ops, NEIGHBOUR_ORDER_UNBATCHED,
                                     out_requests);
}

static enum hoop_status
p2p_start_in_order(hoop_p2p_t *p2p,
                   const struct hoop_p2p_ops *ops,
                   enum neighbour_order order,
                   struct hoop_p2p_requests *out_requests)
{
    bool is_member;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct hoop_p2p_neighbours neighbours = {
        .group = p2p->neighbours.comm,
        .prev = p2p->neighbours.prev,
        .next = p2p->neighbours.next,
    };
    status = p2p_start_with_neighbours(&neighbours, ops, order, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_ops_batched(hoop_p2p_t *p2p,
                     const struct hoop_p2p_ops *ops,
                     struct hoop_p2p_requests *out_requests)
{
    return p2p_start_in_order(p2p, ops, NEIGHBOUR_ORDER_BATCHED, out_requests);
}

enum hoop_status
hoop_p2p_ops_unbatched(hoop_p2p_t *p2p,
                       const struct hoop_p2p_ops *ops,
                       struct hoop_p2p_requests *out_requests)
{
    return p2p_start_in_order(p2p, ops, NEIGHBOUR_ORDER_UNBATCHED,
                              out_requests);
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
p2p_check_shape(const struct hoop_p2p *p2p,
                const struct hoop_tensor *tensor,
                const char *name)
{
    size_t count;
    enum hoop_status status;

    if (p2p->has_variable_shapes && tensor->data)
        return error_raise(HOOP_E_INVALID,
                           "%s has data, but where shapes vary hoop "
                           "allocates what comes: set data to NULL",
                           name);
    if (p2p->has_variable_shapes)
        return HOOP_OK;
    if (tensor->shape.n_dims == HOOP_ANY_SHAPE)
        return error_raise(HOOP_E_INVALID,
                           "%s has no shape: say what will come, or create "
                           "the communicator with has_variable_shapes",
                           name);
    const struct hoop_tensor expected = p2p_expected_tensor(p2p, tensor);
    status = tensor->data ? operand_check(&expected, name)
                          : shape_count(&tensor->shape, &count);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_exchange_check_receive(const struct hoop_p2p *p2p,
                           const struct p2p_tensor *tensor,
                           const char *name)
{
    if (!tensor->tensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    if (!p2p->has_dtype)
        return error_raise(HOOP_E_INVALID,
                           "%s cannot be received: the communicator was "
                           "created without a dtype",
                           name);
    const enum hoop_status status = p2p_check_shape(p2p, tensor->tensor, name);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct hoop_tensor expected =
        p2p_expected_tensor(p2p, tensor->tensor);
    return tensor_message_check_output(&expected, tensor->received, name);
}

static enum hoop_status
p2p_tensors_check(const struct hoop_p2p *p2p, const struct p2p_tensors *tensors)
{
    static const char *const names[NEIGHBOUR_N_DIRECTIONS] = {
        [HOOP_P2P_SEND_PREV] = "what goes to prev",
        [HOOP_P2P_RECV_PREV] = "what comes from prev",
        [HOOP_P2P_SEND_NEXT] = "what goes to next",
        [HOOP_P2P_RECV_NEXT] = "what comes from next",
    };
    enum hoop_status status = HOOP_OK;

    for (uint32_t i = 0; status == HOOP_OK && i < NEIGHBOUR_N_DIRECTIONS; i++) {
        const struct p2p_tensor *tensor = &tensors->at[i];

        if (tensor->tensor)
            status = neighbour_directions[i].kind == HOOP_SEND
                         ? operand_check(tensor->tensor, names[i])
                         : p2p_exchange_check_receive(p2p, tensor, names[i]);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Copies the expected tensors to expected, applies the communicator's settings
 * to the copies, and returns tensors that refer to them. */
static struct p2p_tensors
p2p_tensors_apply_settings(const struct hoop_p2p *p2p,
                           const struct p2p_tensors *tensors,
                           struct hoop_tensor *expected)
{
    struct p2p_tensors applied = *tensors;

    for (uint32_t i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        if (!applied.at[i].tensor || neighbour_directions[i].kind == HOOP_SEND)
            continue;
        expected[i] = p2p_expected_tensor(p2p, applied.at[i].tensor);
        applied.at[i].tensor = &expected[i];
    }
    return applied;
}

enum hoop_status
p2p_exchange_run(const struct hoop_p2p *p2p,
                 const struct p2p_posting *posting,
                 const struct p2p_tensors *tensors,
                 unsigned *out_failed)
{
    enum hoop_status statuses[NEIGHBOUR_N_DIRECTIONS] = {HOOP_OK};
    struct p2p_messages messages;
    enum hoop_status status = p2p_check_single_stage(p2p, tensors);

    *out_failed = 0;
    if (status != HOOP_OK)
        return error_pass(status);
    p2p_messages_fill(posting, tensors, &messages);
    status = tensor_message_run_each(messages.messages, messages.n_messages,
                                     posting->neighbours.comm, statuses);
    for (uint32_t i = 0; i < messages.n_messages; i++) {
        if (statuses[i] != HOOP_OK)
            *out_failed |= 1U << messages.directions[i];
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_exchange_list_element(const struct hoop_p2p *p2p,
                          const struct p2p_tensors *tensors,
                          uint32_t part,
                          unsigned *out_failed)
{
    struct p2p_posting posting = p2p_posting_default(p2p);
    struct hoop_tensor expected[NEIGHBOUR_N_DIRECTIONS];
    struct p2p_tensors applied = *tensors;
    enum hoop_status status = HOOP_OK;

    posting.part = part;
    *out_failed = 0;
    /* The tensor that stands for an empty list has a dtype of its own. */
    if (part != FRAME_PART_EMPTY) {
        status = p2p_tensors_check(p2p, tensors);
        if (status != HOOP_OK)
            return error_pass(status);
        applied = p2p_tensors_apply_settings(p2p, tensors, expected);
    }
    status = p2p_exchange_run(p2p, &posting, &applied, out_failed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
p2p_exchange_start(const struct hoop_p2p *p2p,
                   const struct p2p_tensors *tensors,
                   struct hoop_p2p_requests *out_requests)
{
    const struct p2p_posting posting = p2p_posting_default(p2p);
    struct hoop_tensor expected[NEIGHBOUR_N_DIRECTIONS];

    if (p2p->order == NEIGHBOUR_ORDER_BATCHED)
        return error_raise(HOOP_E_INVALID,
                           "a batch cannot overlap: create the communicator "
                           "with is_unbatched, or wait (out_requests NULL)");
    enum hoop_status status = p2p_tensors_check(p2p, tensors);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct p2p_tensors applied =
        p2p_tensors_apply_settings(p2p, tensors, expected);
    status = p2p_requests_start(&posting, &applied, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_exchange_run_or_start(const struct hoop_p2p *p2p,
                          const struct p2p_tensors *tensors,
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
    status = out_requests ? p2p_exchange_start(p2p, tensors, out_requests)
                          : p2p_exchange_list_element(p2p, tensors,
                                                      frame_part_numbered(1, 0),
                                                      &failed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_p2p_exchange_all(hoop_p2p_t *p2p, const struct hoop_p2p_ops *ops)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!ops)
        return error_raise(HOOP_E_INVALID, "ops is NULL");
    const struct p2p_tensors tensors = p2p_ops_tensors(ops);
    const enum hoop_status status =
        p2p_exchange_run_or_start(p2p, &tensors, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Checks what hoop_p2p_communicate() needs to receive. */
static enum hoop_status
p2p_communicate_check(const struct hoop_p2p_exchange *exchange,
                      const struct hoop_shape *shape,
                      const struct hoop_p2p_received *received)
{
    if (!exchange->recv_prev && !exchange->recv_next)
        return HOOP_OK;
    if (!shape)
        return error_raise(HOOP_E_INVALID,
                           "shape is NULL, but something is received");
    if (!received)
        return error_raise(HOOP_E_INVALID,
                           "out_received is NULL, but something is received");
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_communicate(hoop_p2p_t *p2p,
                     const struct hoop_p2p_exchange *exchange,
                     const struct hoop_shape *shape,
                     struct hoop_p2p_received *out_received,
                     struct hoop_p2p_requests *out_requests)
{
    struct hoop_tensor prev = {0};
    struct hoop_tensor next = {0};
    struct p2p_tensors tensors = {0};
    bool is_member;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status == HOOP_OK && !exchange)
        status = error_raise(HOOP_E_INVALID, "exchange is NULL");
    if (status == HOOP_OK && is_member)
        status = p2p_communicate_check(exchange, shape, out_received);
    if (status != HOOP_OK)
        return error_pass(status);
    tensors.at[HOOP_P2P_SEND_PREV].tensor = exchange->send_prev;
    tensors.at[HOOP_P2P_SEND_NEXT].tensor = exchange->send_next;
    if (is_member && exchange->recv_prev) {
        prev =
            (struct hoop_tensor){.data = exchange->prev_data, .shape = *shape};
        tensors.at[HOOP_P2P_RECV_PREV] =
            (struct p2p_tensor){&prev, &out_received->prev};
    }
    if (is_member && exchange->recv_next) {
        next =
            (struct hoop_tensor){.data = exchange->next_data, .shape = *shape};
        tensors.at[HOOP_P2P_RECV_NEXT] =
            (struct p2p_tensor){&next, &out_received->next};
    }
    status = p2p_exchange_run_or_start(p2p, &tensors, out_requests);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
