/*
 * tests/integration/p2p/p2p_vectors_test.c - worked examples of Megatron's
 * stages
 *
 * The pipelines have 1, 2, 3 and 4 stages. They are batched and unbatched, with
 * expected shapes and without.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "integration/p2p/p2p_case.h"

static int
neighbours_wrap_around(struct stage *stage)
{
    const struct rank *rank = stage->rank;

    RANK_CHECK(hoop_p2p_next(stage->p2p) == stage->next);
    RANK_CHECK(hoop_p2p_prev(stage->p2p) == stage->prev);
    return 0;
}

static int
forward_reaches_next(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_tensors list = {1, &got, &got, 0};

    RANK_CHECK(hoop_p2p_recv_forward(stage->p2p, &list, stage->at) == HOOP_OK);
    RANK_CHECK(hoop_p2p_send_forward(stage->p2p, &stage->acts, stage->at) ==
               HOOP_OK);
    if (rank->rank == 0) {
        RANK_CHECK(list.n_received == 0 && got.data == NULL);
        return 0;
    }
    RANK_CHECK(list.n_received == 1 && is_act(&got, stage->prev));
    hoop_tensor_free(&got);
    return 0;
}

static int
backward_reaches_prev(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_tensors list = {1, &got, &got, 0};

    RANK_CHECK(hoop_p2p_recv_backward(stage->p2p, &list, stage->at) == HOOP_OK);
    RANK_CHECK(hoop_p2p_send_backward(stage->p2p, &stage->grads, stage->at) ==
               HOOP_OK);
    if (rank->rank == rank->size - 1) {
        RANK_CHECK(list.n_received == 0 && got.data == NULL);
        return 0;
    }
    RANK_CHECK(list.n_received == 1 && is_grad(&got, stage->next));
    hoop_tensor_free(&got);
    return 0;
}

/* Uses each edge once. The lower stage sends its output and waits for the
 * gradient, and the upper one does the reverse. */
static int
both_ways_on_an_edge(struct stage *stage, uint32_t lower)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_tensors list = {1, &got, &got, 0};

    if (rank->rank == lower) {
        RANK_CHECK(hoop_p2p_send_forward_recv_backward(
                       stage->p2p, &stage->acts, &list, stage->at) == HOOP_OK);
        RANK_CHECK(is_grad(&got, lower + 1));
    } else {
        RANK_CHECK(hoop_p2p_send_backward_recv_forward(
                       stage->p2p, &stage->grads, &list, stage->at) == HOOP_OK);
        RANK_CHECK(is_act(&got, lower));
    }
    hoop_tensor_free(&got);
    return 0;
}

static int
steady_calls_meet(struct stage *stage)
{
    const struct rank *rank = stage->rank;

    for (uint32_t lower = 0; lower + 1 < rank->size; lower++) {
        if (rank->rank == lower || rank->rank == lower + 1)
            RANK_CHECK(both_ways_on_an_edge(stage, lower) == 0);
    }
    return 0;
}

/* The first and the last stage also skip what they would send. */
static int
ends_send_nothing(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_tensors list = {1, &got, &got, 0};

    RANK_CHECK(
        hoop_p2p_send_forward_recv_backward(stage->p2p, &stage->acts, &list,
                                            HOOP_P2P_STAGE_LAST) == HOOP_OK);
    RANK_CHECK(list.n_received == 0 && got.data == NULL);
    list.n_tensors = 1;
    RANK_CHECK(
        hoop_p2p_send_backward_recv_forward(stage->p2p, &stage->grads, &list,
                                            HOOP_P2P_STAGE_FIRST) == HOOP_OK);
    RANK_CHECK(list.n_received == 0 && got.data == NULL);
    return 0;
}

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

/* In an open pipeline nothing comes from before the first stage, and nothing
 * goes beyond the last. */
static int
open_chain_turns(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    const bool is_first = rank->rank == 0;
    const bool is_last = rank->rank == rank->size - 1;
    struct hoop_tensor got = tensor_awaited(&pair);

    RANK_CHECK(hoop_p2p_send_forward_recv_forward(
                   stage->p2p, is_last ? NULL : &stage->act,
                   is_first ? NULL : &got, is_first ? NULL : &got,
                   NULL) == HOOP_OK);
    RANK_CHECK(is_first ? got.data == NULL : is_act(&got, stage->prev));
    hoop_tensor_free(&got);
    got = tensor_awaited(&pair);
    RANK_CHECK(hoop_p2p_send_backward_recv_backward(
                   stage->p2p, is_first ? NULL : &stage->grad,
                   is_last ? NULL : &got, is_last ? NULL : &got,
                   NULL) == HOOP_OK);
    RANK_CHECK(is_last ? got.data == NULL : is_grad(&got, stage->next));
    hoop_tensor_free(&got);
    return 0;
}

/* With two stages both directions lead to the same process. The sizes are the
 * same, so messages could be mixed up. */
static int
all_directions_do_not_cross(struct stage *stage)
{
    const struct hoop_shape one = shape_of(1, 1, 1);

    return p2p_exchange_check(stage->rank, stage->p2p, &one, &one);
}

/* Does the same with a different shape for each direction. */
static int
shapes_do_not_cross(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape out = shape_of(4, 1, 2);
    const struct hoop_shape in = shape_of(3, 1, 2);
    struct hoop_tensor output = tensor_filled(&out, rank->rank, 1);
    struct hoop_tensor input_grad = tensor_filled(&in, rank->rank, -1);
    const struct hoop_p2p_exchange exchange = {
        .send_next = &output,
        .send_prev = &input_grad,
        .recv_prev = true,
        .recv_next = true,
    };
    struct hoop_shape prev;
    struct hoop_shape next;

    RANK_CHECK(hoop_p2p_exchange_shapes(stage->p2p, &exchange, &prev, &next) ==
               HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&prev, &out) && hoop_shape_equal(&next, &in));
    hoop_tensor_free(&output);
    hoop_tensor_free(&input_grad);
    return p2p_exchange_check(stage->rank, stage->p2p, &out, &in);
}

static int
shape_of_what_is_not_received_is_zero(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape zero = shape_of(0, 0, 0);
    struct hoop_p2p_exchange exchange = {.send_next = &stage->act,
                                         .recv_prev = true};
    struct hoop_shape prev;
    struct hoop_shape next;

    RANK_CHECK(hoop_p2p_exchange_shapes(stage->p2p, &exchange, &prev, &next) ==
               HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&prev, &pair) &&
               hoop_shape_equal(&next, &zero));
    exchange = (struct hoop_p2p_exchange){0};
    RANK_CHECK(hoop_p2p_exchange_shapes(stage->p2p, &exchange, &prev, &next) ==
               HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&prev, &zero) &&
               hoop_shape_equal(&next, &zero));
    return 0;
}

enum {
    N_LISTED = 3
};

/* The second shape has no elements. */
static struct hoop_shape
listed_shape(size_t index)
{
    return shape_of(2 + index, index == 1 ? 0 : 1, 3 - index);
}

static int
lists_travel_in_order(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensor mine[N_LISTED];
    struct hoop_tensor theirs[N_LISTED];
    const struct hoop_tensors out = {N_LISTED, mine, NULL, 0};
    struct hoop_tensors in = {N_LISTED, theirs, theirs, 0};

    for (size_t i = 0; i < N_LISTED; i++) {
        const struct hoop_shape shape = listed_shape(i);

        mine[i] = tensor_filled(
            &shape, 1000 * (int64_t)rank->rank + 100 * (int64_t)i, 1);
        theirs[i] = tensor_awaited(&shape);
    }
    RANK_CHECK(hoop_p2p_recv_forward(stage->p2p, &in, stage->at) == HOOP_OK);
    RANK_CHECK(hoop_p2p_send_forward(stage->p2p, &out, stage->at) == HOOP_OK);
    RANK_CHECK(in.n_received == (rank->rank == 0 ? 0 : N_LISTED));
    for (size_t i = 0; i < N_LISTED; i++) {
        const struct hoop_shape shape = listed_shape(i);

        if (i < in.n_received)
            RANK_CHECK(tensor_is(&theirs[i], &shape,
                                 1000 * (int64_t)stage->prev + 100 * (int64_t)i,
                                 1));
        hoop_tensor_free(&mine[i]);
        hoop_tensor_free(&theirs[i]);
    }
    return 0;
}

/* If shapes vary, the receiver does not know them before, and they need not
 * have three dimensions. The shape that it gives is ignored. */
static int
unknown_shapes_are_received(struct stage *stage)
{
    static const struct hoop_shape shapes[] = {
        {.n_dims = 0},
        {.n_dims = 1, .dims = {20000}},
        {.n_dims = 2, .dims = {3, 0}},
        {.n_dims = 5, .dims = {1, 2, 3, 2, 1}},
    };
    const struct rank *rank = stage->rank;

    for (uint32_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct hoop_shape *mine =
            &shapes[(rank->rank + i) % COUNT_OF(shapes)];
        const struct hoop_shape *theirs =
            &shapes[(stage->prev + i) % COUNT_OF(shapes)];
        struct hoop_tensor output = tensor_filled(mine, rank->rank, 1);
        struct hoop_tensor input = tensor_awaited(i % 2 == 0 ? &pair : mine);

        RANK_CHECK(hoop_p2p_send_forward_recv_forward(
                       stage->p2p, &output, &input, &input, NULL) == HOOP_OK);
        RANK_CHECK(tensor_is(&input, theirs, stage->prev, 1));
        hoop_tensor_free(&output);
        hoop_tensor_free(&input);
    }
    return 0;
}

/* Sends an empty list from the first stage to the last, and back. */
static int
empty_lists_meet(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    struct hoop_tensors in = {0, NULL, NULL, 7};
    const struct hoop_tensors out = {0, NULL, NULL, 0};

    RANK_CHECK(hoop_p2p_recv_forward(stage->p2p, &in, stage->at) == HOOP_OK);
    RANK_CHECK(in.n_received == 0);
    RANK_CHECK(hoop_p2p_send_forward(stage->p2p, &out, stage->at) == HOOP_OK);
    RANK_CHECK(hoop_p2p_recv_backward(stage->p2p, &in, stage->at) == HOOP_OK);
    RANK_CHECK(hoop_p2p_send_backward(stage->p2p, &out, stage->at) == HOOP_OK);
    if (rank->rank % 2 == 0)
        RANK_CHECK(hoop_p2p_send_forward_recv_backward(stage->p2p, &out, &in,
                                                       stage->at) == HOOP_OK);
    else
        RANK_CHECK(hoop_p2p_send_backward_recv_forward(stage->p2p, &out, &in,
                                                       stage->at) == HOOP_OK);
    RANK_CHECK(in.n_received == 0);
    return 0;
}

typedef int
stage_fn(struct stage *stage);

static int
vectors_body(struct rank *rank)
{
    static stage_fn *const steps[] = {
        neighbours_wrap_around, forward_reaches_next,
        backward_reaches_prev,  steady_calls_meet,
        ends_send_nothing,      ring_turns,
        open_chain_turns,       all_directions_do_not_cross,
        shapes_do_not_cross,    shape_of_what_is_not_received_is_zero,
        lists_travel_in_order,  empty_lists_meet,
    };

    for (uint32_t kind = 0; kind < N_P2P_KINDS; kind++) {
        struct stage stage;

        stage_init(&stage, rank, kind);
        for (size_t i = 0; i < COUNT_OF(steps); i++)
            RANK_CHECK(steps[i](&stage) == 0);
        if (kind >= 2)
            RANK_CHECK(unknown_shapes_are_received(&stage) == 0);
        stage_deinit(&stage);
    }
    return 0;
}

/*
 * The rest of the file tests wrong calls of Megatron's stages.
 *
 * An error in a single call is found before anything has moved, and the ring
 * works as usual afterwards. If neighbours disagree, both are told. A stage
 * that waits for one that does not come, or has died, is told that.
 */

enum {
    SHORT_MS = 100, /* for a message that is never sent */
};

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
        batch_that_overlaps /* only for kind 0 */,
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

/* The shape is so large that no send ends before its receive has begun. */
static struct hoop_shape
large_shape(void)
{
    return shape_of(10, 10, 400);
}

/* Every stage expects something else than what comes. */
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
    RANK_CHECK(error_says("[10, 10, 400]"));
    RANK_CHECK(got.data == NULL && got.dtype == HOOP_UINT8);
    hoop_p2p_free(p2p);
    hoop_tensor_free(&output);
    return 0;
}

/* Both the sender and the receiver are told. */
static int
first_edge_mismatches(struct stage *stage,
                      const struct hoop_tensors *send,
                      struct hoop_tensors *receive)
{
    const struct rank *rank = stage->rank;

    if (rank->rank == 0)
        RANK_CHECK(hoop_p2p_send_forward(stage->p2p, send, 0) ==
                   HOOP_E_MISMATCH);
    if (rank->rank == 1)
        RANK_CHECK(hoop_p2p_recv_forward(stage->p2p, receive, 0) ==
                   HOOP_E_MISMATCH);
    return 0;
}

/* Only one edge is used. */
static int
mismatch_is_told_to_both(struct stage *stage, const struct hoop_shape *expected)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape sent = large_shape();
    struct hoop_tensor output = tensor_filled(&sent, 1, 1);
    struct hoop_tensor got = tensor_awaited(expected);
    const struct hoop_tensors send = {1, &output, NULL, 0};
    struct hoop_tensors receive = {1, &got, &got, 0};

    RANK_CHECK(first_edge_mismatches(stage, &send, &receive) == 0);
    RANK_CHECK(got.data == NULL && receive.n_tensors == 1);
    hoop_tensor_free(&output);
    return 0;
}

/* The first two tensors of the list have arrived, and are taken back. */
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

    RANK_CHECK(first_edge_mismatches(stage, &send, &receive) == 0);
    RANK_CHECK(receive.n_tensors == 3);
    for (size_t i = 0; i < 3; i++)
        RANK_CHECK(theirs[i].data == NULL && theirs[i].dtype == HOOP_UINT8);
    hoop_tensor_free(&mine[2]);
    return 0;
}

/* Some have the same number of elements, and some have another number of
 * dimensions. */
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

/* If a stage never sends, all that wait are told at their deadline. */
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
    /* The previous stage waits, too, as if it had made only a wrong call. */
    snprintf(waited, sizeof(waited), "waiting for rank %u", stage.prev);
    RANK_CHECK(hoop_p2p_recv_forward(stage.p2p, &list, 0) == HOOP_E_TIMEOUT);
    RANK_CHECK(error_says(waited));
    RANK_CHECK(hoop_p2p_recv_backward(stage.p2p, &list, 0) == HOOP_E_TIMEOUT);
    RANK_CHECK(got.data == NULL && list.n_tensors == 1);
    RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage.p2p, NULL, &got, &got,
                                                  &requests) == HOOP_OK);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_E_TIMEOUT);
    /* The call that was started has allocated memory, which belongs to the
     * caller. */
    hoop_tensor_free(&got);
    hoop_comm_set_timeout(rank->comm, 20000);
    room_add(rank, 0);
    room_await(rank, 0, rank->size);
    RANK_CHECK(ring_turns(&stage) == 0);
    stage_deinit(&stage);
    return 0;
}

/* The last stage dies while both its neighbours wait for it. */
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
        RANK_CHECK(error_says(name));
        hoop_tensor_free(&got);
        got = tensor_awaited(&pair);
    }
    if (rank->rank == last - 1) {
        RANK_CHECK(hoop_p2p_recv_backward(stage.p2p, &list, 0) ==
                   HOOP_E_PEER_LOST);
        RANK_CHECK(error_says(name));
        RANK_CHECK(got.data == NULL && list.n_tensors == 1);
    }
    stage_deinit(&stage);
    return 0;
}

static int
errors_body(struct rank *rank)
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
    static const struct rank_case cases[] = {
        {"vectors", vectors_body},
        {"errors", errors_body},
    };

    return p2p_case_run(cases, COUNT_OF(cases), 0);
}
