/*
 * tests/fault/ranks/tensor_lists_test.c - lists on which two stages differ
 *
 * If the count, a shape or a dtype differs, the call fails on both sides, and
 * both errors show what each side passed. The call in the other direction and
 * the next call in this one still deliver their data. The list that was
 * expected is unchanged and can be used again.
 */

#include <stdio.h>
#include <string.h>

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "check.h"
#include "integration/pipeline/pipe_case.h"

enum {
    LARGE = 70000, /* elements; the receiver asks for the pieces */
};

static int64_t mine[LARGE + 8];

/* Stage 0 sends n_sent tensors, and stage 1 expects n_wanted. */
struct difference {
    size_t n_sent;
    size_t n_wanted;
    struct hoop_tensor sent;
    struct hoop_tensor wanted;
    const char *sent_text;
    const char *wanted_text;
};

static const struct difference differences[] = {
    {1,
     0,
     {NULL, HOOP_INT64, {2, {2, 3}}, NULL},
     {0},
     "number 1 of 1",
     "a list of no tensors"},
    {0,
     1,
     {0},
     {NULL, HOOP_INT64, {2, {2, 3}}, NULL},
     "a list of no tensors",
     "number 1 of 1"},
    {0,
     3,
     {0},
     {NULL, HOOP_INT64, {2, {2, 3}}, NULL},
     "a list of no tensors",
     "number 1 of 3"},
    {2,
     1,
     {NULL, HOOP_INT64, {1, {4}}, NULL},
     {NULL, HOOP_INT64, {1, {4}}, NULL},
     "number 1 of 2",
     "number 1 of 1"},
    {1,
     3,
     {NULL, HOOP_INT64, {1, {4}}, NULL},
     {NULL, HOOP_INT64, {1, {4}}, NULL},
     "number 1 of 1",
     "number 1 of 3"},
    {3,
     2,
     {NULL, HOOP_INT64, {1, {LARGE}}, NULL},
     {NULL, HOOP_INT64, {1, {LARGE}}, NULL},
     "number 1 of 3",
     "number 1 of 2"},
    {2,
     0,
     {NULL, HOOP_INT64, {1, {LARGE}}, NULL},
     {0},
     "number 1 of 2",
     "a list of no tensors"},
    {1,
     1,
     {NULL, HOOP_INT64, {2, {2, 3}}, NULL},
     {NULL, HOOP_INT64, {2, {3, 2}}, NULL},
     "[2, 3]",
     "[3, 2]"},
    {2,
     2,
     {NULL, HOOP_INT64, {1, {LARGE}}, NULL},
     {NULL, HOOP_INT64, {2, {LARGE, 1}}, NULL},
     "[70000]",
     "[70000, 1]"},
    {1,
     1,
     {NULL, HOOP_FLOAT64, {0, {0}}, NULL},
     {NULL, HOOP_INT64, {0, {0}}, NULL},
     "float64",
     "int64"},
};

/* These calls of one family pass tensors to the next stage or back. */
struct calls {
    void *owner;
    enum hoop_status (*forth)(void *owner, bool is_sent, struct hoop_tensors *);
    enum hoop_status (*back)(void *owner, bool is_sent, struct hoop_tensors *);
};

static enum hoop_status
pipe_forth(void *owner, bool is_sent, struct hoop_tensors *list)
{
    return is_sent ? hoop_pipe_send_forward(owner, list, NULL)
                   : hoop_pipe_recv_forward(owner, list, NULL);
}

static enum hoop_status
pipe_back(void *owner, bool is_sent, struct hoop_tensors *list)
{
    return is_sent ? hoop_pipe_send_backward(owner, list, NULL)
                   : hoop_pipe_recv_backward(owner, list, NULL);
}

static enum hoop_status
stages_forth(void *owner, bool is_sent, struct hoop_tensors *list)
{
    return is_sent ? hoop_p2p_send_forward(owner, list, 0)
                   : hoop_p2p_recv_forward(owner, list, 0);
}

static enum hoop_status
stages_back(void *owner, bool is_sent, struct hoop_tensors *list)
{
    return is_sent ? hoop_p2p_send_backward(owner, list, 0)
                   : hoop_p2p_recv_backward(owner, list, 0);
}

/* Passes two numbers that only this call of this pair uses. */
static int
pair_goes_through(struct rank *rank,
                  const struct calls *calls,
                  bool is_forth,
                  int64_t value)
{
    const bool is_sent = is_forth == (rank->rank == 0);
    int64_t numbers[2] = {value, -value};
    struct hoop_tensor tensor = {.dtype = HOOP_INT64, .shape = {1, {2}}};
    struct hoop_tensor came = {0};
    struct hoop_tensors list = {1, &tensor, &came, 0};

    if (is_sent)
        tensor.data = numbers;
    RANK_CHECK((is_forth ? calls->forth : calls->back)(calls->owner, is_sent,
                                                       &list) == HOOP_OK);
    if (is_sent)
        return 0;
    RANK_CHECK(list.n_received == 1 && !tensor.data);
    RANK_CHECK(memcmp(came.data, numbers, sizeof(numbers)) == 0);
    hoop_tensor_free(&came);
    return 0;
}

static int
difference_is_told(struct rank *rank,
                   const struct calls *calls,
                   const struct difference *at)
{
    const bool is_sent = rank->rank == 0;
    struct hoop_tensor tensors[3];
    struct hoop_tensor came[3] = {{0}};
    struct hoop_tensors list = {is_sent ? at->n_sent : at->n_wanted, tensors,
                                came, 9};

    for (size_t i = 0; i < COUNT_OF(tensors); i++) {
        tensors[i] = is_sent ? at->sent : at->wanted;
        tensors[i].data = is_sent ? mine : NULL;
    }
    RANK_CHECK(calls->forth(calls->owner, is_sent, &list) == HOOP_E_MISMATCH);
    RANK_CHECK(strstr(hoop_error_text(), at->sent_text));
    RANK_CHECK(strstr(hoop_error_text(), at->wanted_text));
    RANK_CHECK(strstr(hoop_error_text(), "rank 0 (host:") &&
               strstr(hoop_error_text(), "rank 1 (host:"));
    for (size_t i = 0; i < COUNT_OF(came); i++)
        RANK_CHECK(!came[i].data && (is_sent || !tensors[i].data));
    RANK_CHECK(list.n_received == 9);
    return 0;
}

static int
differences_play(struct rank *rank, const struct calls *calls)
{
    for (size_t i = 0; i < COUNT_OF(differences); i++) {
        const int64_t value = 100 * (int64_t)i;

        if (rank->rank < 2 &&
            (difference_is_told(rank, calls, &differences[i]) != 0 ||
             pair_goes_through(rank, calls, false, value + 1) != 0 ||
             pair_goes_through(rank, calls, true, value + 2) != 0)) {
            fprintf(stderr, "difference %zu\n", i);
            return 1;
        }
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    }
    return 0;
}

static int
lists_that_differ_fail_this_call_on_both_sides(struct rank *rank)
{
    static const enum hoop_dtype dtype = HOOP_INT64;
    hoop_pipeline_t *pipeline = NULL;
    hoop_p2p_t *p2p = NULL;

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    if (differences_play(rank,
                         &(struct calls){pipeline, pipe_forth, pipe_back}) != 0)
        return 1;
    for (uint32_t kind = 0; kind < 2; kind++) {
        RANK_CHECK(hoop_p2p_create(
                       &(struct hoop_p2p_options){
                           .stages = rank->comm,
                           .dtype = &dtype,
                           .is_unbatched = kind == 1,
                       },
                       &p2p) == HOOP_OK);
        if (differences_play(
                rank, &(struct calls){p2p, stages_forth, stages_back}) != 0)
            return 1;
        hoop_p2p_free(p2p);
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

/* The first chunk receives nothing, and the second a list of two. One struct
 * serves for both. */
static int
chunks_body(struct rank *rank)
{
    hoop_pipeline_t *pipeline = NULL;
    struct hoop_tensor tensors[2] = {
        {.dtype = HOOP_INT64, .shape = {1, {2}}},
        {.dtype = HOOP_INT64, .shape = {1, {2}}},
    };
    struct hoop_tensor came[2] = {{0}};
    struct hoop_tensors list = {2, tensors, came, 5};

    RANK_CHECK(hoop_pipeline_create(rank->comm, NULL, &pipeline) == HOOP_OK);
    mine[0] = 41;
    mine[1] = 42;
    for (uint32_t chunk = 0; rank->rank == 0 && chunk < 2; chunk++) {
        RANK_CHECK(hoop_pipeline_set_chunk(pipeline, chunk, 2) == HOOP_OK);
        RANK_CHECK(hoop_pipe_recv_forward(pipeline, &list, NULL) == HOOP_OK);
        RANK_CHECK(list.n_received == 2 * chunk && list.n_tensors == 2);
    }
    if (rank->rank == 0) {
        for (size_t i = 0; i < 2; i++) {
            RANK_CHECK(memcmp(came[i].data, mine, 16) == 0);
            hoop_tensor_free(&came[i]);
        }
    } else {
        tensors[0].data = tensors[1].data = mine;
        RANK_CHECK(hoop_pipeline_set_chunk(pipeline, 0, 2) == HOOP_OK);
        RANK_CHECK(hoop_pipe_send_forward(pipeline, &list, NULL) == HOOP_OK);
    }
    hoop_pipeline_free(pipeline);
    return 0;
}

/* Receives tensors of any shape, which differ each time, with the same
 * struct. */
static int
reuse_body(struct rank *rank)
{
    const struct hoop_tensor any = {.shape = {.n_dims = HOOP_ANY_SHAPE}};
    struct hoop_tensor came = {0};

    for (size_t n = 1; n < 4; n++) {
        const struct hoop_tensor sent = {mine, HOOP_INT64, {1, {n}}, NULL};

        if (rank->rank == 0) {
            RANK_CHECK(hoop_send_tensor(&sent, 1, 0, rank->comm) == HOOP_OK);
            continue;
        }
        RANK_CHECK(hoop_recv_tensor(&any, 0, 0, rank->comm, &came) == HOOP_OK);
        RANK_CHECK(came.dtype == HOOP_INT64);
        RANK_CHECK(hoop_shape_equal(&came.shape, &sent.shape));
        hoop_tensor_free(&came);
    }
    return 0;
}

static void
what_is_expected_serves_again(void **state)
{
    assert_int_equal(ranks_run_all(2, chunks_body), 0);
    assert_int_equal(ranks_run_all(2, reuse_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(lists_that_differ_fail_this_call_on_both_sides, 2, 3),
        cmocka_unit_test(what_is_expected_serves_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
