/*
 * tests/integration/p2p_vectors_test.c - what Megatron's stages get from whom
 *
 * On pipelines of 1, 2, 3 and 4 stages, batched and unbatched, with expected
 * shapes and without.
 */

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "p2p_case.h"

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

/* Each edge once: the lower stage hands on and waits for the gradient, the
 * upper one does the reverse. */
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

/* The ends skip what they would send, too. */
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

/* What an open pipeline passes: nothing from before the first stage, nothing
 * to behind the last. */
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

/* On two stages both go to one process, with sizes that would let them be
 * taken for each other. */
static int
all_directions_do_not_cross(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape one = shape_of(1, 1, 1);
    const int64_t mine = 2 * (int64_t)rank->rank;
    struct hoop_tensor output = tensor_filled(&one, mine + 1, 0);
    struct hoop_tensor input_grad = tensor_filled(&one, mine + 2, 0);
    struct hoop_tensor input = tensor_awaited(&one);
    struct hoop_tensor output_grad = tensor_awaited(&one);
    const struct hoop_p2p_ops ops = {.send_next = &output,
                                     .send_prev = &input_grad,
                                     .recv_prev = &input,
                                     .received_prev = &input,
                                     .recv_next = &output_grad,
                                     .received_next = &output_grad};

    RANK_CHECK(hoop_p2p_exchange_all(stage->p2p, &ops) == HOOP_OK);
    RANK_CHECK(tensor_is(&input, &one, 2 * (int64_t)stage->prev + 1, 0));
    RANK_CHECK(tensor_is(&output_grad, &one, 2 * (int64_t)stage->next + 2, 0));
    hoop_tensor_free(&output);
    hoop_tensor_free(&input_grad);
    hoop_tensor_free(&input);
    hoop_tensor_free(&output_grad);
    return 0;
}

/* The same with shapes of which each direction has its own. */
static int
shapes_do_not_cross(struct stage *stage)
{
    const struct rank *rank = stage->rank;
    const struct hoop_shape out = shape_of(4, 1, 2);
    const struct hoop_shape in = shape_of(3, 1, 2);
    struct hoop_tensor output = tensor_filled(&out, rank->rank, 1);
    struct hoop_tensor input_grad = tensor_filled(&in, rank->rank, -1);
    struct hoop_tensor input = tensor_awaited(&out);
    struct hoop_tensor output_grad = tensor_awaited(&in);
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
    const struct hoop_p2p_ops ops = {.send_next = &output,
                                     .send_prev = &input_grad,
                                     .recv_prev = &input,
                                     .received_prev = &input,
                                     .recv_next = &output_grad,
                                     .received_next = &output_grad};
    RANK_CHECK(hoop_p2p_exchange_all(stage->p2p, &ops) == HOOP_OK);
    RANK_CHECK(tensor_is(&input, &out, stage->prev, 1));
    RANK_CHECK(tensor_is(&output_grad, &in, stage->next, -1));
    hoop_tensor_free(&output);
    hoop_tensor_free(&input_grad);
    hoop_tensor_free(&input);
    hoop_tensor_free(&output_grad);
    return 0;
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

/* The second has no elements at all. */
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

/* Where shapes vary, nobody knows them before, and they need not have three
 * dimensions; what the receiver says is of no account. */
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

/* From the first to the last, and back. */
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
body(struct rank *rank)
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

int
main(void)
{
    return p2p_case_run(body, 0);
}
