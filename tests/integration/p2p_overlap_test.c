/*
 * tests/integration/p2p_overlap_test.c - started now, waited for later
 *
 * In which order requests are posted, what of them lives on return, and
 * _communicate(), which hands them out.
 */

#include "p2p_case.h"

/* Into memory of the caller's, where the shape is known. */
static int
communicate_exchanges(struct stage *stage, uint32_t kind)
{
    const struct rank *rank = stage->rank;
    int64_t place[2] = {7, 7};
    struct hoop_p2p_received got = {0};
    const struct hoop_p2p_exchange exchange = {
        .send_next = &stage->act,
        .send_prev = &stage->grad,
        .recv_prev = true,
        .recv_next = true,
        .prev_data = kind < 2 ? place : NULL,
    };

    RANK_CHECK(hoop_p2p_communicate(stage->p2p, &exchange, &pair, &got, NULL) ==
               HOOP_OK);
    RANK_CHECK(is_act(&got.prev, stage->prev));
    RANK_CHECK(is_grad(&got.next, stage->next));
    RANK_CHECK(kind >= 2 || got.prev.data == place);
    if (kind >= 2)
        hoop_tensor_free(&got.prev);
    hoop_tensor_free(&got.next);
    /* Nothing to receive: neither a shape nor a place is needed. */
    const struct hoop_p2p_exchange nothing = {0};
    RANK_CHECK(hoop_p2p_communicate(stage->p2p, &nothing, NULL, NULL, NULL) ==
               HOOP_OK);
    return 0;
}

static bool
has_order(const struct hoop_p2p_requests *requests,
          const enum hoop_p2p_direction *expected,
          uint32_t n_expected)
{
    bool is_right = requests->n_requests == n_expected;

    for (uint32_t i = 0; is_right && i < n_expected; i++)
        is_right = requests->requests[i].direction == expected[i];
    return is_right;
}

static int
requests_have_order(struct stage *stage)
{
    static const enum hoop_p2p_direction orders[][4] = {
        {HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_PREV,
         HOOP_P2P_RECV_NEXT},
        {HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_NEXT,
         HOOP_P2P_SEND_PREV},
        {HOOP_P2P_SEND_PREV, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT,
         HOOP_P2P_RECV_NEXT},
    };
    const struct rank *rank = stage->rank;
    struct hoop_tensor input = tensor_awaited(&pair);
    struct hoop_tensor output_grad = tensor_awaited(&pair);
    struct hoop_p2p_ops ops = {.send_next = &stage->act,
                               .send_prev = &stage->grad,
                               .recv_prev = &input,
                               .received_prev = &input,
                               .recv_next = &output_grad,
                               .received_next = &output_grad};
    struct hoop_p2p_requests requests;

    input.dtype = HOOP_INT64;
    output_grad.dtype = HOOP_INT64;
    RANK_CHECK(hoop_p2p_ops_unbatched(stage->p2p, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, orders[rank->rank % 2], 4));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_act(&input, stage->prev));
    RANK_CHECK(is_grad(&output_grad, stage->next));
    RANK_CHECK(hoop_p2p_ops_batched(stage->p2p, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, orders[2], 4));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    /* What is NULL is skipped. */
    ops.send_prev = NULL;
    ops.recv_next = NULL;
    RANK_CHECK(hoop_p2p_ops_batched(stage->p2p, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, &orders[2][1], 2));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    const struct hoop_p2p_ops nothing = {0};
    RANK_CHECK(hoop_p2p_ops_unbatched(stage->p2p, &nothing, &requests) ==
               HOOP_OK);
    RANK_CHECK(requests.n_requests == 0);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    hoop_tensor_free(&input);
    hoop_tensor_free(&output_grad);
    return 0;
}

/* The last rank sends only when all others have seen that they still wait. */
static int
overlap_returns_before_the_tensor(struct stage *stage, uint32_t kind)
{
    struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_p2p_requests requests;
    const uint32_t last = rank->size - 1;

    if (kind % 2 == 0) {
        RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage->p2p, &stage->act,
                                                      &got, &got, &requests) ==
                   HOOP_E_INVALID);
        RANK_CHECK(got.data == NULL);
        return 0;
    }
    if (rank->rank == last)
        room_await(rank, kind, last > 0);
    RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage->p2p, &stage->act, &got,
                                                  &got, &requests) == HOOP_OK);
    RANK_CHECK(requests.n_requests == 2 && requests.requests[0].op &&
               requests.requests[1].op);
    if (rank->rank == 0 && last > 0) {
        RANK_CHECK(hoop_p2p_wait(&requests, 0) == HOOP_E_PENDING);
        room_add(rank, kind);
    }
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(!requests.requests[0].op && !requests.requests[1].op);
    RANK_CHECK(is_act(&got, stage->prev));
    hoop_tensor_free(&got);
    return 0;
}

static int
communicate_overlaps(struct stage *stage, uint32_t kind)
{
    const struct rank *rank = stage->rank;
    struct hoop_p2p_received got = {0};
    struct hoop_p2p_requests requests;
    const struct hoop_p2p_exchange exchange = {
        .send_next = &stage->act,
        .send_prev = &stage->grad,
        .recv_prev = true,
        .recv_next = true,
    };
    const enum hoop_status status =
        hoop_p2p_communicate(stage->p2p, &exchange, &pair, &got, &requests);

    if (kind % 2 == 0) {
        RANK_CHECK(status == HOOP_E_INVALID);
        RANK_CHECK(got.prev.data == NULL && got.prev.shape.n_dims == 0);
        return 0;
    }
    RANK_CHECK(status == HOOP_OK && requests.n_requests == 4);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_act(&got.prev, stage->prev));
    RANK_CHECK(is_grad(&got.next, stage->next));
    hoop_tensor_free(&got.prev);
    hoop_tensor_free(&got.next);
    return 0;
}

static int
body(struct rank *rank)
{
    for (uint32_t kind = 0; kind < N_P2P_KINDS; kind++) {
        struct stage stage;

        stage_init(&stage, rank, kind);
        RANK_CHECK(requests_have_order(&stage) == 0);
        RANK_CHECK(communicate_exchanges(&stage, kind) == 0);
        RANK_CHECK(overlap_returns_before_the_tensor(&stage, kind) == 0);
        RANK_CHECK(communicate_overlaps(&stage, kind) == 0);
        stage_deinit(&stage);
    }
    return 0;
}

int
main(void)
{
    return p2p_case_run(body, 0);
}
