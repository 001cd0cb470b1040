/*
 * tests/integration/pipeline/pipe_vectors_test.c - worked examples of a
 * pipeline
 *
 * Stage s has the activations [100 s + 1, 100 s + 2], and the gradients are
 * their negatives.
 */

#include <pthread.h>
#include <string.h>

#include "api/tags.h"
#include "api/tensor_message.h"
#include "integration/pipeline/pipe_case.h"
#include "integration/vectors.h"

static const struct hoop_tensors *
activation(struct pair *pair, uint32_t stage)
{
    const int64_t first = 100 * (int64_t)stage + 1;

    return pair_fill(pair, first, first + 1);
}

static const struct hoop_tensors *
gradient(struct pair *pair, uint32_t stage)
{
    const int64_t first = 100 * (int64_t)stage + 1;

    return pair_fill(pair, -first, -first - 1);
}

static bool
activation_came(struct pair *pair, uint32_t stage)
{
    const int64_t first = 100 * (int64_t)stage + 1;

    return pair_came(pair, first, first + 1);
}

static bool
gradient_came(struct pair *pair, uint32_t stage)
{
    const int64_t first = 100 * (int64_t)stage + 1;

    return pair_came(pair, -first, -first - 1);
}

/* Activations go from the first stage to the last. A stage without the
 * neighbour moves nothing. */
static int
forward(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t s = rank->rank;
    const bool is_last = s == rank->size - 1;
    const uint64_t before = bytes_sent(rank);
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipe_send_forward(pipeline, activation(&mine, s), NULL) ==
               HOOP_OK);
    RANK_CHECK(hoop_pipe_recv_forward(pipeline, pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(s == 0 ? pair_is_none(&theirs)
                      : activation_came(&theirs, s - 1));
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    RANK_CHECK(!is_last || rank->size == 1 || bytes_sent(rank) - before < 16);
    return 0;
}

static int
backward(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t s = rank->rank;
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipe_send_backward(pipeline, gradient(&mine, s), NULL) ==
               HOOP_OK);
    RANK_CHECK(hoop_pipe_recv_backward(pipeline, pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(s == rank->size - 1 ? pair_is_none(&theirs)
                                   : gradient_came(&theirs, s + 1));
    return 0;
}

/* Both directions are used one after the other. The end stages do not even
 * send. */
static int
both_ways(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t s = rank->rank;
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipe_send_backward_recv_forward(
                   pipeline, gradient(&mine, s), pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(s == 0 ? pair_is_none(&theirs)
                      : activation_came(&theirs, s - 1));
    RANK_CHECK(hoop_pipe_send_forward_recv_backward(
                   pipeline, activation(&mine, s), pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(s == rank->size - 1 ? pair_is_none(&theirs)
                                   : gradient_came(&theirs, s + 1));
    return 0;
}

/* Does the same without anything to receive. */
static int
one_way(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t s = rank->rank;
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipe_send_forward_recv_backward(
                   pipeline, activation(&mine, s), NULL, NULL) == HOOP_OK);
    RANK_CHECK(hoop_pipe_recv_forward(pipeline, pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(s == 0 || activation_came(&theirs, s - 1));
    RANK_CHECK(hoop_pipe_send_backward_recv_forward(
                   pipeline, gradient(&mine, s), NULL, NULL) == HOOP_OK);
    RANK_CHECK(hoop_pipe_recv_backward(pipeline, pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(s == rank->size - 1 || gradient_came(&theirs, s + 1));
    return 0;
}

/* The ring is closed. A single stage receives from itself. */
static int
ring(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t n = rank->size;
    const uint32_t s = rank->rank;
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                   pipeline, activation(&mine, s), pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(activation_came(&theirs, (s + n - 1) % n));
    RANK_CHECK(hoop_pipe_send_backward_recv_backward(
                   pipeline, gradient(&mine, s), pair_want(&theirs), NULL) ==
               HOOP_OK);
    RANK_CHECK(gradient_came(&theirs, (s + 1) % n));
    return 0;
}

/* The end stages pass NULL instead. */
static int
open_ring(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t s = rank->rank;
    const bool is_first = s == 0;
    const bool is_last = s == rank->size - 1;
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                   pipeline, is_last ? NULL : activation(&mine, s),
                   is_first ? NULL : pair_want(&theirs), NULL) == HOOP_OK);
    RANK_CHECK(is_first || activation_came(&theirs, s - 1));
    RANK_CHECK(hoop_pipe_send_backward_recv_backward(
                   pipeline, is_first ? NULL : gradient(&mine, s),
                   is_last ? NULL : pair_want(&theirs), NULL) == HOOP_OK);
    RANK_CHECK(is_last || gradient_came(&theirs, s + 1));
    return 0;
}

/* Both directions are used at the same time. With two stages, next and previous
 * are the same process, and tensors for one must not arrive as those for the
 * other. */
static int
all_ways(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t n = rank->size;
    const uint32_t s = rank->rank;
    struct pair mine[2];
    struct pair theirs[2];
    struct hoop_pipe_exchange exchange = {
        .output = activation(&mine[0], s),
        .input_grad = gradient(&mine[1], s),
        .input = pair_want(&theirs[0]),
        .output_grad = pair_want(&theirs[1]),
    };

    RANK_CHECK(hoop_pipe_exchange_all(pipeline, &exchange, NULL) == HOOP_OK);
    RANK_CHECK(activation_came(&theirs[0], (s + n - 1) % n));
    RANK_CHECK(gradient_came(&theirs[1], (s + 1) % n));
    exchange.input = NULL;
    exchange.input_grad = NULL;
    exchange.output_grad = NULL;
    exchange.output = NULL;
    RANK_CHECK(hoop_pipe_exchange_all(pipeline, &exchange, NULL) == HOOP_OK);
    return 0;
}

static int
pipe_body(struct rank *rank)
{
    int (*const plays[])(struct rank *, hoop_pipeline_t *) = {
        forward, backward, both_ways, one_way, ring, open_ring, all_ways,
    };
    hoop_pipeline_t *pipeline = NULL;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(plays); i++) {
        if (plays[i](rank, pipeline) != 0)
            return 1;
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

/*
 * The cases below send shapes in advance.
 *
 * Stage 0 sends them to stage 1, which compares the bytes, or lets hoop read
 * them.
 */

static const struct hoop_tensor *
tensor_of(const struct hoop_shape *shape)
{
    static struct hoop_tensor tensor;

    tensor = (struct hoop_tensor){.dtype = HOOP_FLOAT32, .shape = *shape};
    return &tensor;
}

/* Receives exactly n numbers, as one message that describes a shape. */
static int
message_is(struct rank *rank,
           uint32_t n_dims,
           const uint8_t *bytes,
           size_t n_numbers)
{
    int64_t numbers[HOOP_MAX_DIMS];
    struct hoop_tensor tensor = {
        .data = numbers,
        .dtype = HOOP_INT64,
        .shape = {n_dims, {n_numbers}},
    };
    const struct tensor_message message = {
        .kind = HOOP_RECV,
        .tensor = &tensor,
        .peer = 0,
        .tag = tag_of_library_part(TAG_TENSOR_META, 0),
    };

    memset(numbers, 0xff, sizeof(numbers));
    RANK_CHECK(tensor_message_run(&message, 1, rank->comm) == HOOP_OK);
    RANK_CHECK(memcmp(numbers, bytes, n_numbers * sizeof(*numbers)) == 0);
    return 0;
}

/* Checks all bytes of both messages for two shapes. A shape is sent only if it
 * is needed. */
static int
bytes_are_right(struct rank *rank, hoop_pipeline_t *pipeline)
{
    static const struct hoop_shape shapes[] = {{2, {2, 3}}, {0, {0}}};
    static const uint8_t n_dims[][8] = {{2}, {0}};
    static const uint8_t dims[16] = {2, 0, 0, 0, 0, 0, 0, 0, 3};
    const uint64_t before = bytes_sent(rank);
    bool need_meta;

    for (size_t i = 0; rank->rank == 0 && i < COUNT_OF(shapes); i++) {
        need_meta = true;
        for (int again = 0; again < 2; again++) {
            RANK_CHECK(hoop_send_tensor_meta(pipeline, tensor_of(&shapes[i]),
                                             &need_meta, NULL) == HOOP_OK);
            RANK_CHECK(!need_meta);
        }
    }
    if (rank->rank == 0)
        RANK_CHECK(bytes_sent(rank) - before == 8 + 16 + 8);
    for (size_t i = 0; rank->rank == 1 && i < COUNT_OF(shapes); i++) {
        if (message_is(rank, 0, n_dims[i], 1) != 0 ||
            message_is(rank, 1, dims, shapes[i].n_dims) != 0)
            return 1;
    }
    return 0;
}

struct telling {
    hoop_pipeline_t *pipeline;
    const struct hoop_shape *shape;
    const struct hoop_pipe_options *options;
    bool is_told;
};

static void *
tell(void *argument)
{
    struct telling *telling = argument;
    bool need_meta = true;

    telling->is_told =
        hoop_send_tensor_meta(telling->pipeline, tensor_of(telling->shape),
                              &need_meta, telling->options) == HOOP_OK &&
        !need_meta;
    return NULL;
}

/* All stages send and receive at the same time, since a sender waits for its
 * receiver. */
static bool
exchange(const struct telling *given, struct hoop_shape *came)
{
    struct telling telling = *given;
    const struct hoop_shape any = {.n_dims = HOOP_ANY_SHAPE};
    pthread_t thread;

    if (pthread_create(&thread, NULL, tell, &telling) != 0)
        return false;
    const enum hoop_status status =
        hoop_recv_tensor_meta(telling.pipeline, &any, telling.options, came);
    return pthread_join(thread, NULL) == 0 && telling.is_told &&
           status == HOOP_OK;
}

/* Each stage sends to the next one, shapes of every number of dimensions. */
static int
shapes_come_as_sent(struct rank *rank, hoop_pipeline_t *pipeline)
{
    for (uint32_t n_dims = 0; n_dims <= HOOP_MAX_DIMS; n_dims++) {
        const struct hoop_pipe_options options = {.lane = n_dims};
        struct hoop_shape shape = {.n_dims = n_dims};
        struct hoop_shape came;

        for (uint32_t i = 0; i < n_dims; i++)
            shape.dims[i] = i;
        RANK_CHECK(exchange(
            &(struct telling){pipeline, &shape, &options, false}, &came));
        RANK_CHECK(hoop_shape_equal(&shape, &came));
    }
    return 0;
}

/* Nothing is sent, and the call does not wait. */
static int
known_shape_stays(struct rank *rank, hoop_pipeline_t *pipeline)
{
    struct hoop_shape shape = {2, {5, 7}};
    const uint64_t before = bytes_sent(rank);
    bool need_meta = false;

    RANK_CHECK(hoop_send_tensor_meta(pipeline, tensor_of(&shape), &need_meta,
                                     NULL) == HOOP_OK);
    RANK_CHECK(hoop_recv_tensor_meta(pipeline, &shape, NULL, &shape) ==
               HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&shape, &(struct hoop_shape){2, {5, 7}}));
    RANK_CHECK(bytes_sent(rank) == before);
    return 0;
}

/* Sends to the given stage, and receives from another given one. */
static int
explicit_ranks_are_taken(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t n = rank->size;
    const uint32_t to = (rank->rank + 2) % n;
    const uint32_t from = (rank->rank + n + n - 2) % n;
    const struct hoop_pipe_options options = {.prev = &from, .next = &to};
    struct hoop_shape shape = {1, {100 + rank->rank}};
    struct hoop_shape came;

    RANK_CHECK(
        exchange(&(struct telling){pipeline, &shape, &options, false}, &came));
    RANK_CHECK(came.n_dims == 1 && came.dims[0] == 100 + from);
    return 0;
}

static int
tensor_meta_body(struct rank *rank)
{
    hoop_pipeline_t *pipeline = NULL;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    if ((rank->size > 1 && bytes_are_right(rank, pipeline) != 0) ||
        shapes_come_as_sent(rank, pipeline) != 0 ||
        known_shape_stays(rank, pipeline) != 0 ||
        explicit_ranks_are_taken(rank, pipeline) != 0)
        return 1;
    hoop_pipeline_free(pipeline);
    return 0;
}

/*
 * The cases below test hoop_ring_forward().
 *
 * The tensor of every rank moves on by one, and returns after a whole turn.
 */

enum {
    LARGE = 1 << 20 /* elements: 8 MiB in each direction */
};

/* The input of rank r is [r, 10 r]. */
static int
vector_is_rotated(struct rank *rank, hoop_comm_t *comm)
{
    const uint32_t n = hoop_comm_size(comm);
    const int64_t r = hoop_comm_rank(comm);
    const int64_t before = (r + n - 1) % n;
    struct pair mine;
    struct pair theirs;

    pair_fill(&mine, r, 10 * r);
    pair_want(&theirs);
    RANK_CHECK(hoop_ring_forward(&mine.tensor, &theirs.tensor, comm) ==
               HOOP_OK);
    RANK_CHECK(mine.at[0] == r && mine.at[1] == 10 * r);
    RANK_CHECK(pair_came(&theirs, before, 10 * before));
    return 0;
}

static int
whole_turn_comes_home(struct rank *rank, hoop_comm_t *comm)
{
    const int64_t r = rank->rank;
    struct pair pairs[2];

    pair_fill(&pairs[0], r, -r);
    pair_fill(&pairs[1], 0, 0);
    for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
        RANK_CHECK(hoop_ring_forward(&pairs[i % 2].tensor,
                                     &pairs[1 - i % 2].tensor,
                                     comm) == HOOP_OK);
    RANK_CHECK(pair_came(&pairs[hoop_comm_size(comm) % 2], r, -r));
    return 0;
}

static int
large_tensor_is_rotated(struct rank *rank)
{
    const int64_t before = (rank->rank + rank->size - 1) % rank->size;
    struct hoop_tensor mine;
    struct hoop_tensor theirs;

    RANK_CHECK(hoop_tensor_create(HOOP_INT64,
                                  &(struct hoop_shape){2, {LARGE / 4, 4}},
                                  &mine) == HOOP_OK);
    int64_t *at = mine.data;
    for (int64_t i = 0; i < LARGE; i++)
        at[i] = i ^ (int64_t)rank->rank;
    theirs = mine;
    theirs.data = NULL;
    RANK_CHECK(hoop_ring_forward(&mine, &theirs, rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&mine.shape, &theirs.shape));
    at = theirs.data;
    for (int64_t i = 0; i < LARGE; i++)
        RANK_CHECK(at[i] == (i ^ before));
    hoop_tensor_free(&mine);
    hoop_tensor_free(&theirs);
    return 0;
}

/* The communicator has any ranks in any order, so the parity of a world rank
 * decides nothing. */
static int
some_ranks(struct rank *rank)
{
    static const uint32_t lists[][3] = {{0, 2, 4}, {3, 1, 2}};

    if (rank->size < 5)
        return 0;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        hoop_comm_t comm;

        RANK_CHECK(comm_begin(rank, 2 + i, lists[i], 3, &comm) == HOOP_OK);
        if (hoop_comm_is_member(&comm)) {
            if (vector_is_rotated(rank, &comm) != 0 ||
                whole_turn_comes_home(rank, &comm) != 0)
                return 1;
        } else {
            struct pair pair;

            pair_fill(&pair, 1, 2);
            RANK_CHECK(hoop_ring_forward(&pair.tensor, &pair.tensor, &comm) ==
                       HOOP_OK);
        }
        comm_end(&comm);
    }
    return 0;
}

static int
ring_forward_body(struct rank *rank)
{
    if (vector_is_rotated(rank, rank->comm) != 0 ||
        whole_turn_comes_home(rank, rank->comm) != 0)
        return 1;
    /* With eight processes this would only take longer. */
    if (rank->size <= 4 && large_tensor_is_rotated(rank) != 0)
        return 1;
    return some_ranks(rank);
}

int
main(void)
{
    static const struct rank_case cases[] = {
        {"pipe", pipe_body},
        {"tensor_meta", tensor_meta_body},
        {"ring_forward", ring_forward_body},
    };

    return vectors_run(cases, COUNT_OF(cases));
}
