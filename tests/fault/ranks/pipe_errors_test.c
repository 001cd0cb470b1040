/*
 * tests/fault/ranks/pipe_errors_test.c - wrong calls and absent stages
 *
 * Every rank concerned soon gets an error that names the other side. No tensor
 * is returned.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/tags.h"
#include "api/tensor_message.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "integration/pipeline/pipe_case.h"

enum {
    LARGE = 1 << 18, /* elements; such a send waits for its receive */
};

static uint8_t bytes[8 * LARGE];

static int
ring_goes_on(struct rank *rank, hoop_pipeline_t *pipeline)
{
    struct pair mine;
    struct pair theirs;
    const struct hoop_tensors *output = pair_fill(&mine, rank->rank, 3);

    RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                   pipeline, output, pair_want(&theirs), NULL) == HOOP_OK);
    RANK_CHECK(pair_came(&theirs, hoop_pipeline_prev(pipeline), 3));
    return 0;
}

/* Every rank refuses a call that is wrong in itself, before any data move. */
static int
wrong_calls_are_refused_on_every_rank(struct rank *rank)
{
    const uint32_t far = rank->size;
    const struct hoop_pipe_options wrong[] = {
        {.prev = &far},
        {.next = &far},
        {.lane = 1 << 24},
        {.flags = 2},
    };
    hoop_pipeline_t *pipeline = NULL;
    struct pair mine;
    struct pair theirs;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                       pipeline, pair_fill(&mine, 1, 2), pair_want(&theirs),
                       &wrong[i]) == HOOP_E_INVALID);
    pair_fill(&mine, 1, 2);
    mine.tensor.dtype = 77;
    RANK_CHECK(hoop_pipe_send_backward_recv_backward(pipeline, &mine.list,
                                                     pair_want(&theirs),
                                                     NULL) == HOOP_E_INVALID);
    RANK_CHECK(!theirs.tensor.data);
    mine.list.tensors = NULL;
    RANK_CHECK(hoop_pipe_send_backward_recv_backward(pipeline, &mine.list, NULL,
                                                     NULL) == HOOP_E_INVALID);
    pair_fill(&mine, 1, 2);
    RANK_CHECK(hoop_ring_forward(&mine.tensor, &mine.tensor, rank->comm) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_ring_forward(NULL, &mine.tensor, rank->comm) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_ring_forward(&mine.tensor, NULL, rank->comm) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_ring_forward(&mine.tensor, &mine.tensor, NULL) ==
               HOOP_E_INVALID);
    pair_want(&theirs);
    theirs.tensor.shape.dims[0] = 5;
    theirs.tensor.data = bytes;
    RANK_CHECK(hoop_ring_forward(&mine.tensor, &theirs.tensor, rank->comm) ==
               HOOP_E_INVALID);
    if (ring_goes_on(rank, pipeline) != 0)
        return 1;
    hoop_pipeline_free(pipeline);
    return 0;
}

/* No stage sends, and none receives. */
static int
missing_body(struct rank *rank)
{
    struct hoop_shape shape = {.n_dims = HOOP_ANY_SHAPE};
    struct hoop_tensor large = tensor_like(HOOP_INT64, 1, (size_t[]){LARGE});
    const struct hoop_tensors list = {1, &large, NULL, 0};
    hoop_pipeline_t *pipeline = NULL;
    struct pair theirs;

    large.data = bytes;
    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(hoop_pipe_send_forward_recv_forward(
                   pipeline, NULL, pair_want_any(&theirs),
                   &(struct hoop_pipe_options){.lane = 5}) == HOOP_E_TIMEOUT);
    RANK_CHECK(error_says("input[0] of 1 from stage ") &&
               error_says(", lane 5"));
    RANK_CHECK(error_names(rank, hoop_pipeline_prev(pipeline)));
    RANK_CHECK(!theirs.tensor.data);
    RANK_CHECK(hoop_pipe_send_backward_recv_backward(pipeline, &list, NULL,
                                                     NULL) == HOOP_E_TIMEOUT);
    RANK_CHECK(error_says("input_grad[0] of 1 to stage "));
    RANK_CHECK(hoop_recv_tensor_meta(pipeline, &shape, NULL, &shape) ==
               HOOP_E_TIMEOUT);
    RANK_CHECK(shape.n_dims == HOOP_ANY_SHAPE);
    hoop_pipeline_free(pipeline);
    /* No rank leaves before all have waited. */
    room_add(rank, 9);
    room_await(rank, 9, rank->size);
    return 0;
}

static void
missing_peer_ends_the_wait_at_the_deadline(void **state)
{
    for (uint32_t size = 1; size <= 3; size++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = missing_body,
                             .timeout_ms = 200,
                         }),
                         0);
}

/* Connects all ranks. On return none has an operation in progress. */
static enum hoop_status
meet(struct rank *rank)
{
    const enum hoop_status status = hoop_barrier(rank->comm);

    room_add(rank, 10);
    room_await(rank, 10, rank->size);
    return status;
}

/* Rank 1 dies while its neighbours exchange with it. */
static int
killed_neighbour_is_named(struct rank *rank)
{
    struct hoop_tensor large = tensor_like(HOOP_INT64, 1, (size_t[]){LARGE});
    const struct hoop_tensors list = {1, &large, NULL, 0};
    hoop_pipeline_t *pipeline = NULL;
    struct pair theirs[2];
    const struct hoop_pipe_exchange exchange = {
        .output = &list,
        .input_grad = &list,
        .input = pair_want_any(&theirs[0]),
        .output_grad = pair_want_any(&theirs[1]),
    };

    large.data = bytes;
    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    RANK_CHECK(meet(rank) == HOOP_OK);
    if (rank->rank == 1)
        kill(getpid(), SIGKILL);
    RANK_CHECK(hoop_pipe_exchange_all(pipeline, &exchange, NULL) ==
               HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, 1));
    RANK_CHECK(!theirs[0].tensor.data && !theirs[1].tensor.data);
    hoop_pipeline_free(pipeline);
    return 0;
}

/*
 * Ranks 0 and 1 send shares to ranks 2 and 3. Rank 0 sends another shape, or
 * dies. All must get an error, although rank 3 gets what it expects from rank
 * 1.
 */
static int
share_body(struct rank *rank)
{
    const enum hoop_status expected = *(const enum hoop_status *)rank->input;
    const struct hoop_pipe_options options = {
        .flags = HOOP_PIPE_SCATTER_GATHER,
    };
    const uint32_t column = rank->rank % 2;
    hoop_comm_t comms[4];
    hoop_pipeline_t *pipeline = NULL;
    struct hoop_tensor tensor = tensor_like(HOOP_INT32, 2, (size_t[]){4, 2});
    struct hoop_tensors list = {1, &tensor, &tensor, 0};

    for (uint32_t i = 0; i < 2; i++) {
        RANK_CHECK(comm_begin(rank, 2 + i, (uint32_t[]){i, 2 + i}, 2,
                              &comms[i]) == HOOP_OK);
        RANK_CHECK(comm_begin(rank, 4 + i, (uint32_t[]){2 * i, 2 * i + 1}, 2,
                              &comms[2 + i]) == HOOP_OK);
    }
    RANK_CHECK(hoop_pipeline_create(&comms[column], &comms[2 + rank->rank / 2],
                                    &pipeline) == HOOP_OK);
    RANK_CHECK(meet(rank) == HOOP_OK);
    if (rank->rank == 0 && expected == HOOP_E_PEER_LOST)
        kill(getpid(), SIGKILL);
    if (rank->rank == 0)
        tensor.shape = (struct hoop_shape){2, {3, 4}};
    if (rank->rank < 2) {
        tensor.data = bytes;
        const enum hoop_status status =
            hoop_pipe_send_forward(pipeline, &list, &options);

        RANK_CHECK(status == HOOP_E_MISMATCH);
        RANK_CHECK(rank->rank == 0 ||
                   error_says("what was received is thrown away"));
    } else {
        const enum hoop_status status =
            hoop_pipe_recv_forward(pipeline, &list, &options);

        RANK_CHECK(!tensor.data);
        RANK_CHECK(status == (rank->rank == 2 ? expected : HOOP_E_MISMATCH));
        RANK_CHECK(rank->rank == 2 || error_says("gathering the shares"));
    }
    /* No rank leaves before all have had their error. */
    room_add(rank, 9);
    room_await(rank, 9, expected == HOOP_E_PEER_LOST ? 3 : 4);
    hoop_pipeline_free(pipeline);
    for (uint32_t i = 0; i < 4; i++)
        comm_end(&comms[i]);
    return 0;
}

static void
share_that_fails_is_told_to_who_gathers(void **state)
{
    static const enum hoop_status all[] = {HOOP_E_MISMATCH, HOOP_E_PEER_LOST};

    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = 4,
                             .body = share_body,
                             .input = &all[i],
                         }),
                         0);
}

/* Rank 0 announces shapes that no tensor can have. */
static int
shape_that_cannot_be_is_refused(struct rank *rank)
{
    static int64_t numbers[][2] = {{9, 0}, {-1, 0}, {1, -5}};
    hoop_pipeline_t *pipeline = NULL;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (uint32_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct hoop_pipe_options options = {.lane = i};
        struct hoop_shape shape = {.n_dims = HOOP_ANY_SHAPE};
        struct hoop_tensor parts[] = {
            {.data = &numbers[i][0], .dtype = HOOP_INT64},
            {.data = &numbers[i][1], .dtype = HOOP_INT64, .shape = {1, {1}}},
        };

        for (size_t k = 0; rank->rank == 0 && k < 2; k++) {
            const struct tensor_message message = {
                .kind = HOOP_SEND,
                .tensor = &parts[k],
                .peer = 1,
                .tag = tag_of_library_part(TAG_TENSOR_META, i),
            };
            RANK_CHECK(tensor_message_run(&message, 1, rank->comm) == HOOP_OK);
        }
        if (rank->rank == 1) {
            RANK_CHECK(hoop_recv_tensor_meta(pipeline, &shape, &options,
                                             &shape) == HOOP_E_MISMATCH);
            RANK_CHECK(error_says("stage 0 tells of"));
            RANK_CHECK(shape.n_dims == HOOP_ANY_SHAPE);
        }
    }
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    hoop_pipeline_free(pipeline);
    return 0;
}

/*
 * Stages disagree about a list of tensors.
 *
 * Both sides soon get an error that names them, and no tensor is returned. The
 * other stages and the next lane go on.
 */

enum {
    MISFITS_LARGE = 1 << 18, /* elements; such a send waits for its receive */
    LIST_MAX = 3,
    SETTLINGS = 2,
};

/* This is far below an operation's deadline of 20 s, but leaves sanitizers
 * enough time. */
static const uint64_t TOLD_AFTER_NS = 10000000000;

static uint8_t misfits_bytes[8 * MISFITS_LARGE];

/* Stage 0 sends a list of tensors to stage 1, which expects another. */
struct misfit {
    const char *sent_text; /* how the errors of both stages show it */
    const char *wanted_text;
    size_t n_sent;
    size_t n_wanted;
    struct hoop_tensor sent;
    struct hoop_tensor wanted;
};

static const struct misfit misfits[] = {
    {"[2, 3]",
     "[3, 2]",
     1,
     1,
     {.dtype = HOOP_INT32, .shape = {2, {2, 3}}},
     {.dtype = HOOP_INT32, .shape = {2, {3, 2}}}},
    {"int32",
     "float32",
     1,
     1,
     {.dtype = HOOP_INT32, .shape = {1, {6}}},
     {.dtype = HOOP_FLOAT32, .shape = {1, {6}}}},
    {"[4]",
     "[0]",
     3,
     3,
     {.dtype = HOOP_INT32, .shape = {1, {4}}},
     {.dtype = HOOP_INT32, .shape = {1, {0}}}},
    {"of 1",
     "of 2",
     1,
     2,
     {.dtype = HOOP_INT64, .shape = {1, {2}}},
     {.dtype = HOOP_INT64, .shape = {1, {2}}}},
    {"of 3",
     "of 2",
     3,
     2,
     {.dtype = HOOP_INT64, .shape = {1, {2}}},
     {.dtype = HOOP_INT64, .shape = {1, {2}}}},
    {"of 3",
     "of 1",
     3,
     1,
     {.dtype = HOOP_INT64, .shape = {1, {MISFITS_LARGE}}},
     {.dtype = HOOP_INT64, .shape = {1, {MISFITS_LARGE}}}},
    {"of 2",
     "of 3",
     2,
     3,
     {.dtype = HOOP_INT64, .shape = {1, {MISFITS_LARGE}}},
     {.dtype = HOOP_INT64, .shape = {.n_dims = HOOP_ANY_SHAPE}}},
    {"[262144]",
     "[131072, 2]",
     1,
     1,
     {.dtype = HOOP_INT64, .shape = {1, {MISFITS_LARGE}}},
     {.dtype = HOOP_INT64, .shape = {2, {MISFITS_LARGE / 2, 2}}}},
};

static enum hoop_status
misfit_call(hoop_pipeline_t *pipeline,
            const struct misfit *misfit,
            struct hoop_tensor tensors[LIST_MAX])
{
    const bool is_sender = hoop_pipeline_stage(pipeline) == 0;
    const struct hoop_pipe_options options = {
        .lane = 100 + (uint32_t)(misfit - misfits),
    };
    struct hoop_tensors list = {is_sender ? misfit->n_sent : misfit->n_wanted,
                                tensors, tensors, 0};

    for (size_t i = 0; i < list.n_tensors; i++) {
        tensors[i] = is_sender ? misfit->sent : misfit->wanted;
        if (is_sender)
            tensors[i].data = misfits_bytes;
    }
    return is_sender ? hoop_pipe_send_forward(pipeline, &list, &options)
                     : hoop_pipe_recv_forward(pipeline, &list, &options);
}

/* Exchanges in both directions with both neighbours, whose error reports arrive
 * first. If an earlier call had returned before it was refused, this call
 * reports that. */
static enum hoop_status
settle(hoop_comm_t *comm)
{
    hoop_pipeline_t *pipeline = NULL;
    struct pair mine;
    struct pair theirs[2];
    const struct hoop_tensors *sent = pair_fill(&mine, 1, 2);
    const struct hoop_pipe_exchange exchange = {
        .output = sent,
        .input_grad = sent,
        .input = pair_want(&theirs[0]),
        .output_grad = pair_want(&theirs[1]),
    };

    enum hoop_status status = hoop_pipeline_create(comm, NULL, &pipeline);
    if (status == HOOP_OK)
        status = hoop_pipe_exchange_all(pipeline, &exchange, NULL);
    hoop_pipeline_free(pipeline);
    hoop_tensor_free(&theirs[0].tensor);
    hoop_tensor_free(&theirs[1].tensor);
    return status;
}

/* A send may have returned. One of the next calls then reports the error. */
static int
play_misfit(struct rank *rank,
            hoop_pipeline_t *pipeline,
            const struct misfit *misfit)
{
    const uint64_t begin_ns = clock_now_ns();
    struct hoop_tensor tensors[LIST_MAX] = {0};
    enum hoop_status status = HOOP_OK;
    unsigned n_told = 0;

    if (rank->rank < 2)
        status = misfit_call(pipeline, misfit, tensors);
    if (rank->rank == 1) {
        RANK_CHECK(status == HOOP_E_MISMATCH);
        RANK_CHECK(error_says("from stage 0, lane 10"));
        for (size_t i = 0; i < LIST_MAX; i++)
            RANK_CHECK(!tensors[i].data);
    }
    for (unsigned i = 0; i <= SETTLINGS; i++) {
        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        if (status == HOOP_E_MISMATCH) {
            n_told++;
            RANK_CHECK(error_names(rank, 0) && error_names(rank, 1));
            RANK_CHECK(error_says(misfit->sent_text) &&
                       error_says(misfit->wanted_text));
        }
        if (i < SETTLINGS)
            status = settle(rank->comm);
    }
    RANK_CHECK(rank->rank < 2 ? n_told > 0 : n_told == 0);
    RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
    return 0;
}

static int
lists_that_differ_are_told_to_both(struct rank *rank)
{
    hoop_pipeline_t *pipeline = NULL;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(misfits); i++) {
        if (play_misfit(rank, pipeline, &misfits[i]) != 0 ||
            ring_goes_on(rank, pipeline) != 0) {
            fprintf(stderr, "misfit %zu\n", i);
            return 1;
        }
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

/* The tensor of the last rank is larger. That rank and its neighbours get an
 * error. In a small ring these are all ranks. */
static int
ring_of_different_shapes_is_told(struct rank *rank)
{
    const uint32_t odd = rank->size - 1;
    struct hoop_tensor mine = tensor_like(HOOP_UINT8, 1, (size_t[]){4});
    struct hoop_tensor out = {.dtype = HOOP_UINT8};
    const bool is_near =
        rank->rank == odd || rank->rank == 0 || rank->rank + 1 == odd;
    unsigned n_told = 0;

    mine.data = misfits_bytes;
    if (rank->rank == odd)
        mine.shape.dims[0] = 5;
    enum hoop_status status = hoop_ring_forward(&mine, &out, rank->comm);
    RANK_CHECK((status == HOOP_OK) == (out.data != NULL));
    hoop_tensor_free(&out);
    for (unsigned i = 0; i <= SETTLINGS; i++) {
        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        RANK_CHECK(status == HOOP_OK ||
                   (error_says("[4]") && error_says("[5]")));
        n_told += status == HOOP_E_MISMATCH;
        if (i < SETTLINGS)
            status = settle(rank->comm);
    }
    RANK_CHECK((n_told > 0) == is_near);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(wrong_calls_are_refused_on_every_rank, 1, 4),
        cmocka_unit_test(missing_peer_ends_the_wait_at_the_deadline),
        RANKS_TEST(killed_neighbour_is_named, 2, 3),
        cmocka_unit_test(share_that_fails_is_told_to_who_gathers),
        RANKS_TEST(shape_that_cannot_be_is_refused, 2, 2),
        RANKS_TEST(lists_that_differ_are_told_to_both, 2, 4),
        RANKS_TEST(ring_of_different_shapes_is_told, 2, 5),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
