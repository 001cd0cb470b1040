/* pipeline/p2p_requests.c - started transfers with the neighbours */

#include "pipeline/p2p_requests.h"

#include <stdio.h>

#include "api/tensor_message.h"
#include "base/error.h"
#include "base/limits.h"

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
    const bool is_next =
        direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_RECV_NEXT;

    return (struct tensor_message){
        .kind = p2p_direction_kind(direction),
        .tensor = p2p_ops_tensor(ops, direction),
        .received = p2p_ops_received_slot(ops, direction),
        .peer = is_next ? posting->next : posting->prev,
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
    struct tensor_message messages[P2P_ORDER_DIRECTIONS];
    hoop_op_t *started[P2P_ORDER_DIRECTIONS] = {NULL};
    struct hoop_p2p_requests requests = {0};

    for (uint32_t i = 0; i < P2P_ORDER_DIRECTIONS; i++) {
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
    if (requests->n_requests > P2P_ORDER_DIRECTIONS)
        return error_raise(HOOP_E_INVALID, "%u requests are more than four",
                           requests->n_requests);
    const enum hoop_status status = p2p_requests_wait(requests, timeout_ms);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
p2p_requests_check_one_stage(const struct hoop_p2p *p2p,
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
