/*
 * tests/integration/pipe_share_test.c - tensors that travel in shares
 *
 * Ranks 0 to T - 1 are the first stage, T to 2 T - 1 the second; rank r's
 * pipeline goes to rank r + T.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "pipe_case.h"

struct grid {
    uint32_t n_ranks; /* T */
    hoop_comm_t stages;
    hoop_comm_t sharing;
    hoop_pipeline_t *pipeline;
};

static int
grid_begin(struct rank *rank, struct grid *grid)
{
    const uint32_t n_ranks = rank->size / 2;
    hoop_comm_t comm;

    grid->n_ranks = n_ranks;
    for (uint32_t i = 0; i < n_ranks; i++) {
        const uint32_t list[] = {i, i + n_ranks};

        RANK_CHECK(comm_begin(rank, 2 + i, list, 2, &comm) == HOOP_OK);
        if (hoop_comm_is_member(&comm))
            grid->stages = comm;
    }
    for (uint32_t stage = 0; stage < 2; stage++) {
        uint32_t list[RANKS_MAX];

        for (uint32_t i = 0; i < n_ranks; i++)
            list[i] = stage * n_ranks + i;
        RANK_CHECK(comm_begin(rank, 20 + stage, list, n_ranks, &comm) ==
                   HOOP_OK);
        if (hoop_comm_is_member(&comm))
            grid->sharing = comm;
    }
    RANK_CHECK(hoop_pipeline_create(&grid->stages, &grid->sharing,
                                    &grid->pipeline) == HOOP_OK);
    return 0;
}

static void
grid_end(struct grid *grid)
{
    hoop_pipeline_free(grid->pipeline);
    comm_end(&grid->sharing);
    comm_end(&grid->stages);
}

static const struct hoop_pipe_options in_shares = {
    .flags = HOOP_PIPE_SCATTER_GATHER,
};

/* 1, 2, 3, ... of a shape; without data when it is to be received. */
static struct hoop_tensor
counted(const struct hoop_shape *shape, int64_t first)
{
    struct hoop_tensor tensor;
    size_t count;

    if (hoop_tensor_create(HOOP_INT64, shape, &tensor) != HOOP_OK ||
        hoop_shape_count(shape, &count) != HOOP_OK)
        abort();
    int64_t *at = tensor.data;
    for (size_t i = 0; i < count; i++)
        at[i] = first + (int64_t)i;
    return tensor;
}

static bool
is_counted(const struct hoop_tensor *tensor,
           const struct hoop_shape *shape,
           int64_t first)
{
    struct hoop_tensor expected = counted(shape, first);
    size_t count;
    const bool is_right = hoop_shape_equal(&tensor->shape, shape) &&
                          hoop_shape_count(shape, &count) == HOOP_OK &&
                          (count == 0 || memcmp(tensor->data, expected.data,
                                                count * sizeof(int64_t)) == 0);

    hoop_tensor_free(&expected);
    return is_right;
}

struct share_case {
    struct hoop_shape shape;
    bool is_cut; /* on two ranks as on three */
};

static const struct share_case cases[] = {
    {{2, {2, 3}}, true},  /* the worked example */
    {{1, {5}}, false},    /* no equal shares: whole */
    {{0, {0}}, false},    /* one element */
    {{2, {0, 6}}, false}, /* none */
    {{3, {5, 3, 2}}, true},
    {{2, {600, 1000}}, true}, /* above what is sent unasked */
};

static size_t
bytes_of(const struct hoop_shape *shape)
{
    size_t count = 0;

    return hoop_shape_count(shape, &count) == HOOP_OK ? count * sizeof(int64_t)
                                                      : 0;
}

/* Each rank of the first stage sends 1/T of the bytes, or all of them; each of
 * the second tells the other T - 1. */
static int
play_case(struct rank *rank, struct grid *grid, const struct share_case *at)
{
    const size_t n_bytes = bytes_of(&at->shape);
    const size_t n_share = at->is_cut ? n_bytes / grid->n_ranks : n_bytes;
    const uint64_t before = bytes_sent(rank);
    struct hoop_tensor tensor;
    struct hoop_tensors list = {1, &tensor, &tensor, 0};

    if (rank->rank < grid->n_ranks) {
        tensor = counted(&at->shape, 1);
        RANK_CHECK(hoop_pipe_send_forward(grid->pipeline, &list, &in_shares) ==
                   HOOP_OK);
        RANK_CHECK(bytes_sent(rank) - before == n_share);
    } else {
        tensor = (struct hoop_tensor){.dtype = HOOP_INT64, .shape = at->shape};
        RANK_CHECK(hoop_pipe_recv_forward(grid->pipeline, &list, &in_shares) ==
                   HOOP_OK);
        RANK_CHECK(is_counted(&tensor, &at->shape, 1));
        RANK_CHECK(bytes_sent(rank) - before ==
                   (at->is_cut ? n_share * (grid->n_ranks - 1) : 0));
    }
    hoop_tensor_free(&tensor);
    return 0;
}

static int
cases_body(struct rank *rank)
{
    struct grid grid;

    if (grid_begin(rank, &grid) != 0)
        return 1;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (play_case(rank, &grid, &cases[i]) != 0)
            return 1;
    }
    grid_end(&grid);
    return 0;
}

static void
shares_are_sent_and_gathered(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(4, cases_body), 0);
    assert_int_equal(ranks_run_all(6, cases_body), 0);
}

/* Of one list, each tensor for itself, in both directions at once and into
 * memory of the caller's where there is some. */
static int
mixed_body(struct rank *rank)
{
    struct hoop_tensor mine[COUNT_OF(cases)];
    struct hoop_tensor theirs[COUNT_OF(cases)];
    const struct hoop_tensors sent = {COUNT_OF(cases), mine, NULL, 0};
    struct hoop_tensors received = {COUNT_OF(cases), theirs, theirs, 0};
    struct grid grid;

    if (grid_begin(rank, &grid) != 0)
        return 1;
    const bool is_first = rank->rank < grid.n_ranks;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        mine[i] = counted(&cases[i].shape, is_first ? 100 : 200);
        theirs[i] = counted(&cases[i].shape, 0);
        if (i % 2 == 0)
            hoop_tensor_free(&theirs[i]);
    }
    for (int again = 0; again < 2; again++) {
        const enum hoop_status status =
            is_first
                ? hoop_pipe_send_forward_recv_backward(grid.pipeline, &sent,
                                                       &received, &in_shares)
                : hoop_pipe_send_backward_recv_forward(grid.pipeline, &sent,
                                                       &received, &in_shares);
        RANK_CHECK(status == HOOP_OK);
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        RANK_CHECK(
            is_counted(&theirs[i], &cases[i].shape, is_first ? 200 : 100));
        hoop_tensor_free(&mine[i]);
        hoop_tensor_free(&theirs[i]);
    }
    grid_end(&grid);
    return 0;
}

static void
each_tensor_of_a_list_is_cut_or_not(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(4, mixed_body), 0);
    assert_int_equal(ranks_run_all(8, mixed_body), 0);
}

/* The last rank expects a shape that is not even cut: all who share are told,
 * if not with this call, then with the next, and none gets a share of it. */
static int
mistaken_body(struct rank *rank)
{
    const struct hoop_shape right = {1, {12}};
    const struct hoop_shape wrong = {1, {13}};
    struct hoop_tensor tensor;
    struct hoop_tensors list = {1, &tensor, &tensor, 0};
    struct grid grid;

    if (grid_begin(rank, &grid) != 0)
        return 1;
    for (int step = 0; step < 3; step++) {
        const bool is_mistaken = step == 0 && rank->rank == rank->size - 1;

        tensor = counted(&right, 100 * step);
        if (rank->rank < grid.n_ranks) {
            /* It may be done before it is found not to fit. */
            (void)!hoop_pipe_send_forward(grid.pipeline, &list, &in_shares);
            hoop_tensor_free(&tensor);
            continue;
        }
        hoop_tensor_free(&tensor);
        tensor.shape = is_mistaken ? wrong : right;
        const enum hoop_status status =
            hoop_pipe_recv_forward(grid.pipeline, &list, &in_shares);
        RANK_CHECK(status == (step == 0 ? HOOP_E_MISMATCH : HOOP_OK) ||
                   (step == 1 && status == HOOP_E_MISMATCH));
        RANK_CHECK(status != HOOP_OK ||
                   is_counted(&tensor, &right, 100 * step));
        hoop_tensor_free(&tensor);
    }
    grid_end(&grid);
    return 0;
}

static void
mistake_of_one_rank_leaves_no_share_behind(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(4, mistaken_body), 0);
    assert_int_equal(ranks_run_all(6, mistaken_body), 0);
}

/* Alone, and with nobody to share with, the flag changes nothing. */
static int
alone_body(struct rank *rank)
{
    const uint32_t own[] = {rank->rank};
    hoop_comm_t sharing;

    RANK_CHECK(comm_begin(rank, 2 + rank->rank, own, 1, &sharing) == HOOP_OK);
    hoop_comm_t *const all[] = {NULL, &sharing};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        hoop_pipeline_t *pipeline = NULL;
        struct pair mine;
        struct pair theirs;

        RANK_CHECK(hoop_pipeline_create(rank->comm, all[i], &pipeline) ==
                   HOOP_OK);
        const struct hoop_tensors *output = pair_fill(&mine, rank->rank, 7);
        RANK_CHECK(hoop_pipe_send_forward_recv_forward(pipeline, output,
                                                       pair_want(&theirs),
                                                       &in_shares) == HOOP_OK);
        RANK_CHECK(pair_came(&theirs, hoop_pipeline_prev(pipeline), 7));
        hoop_pipeline_free(pipeline);
    }
    comm_end(&sharing);
    return 0;
}

static void
flag_of_a_rank_alone_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_all(2, alone_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_sent_and_gathered),
        cmocka_unit_test(each_tensor_of_a_list_is_cut_or_not),
        cmocka_unit_test(mistake_of_one_rank_leaves_no_share_behind),
        cmocka_unit_test(flag_of_a_rank_alone_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
