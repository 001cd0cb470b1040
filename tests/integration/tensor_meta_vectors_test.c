/*
 * tests/integration/tensor_meta_vectors_test.c - shapes told beforehand
 *
 * Stage 0 tells stage 1, which looks at the bytes, or lets hoop read them.
 */

#include <pthread.h>
#include <string.h>

#include "api/tags.h"
#include "api/tensor_message.h"
#include "pipe_case.h"
#include "vectors.h"

static const struct hoop_tensor *
tensor_of(const struct hoop_shape *shape)
{
    static struct hoop_tensor tensor;

    tensor = (struct hoop_tensor){.dtype = HOOP_FLOAT32, .shape = *shape};
    return &tensor;
}

/* Receives n numbers, no more and no less, as one message of a shape. */
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
        .tag = tag_of_library_part(TAG_META, 0),
    };

    memset(numbers, 0xff, sizeof(numbers));
    RANK_CHECK(tensor_message_run(&message, 1, rank->comm) == HOOP_OK);
    RANK_CHECK(memcmp(numbers, bytes, n_numbers * sizeof(*numbers)) == 0);
    return 0;
}

/* All bytes of both messages, for two shapes; once, as long as it is needed. */
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

/* All stages tell and hear at once: who tells waits for who hears. */
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

/* From a stage to the next, all at once, of every number of dimensions. */
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

/* Nothing is sent, and nothing waited for. */
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

/* To the stage that is told, from the one that is named. */
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
body(struct rank *rank)
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

int
main(void)
{
    return vectors_run(body);
}
