/*
 * tests/fault/ranks/lines_test.c - chains over rows and columns
 *
 * The ranks form a plane of two rows. A walk is one operation with three
 * stages: each column exchanges, then each row sums, then all ranks exchange.
 * If it fails at any stage, every rank learns which rank caused that.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "ranks.h"
#include "session/comm.h"

enum {
    RANK_SIZE_MAX = 8,
    BLOCK = 3000,
    N_WALKS = 4,
};

struct walk {
    struct rank *rank;
    uint32_t n_columns;
    uint32_t members[RANK_SIZE_MAX]; /* of the current stage */
    size_t counts[RANK_SIZE_MAX];
    int32_t from[RANK_SIZE_MAX * BLOCK];
    int32_t to[RANK_SIZE_MAX * BLOCK];
    /* This rank refuses to go on, or kills itself, at these stages; 0 is
     * never. */
    uint32_t refused_at;
    uint32_t killed_at;
    size_t said; /* a count that all ranks must pass alike */
    unsigned n_destroyed;
};

/* There is one walk per concurrent operation. They are too large for the
 * stack. */
static struct walk walks[N_WALKS];

static struct engine_collective
line_of(struct walk *walk, uint32_t first, uint32_t stride, uint32_t size)
{
    struct engine_collective line = {
        .call = {.dtype = HOOP_INT32, .counts = &walk->said, .n_counts = 1},
        .shape = {.size = size, .count = BLOCK, .granule = 16},
        .members = walk->members,
    };

    for (uint32_t i = 0; i < size; i++) {
        walk->members[i] = first + i * stride;
        if (walk->members[i] == walk->rank->rank)
            line.shape.rank = i;
    }
    return line;
}

static void
exchange(struct walk *walk, struct engine_collective *line)
{
    for (uint32_t i = 0; i < line->shape.size; i++)
        walk->counts[i] = BLOCK;
    line->call.name = CALL_ALLTOALLV;
    line->algorithm = &algorithm_alltoall_pairwise;
    line->shape.counts = walk->counts;
    line->shape.recv_counts = walk->counts;
    line->input = walk->from;
    line->output = walk->to;
}

/* Block i is for row i of this column. */
static struct engine_collective
column_of(struct walk *walk)
{
    struct engine_collective line =
        line_of(walk, walk->rank->rank % walk->n_columns, walk->n_columns, 2);

    exchange(walk, &line);
    return line;
}

/* Odd rows have their ranks in reverse order, so that a rank's index in the
 * plan is not in the order of the context. */
static struct engine_collective
row_of(struct walk *walk)
{
    const uint32_t row = walk->rank->rank / walk->n_columns;
    const uint32_t first = row * walk->n_columns;
    struct engine_collective line =
        row % 2 == 0 ? line_of(walk, first, 1, walk->n_columns)
                     : line_of(walk, first + walk->n_columns - 1, UINT32_MAX,
                               walk->n_columns);

    line.call.name = CALL_ALLREDUCE;
    line.call.reduce_op = HOOP_SUM;
    line.algorithm = &algorithm_allreduce_ring;
    line.shape.is_in_place = true;
    line.shape.count = 2 * (size_t)BLOCK;
    line.input = walk->to;
    line.output = walk->to;
    return line;
}

static struct engine_collective
all_of(struct walk *walk)
{
    struct engine_collective line = line_of(walk, 0, 1, walk->rank->size);

    exchange(walk, &line);
    for (uint32_t i = 0; i < walk->rank->size; i++)
        memcpy(&walk->from[i * BLOCK], walk->to, BLOCK * sizeof(int32_t));
    return line;
}

static enum hoop_status
walk_next(void *owner, uint32_t stage, struct engine_collective *out_next)
{
    struct walk *walk = owner;

    if (stage == walk->killed_at)
        kill(getpid(), SIGKILL);
    if (stage == walk->refused_at)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for stage %u", stage);
    if (stage == 1)
        *out_next = row_of(walk);
    else if (stage == 2)
        *out_next = all_of(walk);
    return HOOP_OK;
}

static void
walk_destroy(void *owner)
{
    struct walk *walk = owner;

    walk->n_destroyed++;
}

static void
walk_set_out(struct walk *walk, struct rank *rank, int32_t value)
{
    memset(walk, 0, sizeof(*walk));
    walk->rank = rank;
    walk->n_columns = rank->size / 2;
    for (size_t i = 0; i < 2 * (size_t)BLOCK; i++)
        walk->from[i] = value + (int32_t)(i / BLOCK);
}

static enum hoop_status
walk_start(struct walk *walk, struct op **out_op)
{
    struct engine_collective line = column_of(walk);

    line.chain = (struct chain){
        .next = walk_next, .destroy = walk_destroy, .owner = walk};
    return engine_start_collective(walk->rank->comm->context, &line, out_op);
}

static enum hoop_status
walk_run(struct walk *walk)
{
    struct op *op = NULL;
    const enum hoop_status status = walk_start(walk, &op);

    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER) : status;
}

/* Row r received block r of row 0 from each column, and has summed it. */
static int
walk_check(const struct walk *walk, int32_t value)
{
    const struct rank *rank = walk->rank;

    RANK_CHECK(walk->n_destroyed == 1);
    for (uint32_t from = 0; from < rank->size; from++) {
        const uint32_t row = from / walk->n_columns;
        int32_t sum = 0;

        for (uint32_t column = 0; column < walk->n_columns; column++)
            sum += value + (int32_t)column + (int32_t)row;
        RANK_CHECK(walk->to[from * BLOCK] == sum);
        RANK_CHECK(walk->to[from * BLOCK + BLOCK - 1] == sum);
    }
    return 0;
}

static int
crossed_body(struct rank *rank)
{
    struct op *ops[N_WALKS];

    for (int32_t i = 0; i < N_WALKS; i++) {
        walk_set_out(&walks[i], rank, 100 * i + (int32_t)rank->rank);
        RANK_CHECK(walk_start(&walks[i], &ops[i]) == HOOP_OK);
    }
    for (int32_t i = 0; i < N_WALKS; i++) {
        const int32_t k = rank->rank % 2 == 0 ? i : N_WALKS - 1 - i;

        RANK_CHECK(engine_wait(ops[k], CLOCK_NEVER) == HOOP_OK);
        if (walk_check(&walks[k], 100 * k))
            return 1;
    }
    return 0;
}

static void
lines_move_what_their_members_have(void **state)
{
    for (uint32_t size = 2; size <= 8; size += 2)
        assert_int_equal(ranks_run_all(size, crossed_body), 0);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 6, .body = crossed_body, .is_checked = true}),
                     0);
}

/* Runs the body with and without the check of calls. */
static void
run_both(rank_fn *body, uint32_t timeout_ms)
{
    struct ranks_options options = {
        .size = 4, .body = body, .timeout_ms = timeout_ms};

    assert_int_equal(ranks_run(&options), 0);
    options.is_checked = true;
    assert_int_equal(ranks_run(&options), 0);
}

/* The other ranks wait in different stages and ask each other for the cause.
 * Rank 3 must be later than the time after which they ask. */
static int
late_body(struct rank *rank)
{
    const struct timespec late = {.tv_nsec = 250000000};

    walk_set_out(&walks[0], rank, (int32_t)rank->rank);
    if (rank->rank == 3)
        nanosleep(&late, NULL);
    RANK_CHECK(walk_run(&walks[0]) == HOOP_OK);
    return walk_check(&walks[0], 0);
}

static void
late_rank_is_waited_for(void **state)
{
    run_both(late_body, 0);
}

static int
absent_body(struct rank *rank)
{
    if (rank->rank == 3) {
        room_await(rank, 0, 3);
        return 0;
    }
    /* No other rank is late. */
    room_add(rank, 1);
    room_await(rank, 1, 3);
    walk_set_out(&walks[0], rank, 0);
    RANK_CHECK(walk_run(&walks[0]) == HOOP_E_TIMEOUT);
    RANK_CHECK(error_names(rank, 3));
    room_add(rank, 0);
    return 0;
}

static void
rank_that_does_not_come_is_named_by_all(void **state)
{
    /* This is long enough for the other ranks to call, also on a busy
     * machine. */
    run_both(absent_body, 1000);
}

static int
refused_body(struct rank *rank)
{
    walk_set_out(&walks[0], rank, (int32_t)rank->rank);
    walks[0].refused_at = rank->rank == 2 ? 1 : 0;
    RANK_CHECK(walk_run(&walks[0]) == HOOP_E_EXHAUSTED);
    RANK_CHECK(strstr(error_text(), "no memory for stage 1"));
    RANK_CHECK(walks[0].n_destroyed == 1);

    walk_set_out(&walks[0], rank, (int32_t)rank->rank);
    RANK_CHECK(walk_run(&walks[0]) == HOOP_OK);
    return walk_check(&walks[0], 0);
}

static void
stage_in_the_middle_that_fails_is_told_to_all(void **state)
{
    run_both(refused_body, 0);
}

static int
killed_body(struct rank *rank)
{
    walk_set_out(&walks[0], rank, 0);
    walks[0].killed_at = rank->rank == 1 ? 1 : 0;
    /* No other rank still sets itself up when one dies. */
    room_add(rank, 1);
    room_await(rank, 1, rank->size);
    RANK_CHECK(walk_run(&walks[0]) == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, 1));
    /* A rank that ends early must not be reported as lost, too. */
    room_add(rank, 0);
    room_await(rank, 0, 3);
    return 0;
}

static void
rank_killed_in_the_middle_is_named_by_all(void **state)
{
    run_both(killed_body, 0);
}

/* Rank 2 starts a different walk, which only the hash of its call shows. */
static int
other_body(struct rank *rank)
{
    walk_set_out(&walks[0], rank, (int32_t)rank->rank);
    walks[0].said = rank->rank == 2;
    RANK_CHECK(walk_run(&walks[0]) == HOOP_E_MISMATCH);
    RANK_CHECK(error_names(rank, 2));

    walk_set_out(&walks[0], rank, (int32_t)rank->rank);
    RANK_CHECK(walk_run(&walks[0]) == HOOP_OK);
    return walk_check(&walks[0], 0);
}

static void
rank_that_means_another_is_named_by_all(void **state)
{
    run_both(other_body, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_move_what_their_members_have),
        cmocka_unit_test(late_rank_is_waited_for),
        cmocka_unit_test(rank_that_does_not_come_is_named_by_all),
        cmocka_unit_test(stage_in_the_middle_that_fails_is_told_to_all),
        cmocka_unit_test(rank_killed_in_the_middle_is_named_by_all),
        cmocka_unit_test(rank_that_means_another_is_named_by_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
