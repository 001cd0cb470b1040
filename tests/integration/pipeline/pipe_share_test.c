/*
 * tests/integration/pipeline/pipe_share_test.c - tensors that travel in shares
 *
 * Ranks 0 to T - 1 are the first stage, and ranks T to 2 T - 1 the second one.
 * The pipeline of rank r leads to rank r + T.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/pipeline/pipe_case.h"
#include "integration/reference.h"
#include "pseudo_random.h"

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

/* Makes a tensor of 1, 2, 3, ... A tensor to be received has no data. */
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
    bool is_cut; /* cut into shares, with two ranks and with three */
};

static const struct share_case cases[] = {
    {{2, {2, 3}}, true},  /* the worked example */
    {{1, {5}}, false},    /* without equal shares, so it is whole */
    {{0, {0}}, false},    /* one element */
    {{2, {0, 6}}, false}, /* no elements */
    {{3, {5, 3, 2}}, true},
    {{2, {600, 1000}}, true}, /* larger than what is sent without a request */
};

static size_t
bytes_of(const struct hoop_shape *shape)
{
    size_t count = 0;

    return hoop_shape_count(shape, &count) == HOOP_OK ? count * sizeof(int64_t)
                                                      : 0;
}

/* Each rank of the first stage sends 1/T of the bytes, or all of them. Each
 * rank of the second stage sends its share to the other T - 1. */
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
    assert_int_equal(ranks_run_all(4, cases_body), 0);
    assert_int_equal(ranks_run_all(6, cases_body), 0);
}

/* Each tensor of a list is shared by itself. The lists go in both directions at
 * the same time, and into memory of the caller if there is some. */
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
    assert_int_equal(ranks_run_all(4, mixed_body), 0);
    assert_int_equal(ranks_run_all(8, mixed_body), 0);
}

/*
 * The rest of the file compares random calls with a model. A step is a list
 * from each rank of one stage to its counterpart in the other stage, or a list
 * in each direction in one call. It is drawn alike on all ranks, but now and
 * then a rank omits the flag, or gives another list. By the model, a pair of
 * ranks succeeds if both or neither have the flag, and both have the same list.
 * With the flag, either all pairs of a step succeed and have the same list, or
 * all calls of the step fail. The steps follow each other without a barrier.
 */
enum {
#if defined(__SANITIZE_THREAD__)
    N_STEPS = 60,
#elif defined(__SANITIZE_ADDRESS__)
    N_STEPS = 120,
#else
    N_STEPS = 300,
#endif
    MEANT_MAX = 3,
    LANES = 3,
};

/* Each shape differs from all others, also in its shares, with two ranks and
 * with three. */
static const struct hoop_shape shapes[] = {
    {1, {12}}, {2, {12, 5}},   {1, {5}}, {0, {0}},
    {1, {0}},  {2, {6, 2000}}, {1, {7}}, {1, {60000}},
};

struct meant {
    size_t n;
    size_t shapes[MEANT_MAX];
};

/* The arrays are indexed by the ranks of the group. */
struct step {
    bool is_backward;
    bool is_both;
    uint32_t lane;
    bool is_shared[2][RANKS_MAX]; /* by side: the sender of leg 0, and its
                                     receiver */
    struct meant meant[2][2][RANKS_MAX]; /* leg, sender or receiver, rank */
};

static bool
draws(uint64_t *seed, size_t one_in)
{
    return draw_below(seed, one_in) == 0;
}

static void
meant_draw(uint64_t *seed, struct meant *meant)
{
    meant->n = draw_below(seed, MEANT_MAX + 1);
    for (size_t i = 0; i < MEANT_MAX; i++)
        meant->shapes[i] = draw_below(seed, COUNT_OF(shapes));
}

static void
meant_spoil(uint64_t *seed, struct meant *meant)
{
    size_t *shape = &meant->shapes[draw_below(seed, MEANT_MAX)];

    if (draws(seed, 2))
        meant->n =
            (meant->n + 1 + draw_below(seed, MEANT_MAX)) % (MEANT_MAX + 1);
    else
        *shape = (*shape + 1 + draw_below(seed, COUNT_OF(shapes) - 1)) %
                 COUNT_OF(shapes);
}

/* Returns whether a receiver can know that other ranks gather. */
static bool
is_known(const struct step *step, uint32_t n_ranks)
{
    size_t n_unshared = 0;

    for (uint32_t i = 0; i < n_ranks; i++)
        n_unshared += !step->is_shared[0][i] && !step->is_shared[1][i];
    return n_unshared == 0 || n_unshared == n_ranks;
}

static void
step_draw(uint64_t *seed, uint32_t n_ranks, struct step *step)
{
    const bool is_shared = !draws(seed, 6);

    *step = (struct step){
        .is_backward = draws(seed, 2),
        .is_both = draws(seed, 3),
        .lane = (uint32_t)draw_below(seed, LANES),
    };
    for (size_t side = 0; side < 2; side++) {
        const bool differs = draws(seed, 8);

        for (uint32_t i = 0; i < n_ranks; i++)
            step->is_shared[side][i] = is_shared != differs;
    }
    if (draws(seed, 4)) {
        bool *odd =
            &step->is_shared[draw_below(seed, 2)][draw_below(seed, n_ranks)];

        *odd = !*odd;
        if (!is_known(step, n_ranks))
            *odd = !*odd;
    }
    for (size_t leg = 0; leg < 2; leg++) {
        struct meant meant;

        meant_draw(seed, &meant);
        for (uint32_t i = 0; i < n_ranks; i++)
            step->meant[leg][0][i] = step->meant[leg][1][i] = meant;
        if (draws(seed, 4))
            meant_spoil(seed, &step->meant[leg][draw_below(seed, 2)]
                                          [draw_below(seed, n_ranks)]);
    }
}

/* The functions below are the model. */

static bool
is_same(const struct meant *a, const struct meant *b)
{
    return a->n == b->n &&
           memcmp(a->shapes, b->shapes, a->n * sizeof(size_t)) == 0;
}

static bool
pair_fits(const struct step *step, size_t leg, uint32_t i)
{
    return step->is_shared[0][i] == step->is_shared[1][i] &&
           is_same(&step->meant[leg][0][i], &step->meant[leg][1][i]);
}

static bool
leg_goes_well(const struct step *step, size_t leg, uint32_t i, uint32_t n_ranks)
{
    bool is_any_shared = false;
    bool do_all_fit = true;

    for (uint32_t k = 0; k < n_ranks; k++) {
        is_any_shared |= step->is_shared[0][k] || step->is_shared[1][k];
        do_all_fit &= pair_fits(step, leg, k) &&
                      is_same(&step->meant[leg][0][0], &step->meant[leg][0][k]);
    }
    return is_any_shared ? do_all_fit : pair_fits(step, leg, i);
}

struct part {
    struct hoop_tensor tensors[MEANT_MAX];
    struct hoop_tensor came[MEANT_MAX];
    struct hoop_tensors list;
};

static int64_t
value_of(uint64_t number, size_t leg, size_t index)
{
    return (int64_t)(number * 1000003 + leg * 500009 + index * 250007);
}

static struct hoop_tensors *
part_fill(struct part *part,
          const struct meant *meant,
          uint64_t number,
          size_t leg,
          enum hoop_message_kind kind)
{
    *part = (struct part){.list = {meant->n, part->tensors, part->came, 77}};
    for (size_t i = 0; i < meant->n; i++) {
        const struct hoop_shape *shape = &shapes[meant->shapes[i]];

        part->tensors[i] =
            kind == HOOP_SEND
                ? counted(shape, value_of(number, leg, i))
                : (struct hoop_tensor){.dtype = HOOP_INT64, .shape = *shape};
    }
    return &part->list;
}

static bool
part_came(const struct part *part,
          const struct meant *meant,
          uint64_t number,
          size_t leg)
{
    bool is_right = true;

    for (size_t i = 0; i < meant->n; i++)
        is_right &= is_counted(&part->came[i], &shapes[meant->shapes[i]],
                               value_of(number, leg, i));
    return is_right;
}

static void
part_free(struct part *part)
{
    for (size_t i = 0; i < MEANT_MAX; i++) {
        hoop_tensor_free(&part->tensors[i]);
        hoop_tensor_free(&part->came[i]);
    }
}

static int
step_play(const struct rank *rank,
          struct grid *grid,
          const struct step *step,
          uint64_t number)
{
    const uint32_t n_ranks = grid->n_ranks;
    const uint32_t own = rank->rank % n_ranks;
    const bool is_first = rank->rank < n_ranks;
    /* Leg 0 goes forward or backward, and leg 1 in the other direction. */
    const size_t side = is_first == step->is_backward;
    const struct hoop_pipe_options options = {
        .lane = step->lane,
        .flags = step->is_shared[side][own] ? HOOP_PIPE_SCATTER_GATHER : 0,
    };
    struct part sent = {0};
    struct part received = {0};
    const size_t leg_sent = side;
    const size_t leg_received = 1 - side;
    struct hoop_tensors *send = NULL;
    struct hoop_tensors *receive = NULL;
    bool goes_well = true;

    if (leg_sent == 0 || step->is_both) {
        send = part_fill(&sent, &step->meant[leg_sent][0][own], number,
                         leg_sent, HOOP_SEND);
        goes_well &= leg_goes_well(step, leg_sent, own, n_ranks);
    }
    if (leg_received == 0 || step->is_both) {
        receive = part_fill(&received, &step->meant[leg_received][1][own],
                            number, leg_received, HOOP_RECV);
        goes_well &= leg_goes_well(step, leg_received, own, n_ranks);
    }
    const struct hoop_pipe_exchange exchange =
        is_first
            ? (struct hoop_pipe_exchange){.output = send,
                                          .output_grad = receive}
            : (struct hoop_pipe_exchange){.input_grad = send, .input = receive};
    const enum hoop_status status =
        hoop_pipe_exchange_all(grid->pipeline, &exchange, &options);
    RANK_CHECK(status == (goes_well ? HOOP_OK : HOOP_E_MISMATCH));
    if (step->is_shared[0][own] != step->is_shared[1][own])
        RANK_CHECK(strstr(hoop_error_text(), "HOOP_PIPE_SCATTER_GATHER"));
    if (status == HOOP_OK && receive)
        RANK_CHECK(part_came(&received, &step->meant[leg_received][1][own],
                             number, leg_received));
    for (size_t i = 0; status != HOOP_OK && i < MEANT_MAX; i++)
        RANK_CHECK(!received.came[i].data);
    part_free(&sent);
    part_free(&received);
    return 0;
}

static int
model_body(struct rank *rank)
{
    uint64_t seed = *(const uint64_t *)rank->input;
    struct grid grid;

    if (grid_begin(rank, &grid) != 0)
        return 1;
    for (uint64_t i = 0; i < N_STEPS; i++) {
        struct step step;

        step_draw(&seed, grid.n_ranks, &step);
        if (step_play(rank, &grid, &step, i) != 0) {
            fprintf(stderr, "rank %u, step %" PRIu64 ", seed %" PRIu64 ": %s\n",
                    rank->rank, i, *(const uint64_t *)rank->input,
                    hoop_error_text());
            return 1;
        }
    }
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    grid_end(&grid);
    return 0;
}

static void
calls_end_as_the_model_says(void **state)
{
    uint64_t seed = number_from_environment("HOOP_TEST_SEED", 1);

    for (uint32_t size = 4; size <= 6; size += 2, seed++) {
        printf("%u ranks, seed %" PRIu64 "\n", size, seed);
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = model_body,
                             .input = &seed,
                         }),
                         0);
    }
}

/* A rank without others to share with gets the same result with the flag. */
static int
flag_of_a_rank_alone_changes_nothing(struct rank *rank)
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_sent_and_gathered),
        cmocka_unit_test(each_tensor_of_a_list_is_cut_or_not),
        cmocka_unit_test(calls_end_as_the_model_says),
        RANKS_TEST(flag_of_a_rank_alone_changes_nothing, 2, 2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
