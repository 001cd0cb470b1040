/*
 * tests/integration/p2p_errors_test.c - wrong calls of Megatron's stages
 *
 * What is wrong with a call alone is found before anything has moved: the ring
 * turns as ever afterwards. What neighbours do not agree on is told to both.
 * Who waits for a stage that does not come, or is dead, is told that.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "p2p_case.h"

enum {
    SHORT_MS = 100, /* for what is never sent */
};

static bool
says(const char *phrase)
{
    return strstr(hoop_error_text(), phrase) != NULL;
}

/* Nothing of an earlier call lies about. */
static int
ring_turns(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);

    RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage->p2p, &stage->act, &got,
                                                  &got, NULL) == HOOP_OK);
    RANK_CHECK(is_act(&got, stage->prev));
    hoop_tensor_free(&got);
    got = tensor_awaited(&pair);
    RANK_CHECK(hoop_p2p_send_backward_recv_backward(
                   stage->p2p, &stage->grad, &got, &got, NULL) == HOOP_OK);
    RANK_CHECK(is_grad(&got, stage->next));
    hoop_tensor_free(&got);
    return 0;
}

static enum hoop_status
without_dtype(struct stage *stage)
{
    const struct hoop_p2p_options options = {.stages = stage->rank->comm};
    struct hoop_tensor got = tensor_awaited(&pair);
    hoop_p2p_t *p2p = NULL;
    enum hoop_status status = hoop_p2p_create(&options, &p2p);

    if (status == HOOP_OK)
        status = hoop_p2p_send_forward_recv_forward(p2p, &stage->act, &got,
                                                    &got, NULL);
    hoop_p2p_free(p2p);
    return status;
}

static enum hoop_status
without_shape(struct stage *stage)
{
    const struct hoop_p2p_exchange exchange = {.send_next = &stage->act,
                                               .recv_prev = true};
    struct hoop_p2p_received received = {0};

    return hoop_p2p_communicate(stage->p2p, &exchange, NULL, &received, NULL);
}

static enum hoop_status
lists_of_different_lengths(struct stage *stage)
{
    struct hoop_tensor got[2] = {tensor_awaited(&pair), tensor_awaited(&pair)};
    struct hoop_tensors list = {2, got, got, 0};

    return stage->rank->rank % 2 == 0
               ? hoop_p2p_send_forward_recv_backward(stage->p2p, &stage->acts,
                                                     &list, 0)
               : hoop_p2p_send_backward_recv_forward(stage->p2p, &stage->grads,
                                                     &list, 0);
}

static enum hoop_status
batch_that_overlaps(struct stage *stage)
{
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_p2p_requests requests;

    return hoop_p2p_send_forward_recv_forward(stage->p2p, &stage->act, &got,
                                              &got, &requests);
}

static enum hoop_status
shape_of_two_dims(struct stage *stage)
{
    const struct hoop_tensor flat = {.shape = {.n_dims = 2, .dims = {1, 2}}};
    const struct hoop_p2p_exchange exchange = {.send_next = &flat,
                                               .recv_prev = true};
    struct hoop_shape prev;
    struct hoop_shape next;

    return hoop_p2p_exchange_shapes(stage->p2p, &exchange, &prev, &next);
}

static enum hoop_status
stage_that_is_none(struct stage *stage)
{
    return hoop_p2p_send_forward(stage->p2p, &stage->acts, 4);
}

static enum hoop_status
tensor_with_gaps(struct stage *stage)
{
    const size_t strides[3] = {4, 4, 2};
    struct hoop_tensor wide = stage->act;
    struct hoop_tensor got = tensor_awaited(&pair);

    wide.strides = strides;
    return hoop_p2p_send_forward_recv_forward(stage->p2p, &wide, &got, &got,
                                              NULL);
}

static enum hoop_status
tensor_of_no_dtype(struct stage *stage)
{
    struct hoop_tensor odd[2] = {stage->act, stage->act};
    const struct hoop_tensors list = {2, odd, NULL, 0};

    odd[1].dtype = (enum hoop_dtype)99;
    return hoop_p2p_send_forward(stage->p2p, &list, 0);
}

typedef enum hoop_status
call_fn(struct stage *stage);

static int
wrong_calls_move_nothing(struct rank *rank)
{
    static call_fn *const calls[] = {
        without_dtype,
        without_shape,
        lists_of_different_lengths,
        shape_of_two_dims,
        stage_that_is_none,
        tensor_with_gaps,
        tensor_of_no_dtype,
        batch_that_overlaps /* kind 0 only */,
    };

    for (uint32_t kind = 0; kind < N_P2P_KINDS; kind++) {
        struct stage stage;

        stage_init(&stage, rank, kind);
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            if (calls[i] == batch_that_overlaps && kind % 2 == 1)
                continue;
            RANK_CHECK(calls[i](&stage) == HOOP_E_INVALID);
            RANK_CHECK(ring_turns(&stage) == 0);
        }
        stage_deinit(&stage);
    }
    return 0;
}

/* So much that no send ends before its receive has begun. */
static struct hoop_shape
large_shape(void)
{
    return shape_of(10, 10, 400);
}

/* All stages expect something else than comes. */
static int
mismatch_is_told_to_all(struct stage *stage,
                        enum hoop_dtype dtype,
                        const struct hoop_shape *expected) /* NULL: any */
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape sent = large_shape();
    const struct hoop_p2p_options options = {.stages = rank->comm,
                                             .dtype = &dtype,
                                             .has_variable_shapes = !expected};
    struct hoop_tensor output = tensor_filled(&sent, 1, 1);
    struct hoop_tensor got = tensor_awaited(expected ? expected : &sent);
    hoop_p2p_t *p2p = NULL;

    RANK_CHECK(hoop_p2p_create(&options, &p2p) == HOOP_OK);
    RANK_CHECK(hoop_p2p_send_forward_recv_forward(p2p, &output, &got, &got,
                                                  NULL) == HOOP_E_MISMATCH);
    RANK_CHECK(says("[10, 10, 400]"));
    RANK_CHECK(got.data == NULL && got.dtype == HOOP_UINT8);
    hoop_p2p_free(p2p);
    hoop_tensor_free(&output);
    return 0;
}

/* One edge only: the sender is told as well as the receiver. */
static int
mismatch_is_told_to_both(struct stage *stage, const struct hoop_shape *expected)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape sent = large_shape();
    struct hoop_tensor output = tensor_filled(&sent, 1, 1);
    struct hoop_tensor got = tensor_awaited(expected);
    const struct hoop_tensors send = {1, &output, NULL, 0};
    struct hoop_tensors receive = {1, &got, &got, 0};

    if (rank->rank == 0)
        RANK_CHECK(hoop_p2p_send_forward(stage->p2p, &send, 0) ==
                   HOOP_E_MISMATCH);
    if (rank->rank == 1)
        RANK_CHECK(hoop_p2p_recv_forward(stage->p2p, &receive, 0) ==
                   HOOP_E_MISMATCH);
    RANK_CHECK(got.data == NULL && receive.n_tensors == 1);
    hoop_tensor_free(&output);
    return 0;
}

/* The first two of a list have come; all is taken back. */
static int
failed_list_hands_out_nothing(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape large = large_shape();
    struct hoop_tensor mine[3] = {stage->act, stage->act,
                                  tensor_filled(&large, 1, 1)};
    struct hoop_tensor theirs[3] = {
        tensor_awaited(&pair), tensor_awaited(&pair), tensor_awaited(&pair)};
    const struct hoop_tensors send = {3, mine, NULL, 0};
    struct hoop_tensors receive = {3, theirs, theirs, 0};

    if (rank->rank == 0)
        RANK_CHECK(hoop_p2p_send_forward(stage->p2p, &send, 0) ==
                   HOOP_E_MISMATCH);
    if (rank->rank == 1)
        RANK_CHECK(hoop_p2p_recv_forward(stage->p2p, &receive, 0) ==
                   HOOP_E_MISMATCH);
    RANK_CHECK(receive.n_tensors == 3);
    for (size_t i = 0; i < 3; i++)
        RANK_CHECK(theirs[i].data == NULL && theirs[i].dtype == HOOP_UINT8);
    hoop_tensor_free(&mine[2]);
    return 0;
}

/* Also of as many elements, also of other dimensions. */
static const struct hoop_shape others[] = {
    {.n_dims = 3, .dims = {10, 10, 399}}, {.n_dims = 3, .dims = {10, 10, 401}},
    {.n_dims = 3, .dims = {100, 1, 400}}, {.n_dims = 2, .dims = {100, 400}},
    {.n_dims = 3, .dims = {0, 0, 0}},
};

static int
mismatches_are_told(struct rank *rank)
{
    const struct hoop_shape right = large_shape();
    struct stage stage;

    stage_init(&stage, rank, 0);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        RANK_CHECK(mismatch_is_told_to_all(&stage, HOOP_INT64, &others[i]) ==
                   0);
        RANK_CHECK(ring_turns(&stage) == 0);
        if (rank->size > 1)
            RANK_CHECK(mismatch_is_told_to_both(&stage, &others[i]) == 0);
        RANK_CHECK(ring_turns(&stage) == 0);
    }
    RANK_CHECK(mismatch_is_told_to_all(&stage, HOOP_FLOAT64, &right) == 0);
    RANK_CHECK(ring_turns(&stage) == 0);
    RANK_CHECK(mismatch_is_told_to_all(&stage, HOOP_FLOAT64, NULL) == 0);
    RANK_CHECK(ring_turns(&stage) == 0);
    if (rank->size > 1)
        RANK_CHECK(failed_list_hands_out_nothing(&stage) == 0);
    RANK_CHECK(ring_turns(&stage) == 0);
    stage_deinit(&stage);
    return 0;
}

/* Of a stage that never sends, all who wait are told at their deadline. */
static int
missing_send_is_a_timeout(struct rank *rank)
{
    struct stage stage;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_tensors list = {1, &got, &got, 0};
    struct hoop_p2p_requests requests;
    char waited[48];

    if (rank->size == 1)
        return 0;
    hoop_comm_set_timeout(rank->comm, SHORT_MS);
    stage_init(&stage, rank, 1);
    /* As when the one before had only a wrong call to make. */
    snprintf(waited, sizeof(waited), "waiting for rank %u", stage.prev);
    RANK_CHECK(hoop_p2p_recv_forward(stage.p2p, &list, 0) == HOOP_E_TIMEOUT);
    RANK_CHECK(says(waited));
    RANK_CHECK(hoop_p2p_recv_backward(stage.p2p, &list, 0) == HOOP_E_TIMEOUT);
    RANK_CHECK(got.data == NULL && list.n_tensors == 1);
    RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage.p2p, NULL, &got, &got,
                                                  &requests) == HOOP_OK);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_E_TIMEOUT);
    /* What was started allocates, and is the caller's. */
    hoop_tensor_free(&got);
    hoop_comm_set_timeout(rank->comm, 20000);
    room_add(rank, 0);
    room_await(rank, 0, rank->size);
    RANK_CHECK(ring_turns(&stage) == 0);
    stage_deinit(&stage);
    return 0;
}

/* The last stage dies when both its neighbours wait for it. */
static int
dead_stage_is_named(struct rank *rank)
{
    const uint32_t last = rank->size - 1;
    struct stage stage;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_tensors list = {1, &got, &got, 0};
    struct hoop_p2p_requests requests;
    char name[32];

    if (rank->size == 1)
        return 0;
    stage_init(&stage, rank, 1);
    RANK_CHECK(ring_turns(&stage) == 0);
    if (rank->rank == last) {
        room_await(rank, 1, last);
        kill(getpid(), SIGKILL);
    }
    RANK_CHECK(hoop_p2p_send_forward_recv_forward(
                   stage.p2p, NULL, rank->rank == 0 ? &got : NULL,
                   rank->rank == 0 ? &got : NULL, &requests) == HOOP_OK);
    room_add(rank, 1);
    snprintf(name, sizeof(name), "rank %u", last);
    if (rank->rank == 0) {
        RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_E_PEER_LOST);
        RANK_CHECK(says(name));
        hoop_tensor_free(&got);
        got = tensor_awaited(&pair);
    }
    if (rank->rank == last - 1) {
        RANK_CHECK(hoop_p2p_recv_backward(stage.p2p, &list, 0) ==
                   HOOP_E_PEER_LOST);
        RANK_CHECK(says(name));
        RANK_CHECK(got.data == NULL && list.n_tensors == 1);
    }
    stage_deinit(&stage);
    return 0;
}

static int
body(struct rank *rank)
{
    RANK_CHECK(wrong_calls_move_nothing(rank) == 0);
    RANK_CHECK(mismatches_are_told(rank) == 0);
    RANK_CHECK(missing_send_is_a_timeout(rank) == 0);
    RANK_CHECK(dead_stage_is_named(rank) == 0);
    return 0;
}

int
main(void)
{
    return p2p_case_run(body, 0);
}
