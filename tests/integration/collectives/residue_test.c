/*
 * tests/integration/collectives/residue_test.c - 8-bit blocks make up for
 * losses
 *
 * engine/wire_loss.c adds what one step loses to the next. So the sum over many
 * steps differs from the exact one by the loss of one step, not of all. All
 * ranks have the same bits in each step, whatever the floats are.
 */

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/collectives/lossy_job.h"

enum {
/* The ranks are on three nodes, or on two, since TSan is slow. */
#if defined(__SANITIZE_THREAD__)
    COUNT = 2 * 4096 + 77,
    RANKS = 3,
#else
    COUNT = 5 * 4096 + 77,
    RANKS = 5,
#endif
    STEPS = 40,
};

static float floats[COUNT];
static float came[COUNT];
static double sums[COUNT];

/* One in 64 values is 1, so that the step is 2^-6, and the others are about a
 * fifth of the step. */
static float
value_of(uint32_t rank, size_t i)
{
    return i % LOSS_BLOCK == 0 ? 1
                               : 0x1p-6F * (0.2F + 0.01F * (float)(rank % 7));
}

static double
sum_of(uint32_t size, size_t i)
{
    double sum = 0;

    for (uint32_t rank = 0; rank < size; rank++)
        sum += (double)value_of(rank, i);
    return sum;
}

/* Returns the largest loss of one call: half a step for each contribution, and
 * for the sum. */
static double
loss_of_one(uint32_t size)
{
    return (size - 1) / 126.0 + size / 126.0;
}

/* Returns the largest difference between STEPS sums and the exact ones. */
static double
drift_of(struct rank *rank, double parts)
{
    double worst = 0;

    for (size_t i = 0; i < COUNT; i++)
        worst =
            fmax(worst, fabs(sums[i] - STEPS * sum_of(rank->size, i) / parts));
    return worst;
}

static int
sum_once(struct rank *rank, float *send, enum hoop_reduce_op op)
{
    for (size_t i = 0; i < COUNT; i++)
        send[i] = value_of(rank->rank, i);
    RANK_CHECK(hoop_allreduce(send, came, COUNT, HOOP_FLOAT32, op,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < COUNT; i++)
        sums[i] += (double)came[i];
    return lossy_job_require_alike(rank, came, COUNT * sizeof(*came));
}

static int
drift_once(struct rank *rank, enum hoop_reduce_op op)
{
    const double parts = op == HOOP_AVG ? rank->size : 1;

    memset(sums, 0, sizeof(sums));
    for (unsigned step = 0; step < STEPS; step++)
        if (sum_once(rank, floats, op) != 0)
            return 1;
    RANK_CHECK(drift_of(rank, parts) <= loss_of_one(rank->size) / parts * 1.01);
    return 0;
}

/* Does the same with different memory in each step, so that the loss
 * accumulates. */
static int
drift_without(struct rank *rank)
{
    float *many = malloc((COUNT + STEPS) * sizeof(*many));

    RANK_CHECK(many);
    memset(sums, 0, sizeof(sums));
    for (size_t step = 0; step < STEPS; step++)
        if (sum_once(rank, many + step, HOOP_SUM) != 0)
            return 1;
    free(many);
    RANK_CHECK(drift_of(rank, 1) > 5 * loss_of_one(rank->size));
    return 0;
}

static int
drift(struct rank *rank)
{
    const int result = lossy_job_begin(rank, LOSS_INT8) ||
                       drift_once(rank, HOOP_SUM) ||
                       drift_once(rank, HOOP_AVG) || drift_without(rank);

    lossy_job_end(rank);
    return result;
}

static void
sums_of_many_steps_are_off_by_one_loss(void **state)
{
    lossy_job_run(drift, NULL, "none", RANKS);
}

/* The ranks' contributions lose bits, but the result is not rounded. */
static int
scatter(struct rank *rank)
{
    const size_t n = COUNT / rank->size;
    const size_t first = n * rank->rank;

    if (lossy_job_begin(rank, LOSS_INT8) != 0)
        return 1;
    memset(sums, 0, sizeof(sums));
    for (unsigned step = 0; step < STEPS; step++) {
        for (size_t i = 0; i < COUNT; i++)
            floats[i] = value_of(rank->rank, i);
        /* The call is in place, so hoop cannot keep the loss in the program's
         * memory. */
        RANK_CHECK(hoop_reduce_scatter(HOOP_IN_PLACE, floats, n, HOOP_FLOAT32,
                                       HOOP_SUM, rank->comm) == HOOP_OK);
        for (size_t i = 0; i < n; i++)
            sums[i] += (double)floats[i];
    }
    for (size_t i = 0; i < n; i++)
        RANK_CHECK(fabs(sums[i] - STEPS * sum_of(rank->size, first + i)) <=
                   (rank->size - 1) / 126.0 * 1.01);
    lossy_job_end(rank);
    return 0;
}

static void
scattered_sums_of_many_steps_are_off_by_one_loss(void **state)
{
    lossy_job_run(scatter, NULL, "none", 3);
}

static int
sum_of_count(struct rank *rank, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        floats[i] = value_of(rank->rank, i);
    RANK_CHECK(hoop_allreduce(floats, out, count, HOOP_FLOAT32, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    return 0;
}

/* A call with other arguments begins without the losses of earlier ones. */
static int
change(struct rank *rank)
{
    static float first[COUNT];
    static float second[COUNT];

    if (lossy_job_begin(rank, LOSS_INT8) != 0 ||
        sum_of_count(rank, COUNT, first) != 0)
        return 1;
    /* After these steps the loss has grown to a whole step. */
    for (unsigned step = 1; step < 3; step++)
        if (sum_of_count(rank, COUNT, second) != 0)
            return 1;
    RANK_CHECK(memcmp(first, second, sizeof(first)) != 0);
    if (sum_of_count(rank, COUNT - 1, second) != 0 ||
        sum_of_count(rank, COUNT, second) != 0)
        return 1;
    RANK_CHECK(memcmp(first, second, sizeof(first)) == 0);
    lossy_job_end(rank);
    return 0;
}

static void
another_count_forgets_what_was_lost(void **state)
{
    lossy_job_run(change, NULL, "none", 2);
}

/* Two operations use one tensor at the same time. Packed tensors lie elsewhere
 * in each call. */
static int
several(struct rank *rank)
{
    static float other[COUNT];
    const struct hoop_piece pieces[] = {{floats, other, COUNT - 9},
                                        {floats, other + COUNT - 9, 9}};
    hoop_op_t *ops[2];

    if (lossy_job_begin(rank, LOSS_INT8) != 0)
        return 1;
    for (size_t i = 0; i < COUNT; i++)
        floats[i] = value_of(rank->rank, i);
    for (unsigned step = 0; step < 4; step++) {
        RANK_CHECK(hoop_allreduce_start(floats, came, COUNT, HOOP_FLOAT32,
                                        HOOP_SUM, rank->comm,
                                        &ops[0]) == HOOP_OK);
        RANK_CHECK(hoop_allreduce_start(floats, other, COUNT, HOOP_FLOAT32,
                                        HOOP_SUM, rank->comm,
                                        &ops[1]) == HOOP_OK);
        RANK_CHECK(hoop_wait(ops[0], HOOP_FOREVER) == HOOP_OK);
        RANK_CHECK(hoop_wait(ops[1], HOOP_FOREVER) == HOOP_OK);
        if (lossy_job_require_alike(rank, came, COUNT * sizeof(*came)) != 0 ||
            lossy_job_require_alike(rank, other, COUNT * sizeof(*other)) != 0)
            return 1;
    }
    memset(sums, 0, sizeof(sums));
    for (unsigned step = 0; step < STEPS; step++) {
        RANK_CHECK(hoop_allreduce_coalesced(pieces, COUNT_OF(pieces),
                                            HOOP_FLOAT32, HOOP_SUM,
                                            rank->comm) == HOOP_OK);
        for (size_t i = 0; i < COUNT - 9; i++)
            sums[i] += (double)other[i];
    }
    for (size_t i = 0; i < COUNT - 9; i++)
        RANK_CHECK(fabs(sums[i] - STEPS * sum_of(rank->size, i)) <=
                   loss_of_one(rank->size) * 1.01);
    lossy_job_end(rank);
    return 0;
}

static void
several_at_a_time_and_packed_ones_are_kept_apart(void **state)
{
    lossy_job_run(several, NULL, "planes", 3);
}

/* Each kind of block has one kind of extreme value in even steps. In odd steps
 * all values are plain numbers. */
static float
extreme_of(uint32_t rank, size_t i, unsigned step)
{
    static const float values[] = {NAN,         INFINITY, FLT_MAX / 16,
                                   FLT_MIN / 2, 0,        -FLT_MAX};
    const size_t kind = i / LOSS_BLOCK % 8;

    if (step % 2 == 1 || kind >= COUNT_OF(values) || i % 5 != rank % 5)
        return kind == 4 ? 0 : (float)(i % 7);
    return values[kind];
}

static int
extremes(struct rank *rank)
{
    if (lossy_job_begin(rank, LOSS_INT8) != 0)
        return 1;
    for (unsigned step = 0; step < 6; step++) {
        for (size_t i = 0; i < COUNT; i++)
            floats[i] = extreme_of(rank->rank, i, step);
        RANK_CHECK(hoop_allreduce(floats, came, COUNT, HOOP_FLOAT32, HOOP_SUM,
                                  rank->comm) == HOOP_OK);
        if (lossy_job_require_alike(rank, came, COUNT * sizeof(*came)) != 0)
            return 1;
        for (size_t i = 0; i < COUNT; i++) {
            const size_t kind = i / LOSS_BLOCK % 8;

            RANK_CHECK(step % 2 == 0 || isfinite(came[i]));
            /* A NaN arrives as a NaN on all ranks. */
            if (step % 2 == 0 && kind == 0 && i % 5 < rank->size)
                RANK_CHECK(isnan(came[i]));
            if (kind == 4)
                RANK_CHECK(came[i] == 0);
        }
    }
    lossy_job_end(rank);
    return 0;
}

static void
no_number_spoils_the_next_step(void **state)
{
    lossy_job_run(extremes, NULL, "none", 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_many_steps_are_off_by_one_loss),
        cmocka_unit_test(scattered_sums_of_many_steps_are_off_by_one_loss),
        cmocka_unit_test(another_count_forgets_what_was_lost),
        cmocka_unit_test(several_at_a_time_and_packed_ones_are_kept_apart),
        cmocka_unit_test(no_number_spoils_the_next_step),
    };

    /* The tests have their own tables, so they are skipped. */
    if (getenv("HOOP_TEST_TUNED"))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
