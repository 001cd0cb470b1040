/*
 * tests/integration/pipe_vectors_test.c - what stages hand to each other
 *
 * Stage s has the activations [100 s + 1, 100 s + 2] and the gradients with the
 * other sign.
 */

#include "pipe_case.h"
#include "vectors.h"

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

/* Activations from the first to the last; who has no neighbour moves nothing.
 */
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

/* One after the other along the pipeline; the ends do not even send. */
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

/* The same without anything to receive. */
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

/* The ring is closed; alone, a stage hears itself. */
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

/* The ends say NULL instead. */
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

/* Both directions at once: with two stages, next and previous are one process,
 * and what is meant for one must not come to the other. */
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
body(struct rank *rank)
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

int
main(void)
{
    return vectors_run(body);
}
