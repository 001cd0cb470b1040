/*
 * tests/fault/pipe_misfits_test.c - stages that do not mean the same
 *
 * Both sides are told, soon, and who they are; nothing is handed out; the
 * others, and the next lane, go on.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "pipe_case.h"

enum {
    LARGE = 1 << 18, /* elements: waits for its receive */
    LIST_MAX = 3,
    SETTLINGS = 2,
};

/* Far below an operation's deadline, which is 20 s; a sanitizer is slow. */
static const uint64_t TOLD_AFTER_NS = 10000000000;

static uint8_t bytes[8 * LARGE];

static bool
says(const char *phrase)
{
    return strstr(hoop_error_text(), phrase) != NULL;
}

static bool
names(const struct rank *rank, uint32_t other)
{
    char name[64];

    snprintf(name, sizeof(name), "rank %u (host:%d)", other,
             (int)rank->pids[other]);
    return says(name);
}

/* Stage 0 sends a list to stage 1, which expects another. */
struct misfit {
    const char *sent_text; /* in the texts of both */
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
     {.dtype = HOOP_INT64, .shape = {1, {LARGE}}},
     {.dtype = HOOP_INT64, .shape = {1, {LARGE}}}},
    {"of 2",
     "of 3",
     2,
     3,
     {.dtype = HOOP_INT64, .shape = {1, {LARGE}}},
     {.dtype = HOOP_INT64, .shape = {.n_dims = HOOP_ANY_SHAPE}}},
    {"[262144]",
     "[131072, 2]",
     1,
     1,
     {.dtype = HOOP_INT64, .shape = {1, {LARGE}}},
     {.dtype = HOOP_INT64, .shape = {2, {LARGE / 2, 2}}}},
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
            tensors[i].data = bytes;
    }
    return is_sender ? hoop_pipe_send_forward(pipeline, &list, &options)
                     : hoop_pipe_recv_forward(pipeline, &list, &options);
}

/* Both ways with both neighbours, whose verdicts come before. A call that was
 * done before it was refused is told of by this one. */
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

/* A send may have returned: then one of the next calls tells. */
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
        RANK_CHECK(says("from stage 0, lane 10"));
        for (size_t i = 0; i < LIST_MAX; i++)
            RANK_CHECK(!tensors[i].data);
    }
    for (unsigned i = 0; i <= SETTLINGS; i++) {
        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        if (status == HOOP_E_MISMATCH) {
            n_told++;
            RANK_CHECK(names(rank, 0) && names(rank, 1));
            RANK_CHECK(says(misfit->sent_text) && says(misfit->wanted_text));
        }
        if (i < SETTLINGS)
            status = settle(rank->comm);
    }
    RANK_CHECK(rank->rank < 2 ? n_told > 0 : n_told == 0);
    RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
    return 0;
}

/* Another lane is as if nothing had been. */
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

static int
misfits_body(struct rank *rank)
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

static void
lists_that_differ_are_told_to_both(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 4; size++)
        assert_int_equal(ranks_run_all(size, misfits_body), 0);
}

/* The last rank's tensor is larger, so that its neighbours, or all, are told. */
static int
ring_body(struct rank *rank)
{
    const uint32_t odd = rank->size - 1;
    struct hoop_tensor mine = tensor_like(HOOP_UINT8, 1, (size_t[]){4});
    struct hoop_tensor out = {.dtype = HOOP_UINT8};
    const bool is_near =
        rank->rank == odd || rank->rank == 0 || rank->rank + 1 == odd;
    unsigned n_told = 0;

    mine.data = bytes;
    if (rank->rank == odd)
        mine.shape.dims[0] = 5;
    enum hoop_status status = hoop_ring_forward(&mine, &out, rank->comm);
    RANK_CHECK((status == HOOP_OK) == (out.data != NULL));
    hoop_tensor_free(&out);
    for (unsigned i = 0; i <= SETTLINGS; i++) {
        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        RANK_CHECK(status == HOOP_OK || (says("[4]") && says("[5]")));
        n_told += status == HOOP_E_MISMATCH;
        if (i < SETTLINGS)
            status = settle(rank->comm);
    }
    RANK_CHECK((n_told > 0) == is_near);
    return 0;
}

static void
ring_of_different_shapes_is_told(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 5; size++)
        assert_int_equal(ranks_run_all(size, ring_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_that_differ_are_told_to_both),
        cmocka_unit_test(ring_of_different_shapes_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
