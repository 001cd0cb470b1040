/*
 * tests/integration/pipeline/pipe_lists_test.c - options of pipeline calls
 *
 * The test sends lists, unknown shapes, into memory of the caller, to ranks
 * that are not neighbours, over lanes, between virtual stages, and large
 * amounts.
 */

#include <pthread.h>
#include <string.h>

#include "integration/pipeline/pipe_case.h"
#include "integration/vectors.h"

enum {
    N_TENSORS = 5,
    LARGE = 1 << 20, /* elements: 8 MiB */
    N_LANES = 40,
};

/* The tensors differ in dtype, size and number of dimensions, and some are
 * empty. */
static const struct hoop_shape shapes[N_TENSORS] = {
    {2, {3, 2}}, {0, {0}}, {3, {2, 0, 4}}, {1, {20000}}, {4, {1, 2, 3, 4}},
};
static const enum hoop_dtype dtypes[N_TENSORS] = {
    HOOP_FLOAT32, HOOP_INT64, HOOP_FLOAT64, HOOP_BFLOAT16, HOOP_UINT8,
};

struct lists {
    struct hoop_tensor at[N_TENSORS];
    struct hoop_tensors list;
};

static size_t
bytes_of(const struct hoop_tensor *tensor)
{
    static const size_t sizes[] = {
        [HOOP_FLOAT32] = 4,  [HOOP_INT64] = 8, [HOOP_FLOAT64] = 8,
        [HOOP_BFLOAT16] = 2, [HOOP_UINT8] = 1,
    };
    size_t count = 0;

    return hoop_shape_count(&tensor->shape, &count) == HOOP_OK
               ? count * sizes[tensor->dtype]
               : 0;
}

static enum hoop_status
lists_fill(struct lists *lists, uint8_t first)
{
    enum hoop_status status = HOOP_OK;

    lists->list = (struct hoop_tensors){N_TENSORS, lists->at, lists->at, 0};
    for (size_t i = 0; i < N_TENSORS && status == HOOP_OK; i++) {
        status = hoop_tensor_create(dtypes[i], &shapes[i], &lists->at[i]);
        if (status != HOOP_OK)
            return status;
        uint8_t *bytes = lists->at[i].data;
        for (size_t k = 0; k < bytes_of(&lists->at[i]); k++)
            bytes[k] = (uint8_t)(first + i + k);
    }
    return status;
}

static void
lists_free(struct lists *lists)
{
    for (size_t i = 0; i < N_TENSORS; i++)
        hoop_tensor_free(&lists->at[i]);
}

/* Says how a list is received. */
enum wanted {
    WANTED_SHAPES,
    WANTED_ANY_SHAPES,
    WANTED_BOTH, /* alternately */
};

static struct hoop_tensors *
lists_want(struct lists *lists, enum wanted wanted)
{
    lists->list = (struct hoop_tensors){N_TENSORS, lists->at, lists->at, 0};
    for (size_t i = 0; i < N_TENSORS; i++) {
        const bool is_any = wanted == WANTED_ANY_SHAPES ||
                            (wanted == WANTED_BOTH && i % 2 == 0);

        lists->at[i] = (struct hoop_tensor){
            .dtype = is_any ? HOOP_BOOL : dtypes[i],
            .shape = shapes[i],
        };
        if (is_any)
            lists->at[i].shape.n_dims = HOOP_ANY_SHAPE;
    }
    return &lists->list;
}

static bool
lists_equal(const struct lists *a, const struct lists *b)
{
    bool is_equal = a->list.n_tensors == b->list.n_tensors;

    for (size_t i = 0; is_equal && i < N_TENSORS; i++) {
        const size_t n_bytes = bytes_of(&b->at[i]);

        is_equal = hoop_shape_equal(&a->at[i].shape, &b->at[i].shape) &&
                   a->at[i].dtype == b->at[i].dtype &&
                   (n_bytes == 0 ||
                    memcmp(a->at[i].data, b->at[i].data, n_bytes) == 0);
    }
    return is_equal;
}

static int
lists_come_in_order(struct rank *rank, hoop_pipeline_t *pipeline)
{
    struct lists mine;
    struct lists expected;
    struct lists theirs;

    RANK_CHECK(lists_fill(&mine, (uint8_t)rank->rank) == HOOP_OK);
    RANK_CHECK(lists_fill(&expected, (uint8_t)hoop_pipeline_prev(pipeline)) ==
               HOOP_OK);
    for (enum wanted wanted = WANTED_SHAPES; wanted <= WANTED_BOTH; wanted++) {
        RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                       pipeline, &mine.list, lists_want(&theirs, wanted),
                       NULL) == HOOP_OK);
        RANK_CHECK(lists_equal(&theirs, &expected));
        lists_free(&theirs);
    }
    lists_free(&mine);
    lists_free(&expected);
    return 0;
}

/* An empty list has the same effect as NULL. */
static int
list_of_none_moves_nothing(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const struct hoop_tensors none = {0, NULL, NULL, 0};
    struct hoop_tensors also_none = {0, NULL, NULL, 0};
    const uint64_t before = bytes_sent(rank);

    RANK_CHECK(hoop_pipe_send_forward_recv_forward(pipeline, &none, &also_none,
                                                   NULL) == HOOP_OK);
    RANK_CHECK(bytes_sent(rank) == before);
    return 0;
}

static int
memory_of_the_caller_is_used(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t prev = hoop_pipeline_prev(pipeline);
    struct pair mine;
    struct pair theirs;

    pair_fill(&mine, rank->rank, 5);
    pair_fill(&theirs, -1, -1);
    RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                   pipeline, &mine.list, &theirs.list, NULL) == HOOP_OK);
    RANK_CHECK(theirs.tensor.data == theirs.at);
    RANK_CHECK(pair_came(&theirs, prev, 5));
    return 0;
}

/* Each rank sends two ranks further, in both directions. */
static int
ranks_need_not_be_neighbours(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t n = rank->size;
    const uint32_t next = (rank->rank + 2) % n;
    const uint32_t prev = (rank->rank + 2 * n - 2) % n;
    const struct hoop_pipe_options options = {.prev = &prev, .next = &next};
    struct pair mine[2];
    struct pair theirs[2];
    const struct hoop_pipe_exchange exchange = {
        .output = pair_fill(&mine[0], rank->rank, 1),
        .input_grad = pair_fill(&mine[1], rank->rank, -1),
        .input = pair_want(&theirs[0]),
        .output_grad = pair_want(&theirs[1]),
    };

    RANK_CHECK(hoop_pipe_exchange_all(pipeline, &exchange, &options) ==
               HOOP_OK);
    RANK_CHECK(pair_came(&theirs[0], prev, 1));
    RANK_CHECK(pair_came(&theirs[1], next, -1));
    return 0;
}

struct lane {
    struct rank *rank;
    hoop_pipeline_t *pipeline;
    uint32_t lane;
    bool is_sent;
};

/* A call that sends waits for its receive, so each lane has its own thread. */
static void *
lane_send(void *argument)
{
    struct lane *lane = argument;
    const struct hoop_pipe_options options = {.lane = lane->lane};
    struct pair mine;

    lane->is_sent =
        hoop_pipe_send_forward_recv_forward(
            lane->pipeline, pair_fill(&mine, lane->rank->rank, lane->lane),
            NULL, &options) == HOOP_OK;
    return NULL;
}

/* The lanes are received in another order than they are sent. */
static int
lanes_do_not_meet(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t prev = hoop_pipeline_prev(pipeline);
    struct lane lanes[N_LANES];
    pthread_t threads[N_LANES];
    struct pair theirs;

    for (uint32_t lane = 0; lane < N_LANES; lane++) {
        lanes[lane] = (struct lane){rank, pipeline, lane, false};
        RANK_CHECK(
            pthread_create(&threads[lane], NULL, lane_send, &lanes[lane]) == 0);
    }
    for (uint32_t lane = N_LANES; lane-- > 0;) {
        const struct hoop_pipe_options options = {.lane = lane};

        RANK_CHECK(hoop_pipe_send_forward_recv_forward(pipeline, NULL,
                                                       pair_want(&theirs),
                                                       &options) == HOOP_OK);
        RANK_CHECK(pair_came(&theirs, prev, lane));
    }
    for (uint32_t lane = 0; lane < N_LANES; lane++) {
        RANK_CHECK(pthread_join(threads[lane], NULL) == 0);
        RANK_CHECK(lanes[lane].is_sent);
    }
    return 0;
}

/* The first and the last stage have two chunks each, of which one is at the end
 * of the model. The neighbour of the other chunk is at the other end of the
 * ranks. */
static int
chunks_go_around_the_corner(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t n = rank->size;
    const uint32_t n_virtual = 2 * n;
    struct pair mine;
    struct pair theirs;

    for (uint32_t chunk = 0; chunk < 2; chunk++) {
        const uint32_t here = chunk * n + rank->rank;
        const struct hoop_pipe_options before = {.lane =
                                                     here > 0 ? here - 1 : 0};
        const struct hoop_pipe_options behind = {.lane = here};

        RANK_CHECK(hoop_pipeline_set_chunk(pipeline, chunk, 2) == HOOP_OK);
        RANK_CHECK(hoop_pipeline_is_first(pipeline) == (here == 0));
        RANK_CHECK(hoop_pipeline_is_last(pipeline) == (here == n_virtual - 1));
        RANK_CHECK(hoop_pipe_recv_forward(pipeline, pair_want(&theirs),
                                          &before) == HOOP_OK);
        RANK_CHECK(here == 0 ? pair_is_none(&theirs)
                             : pair_came(&theirs, here - 1, 9));
        RANK_CHECK(hoop_pipe_send_forward(pipeline, pair_fill(&mine, here, 9),
                                          &behind) == HOOP_OK);
    }
    RANK_CHECK(hoop_pipeline_set_chunk(pipeline, 0, 1) == HOOP_OK);
    return 0;
}

static bool
is_filled(const struct hoop_tensor *tensor, int64_t with)
{
    const int64_t *at = tensor->data;

    for (size_t i = 0; i < LARGE; i++) {
        if (at[i] != with + (int64_t)i)
            return false;
    }
    return true;
}

/* Each edge carries 8 MiB in both directions at the same time. */
static int
much_both_ways_does_not_lock_up(struct rank *rank, hoop_pipeline_t *pipeline)
{
    const uint32_t n = rank->size;
    struct hoop_tensor mine;
    struct hoop_tensor theirs[2];

    RANK_CHECK(hoop_tensor_create(HOOP_INT64, &(struct hoop_shape){1, {LARGE}},
                                  &mine) == HOOP_OK);
    int64_t *at = mine.data;
    for (size_t i = 0; i < LARGE; i++)
        at[i] = rank->rank + (int64_t)i;
    theirs[0] = theirs[1] = mine;
    theirs[0].data = theirs[1].data = NULL;
    const struct hoop_tensors sent = {1, &mine, NULL, 0};
    struct hoop_tensors received[] = {{1, &theirs[0], &theirs[0], 0},
                                      {1, &theirs[1], &theirs[1], 0}};
    const struct hoop_pipe_exchange exchange = {
        .output = &sent,
        .input_grad = &sent,
        .input = &received[0],
        .output_grad = &received[1],
    };
    RANK_CHECK(hoop_pipe_exchange_all(pipeline, &exchange, NULL) == HOOP_OK);
    RANK_CHECK(is_filled(&theirs[0], (rank->rank + n - 1) % n));
    RANK_CHECK(is_filled(&theirs[1], (rank->rank + 1) % n));

    /* The calls are paired as in the steady state of a pipeline. */
    RANK_CHECK(hoop_pipe_send_backward_recv_forward(
                   pipeline, &sent, &received[0], NULL) == HOOP_OK);
    RANK_CHECK(hoop_pipe_send_forward_recv_backward(
                   pipeline, &sent, &received[1], NULL) == HOOP_OK);
    hoop_tensor_free(&mine);
    hoop_tensor_free(&theirs[0]);
    hoop_tensor_free(&theirs[1]);
    return 0;
}

static int
body(struct rank *rank)
{
    int (*const plays[])(struct rank *, hoop_pipeline_t *) = {
        lists_come_in_order,
        list_of_none_moves_nothing,
        memory_of_the_caller_is_used,
        ranks_need_not_be_neighbours,
        lanes_do_not_meet,
        chunks_go_around_the_corner,
    };
    hoop_pipeline_t *pipeline = NULL;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(plays); i++) {
        if (plays[i](rank, pipeline) != 0)
            return 1;
    }
    /* With eight processes this would only take longer. */
    if (rank->size <= 4 && much_both_ways_does_not_lock_up(rank, pipeline) != 0)
        return 1;
    hoop_pipeline_free(pipeline);
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {{"pipe_lists", body}};

    return vectors_run(cases, COUNT_OF(cases));
}
