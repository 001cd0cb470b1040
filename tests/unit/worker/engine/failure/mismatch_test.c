/* tests/unit/worker/engine/failure/mismatch_test.c - engine/failure/mismatch.c */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "unit/worker/engine/engine_pair_fixture.h"

/* An allreduce of count values that says it were call. */
static enum hoop_status
run_as(struct side *side, struct call call, int32_t *values, size_t count)
{
    const struct engine_collective collective = {
        .call = call,
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = side->rank,
                  .size = 2,
                  .is_in_place = true,
                  .count = count,
                  .granule = 1},
        .input = values,
        .output = values,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    const enum hoop_status status =
        engine_start_collective(side->comms[0].context, &collective, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER) : status;
}

static bool
says(const char *phrase)
{
    return strstr(error_text(), phrase) != NULL;
}

static int
mismatch_of_operations_names_both(struct side *side)
{
    int32_t values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const struct call call = {
        .name = side->rank == 0 ? CALL_ALLREDUCE : CALL_ALLGATHER,
        .dtype = HOOP_INT32,
        .count = 8,
    };

    SIDE_CHECK(run_as(side, call, values, 8) == HOOP_E_MISMATCH);
    SIDE_CHECK(says("allreduce #1 (int32, 8 elements, sum)"));
    SIDE_CHECK(says("allgather #1 (int32, 8 elements)"));
    SIDE_CHECK(says("rank 0 (host:40)"));
    SIDE_CHECK(says("rank 1 (host:41)"));
    for (int32_t i = 0; i < 8; i++)
        SIDE_CHECK(values[i] == i + 1);
    return 0;
}

static int
mismatch_of_settings_names_them_and_both_ranks(struct side *side)
{
    int32_t values[4] = {0};
    const struct call call = {
        .name = CALL_AGREE,
        .dtype = HOOP_INT32,
        .root = side->rank == 1 ? CALL_SETTING_RETRIES : 0,
        .count = 4,
    };

    SIDE_CHECK(run_as(side, call, values, 4) == HOOP_E_MISMATCH);
    SIDE_CHECK(says("rank 1 (host:41) has HOOP_ON_FAILURE=retry, but rank 0 "
                    "(host:40) has error, in agreement on a communicator #1: "
                    "all ranks of a job must have the same"));
    return 0;
}

static int
mismatch_of_counts_of_one_sum_is_told_as_such(struct side *side)
{
    const size_t counts[2][2] = {{3, 5}, {5, 3}};
    int32_t values[8] = {0};
    const struct call call = {
        .name = CALL_ALLGATHERV,
        .dtype = HOOP_INT32,
        .count = 8,
        .counts = counts[side->rank],
        .n_counts = 2,
    };

    SIDE_CHECK(run_as(side, call, values, 8) == HOOP_E_MISMATCH);
    SIDE_CHECK(says("allgatherv #1 (int32, 8 elements) with other counts"));
    return 0;
}

/* The counts of alltoallv are a matter of two ranks alone. */
static int
misfit_of_one_message_names_both_lengths(struct side *side)
{
    int32_t values[40] = {7};
    const struct call call = {
        .name = CALL_ALLTOALLV,
        .dtype = HOOP_INT32,
        .count = side->rank,
    };

    SIDE_CHECK(run_as(side, call, values, 20 + 20 * side->rank) ==
               HOOP_E_MISMATCH);
    /* Whoever saw it first told the other: half of each buffer is sent. */
    SIDE_CHECK(says("rank 0 (host:40) expects 40 bytes of rank 1 (host:41) in "
                    "alltoallv #1 (int32), which sends 80") ||
               says("rank 1 (host:41) expects 80 bytes of rank 0 (host:40) in "
                    "alltoallv #1 (int32), which sends 40"));
    SIDE_CHECK(values[0] == 7);
    return 0;
}

/* Rank 1 has more elements than it is fit to say in 64 KiB, and rank 0 none:
 * its grants are compared, too. */
static int
misfit_of_a_large_message_is_found_too(struct side *side)
{
    static int32_t values[2][1 << 20];
    const size_t count = side->rank == 0 ? 1 << 19 : 1 << 20;
    const struct call call = {.name = CALL_ALLTOALLV, .dtype = HOOP_INT32};

    SIDE_CHECK(run_as(side, call, values[side->rank], count) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(says("1048576 bytes") || says("sends 1048576"));
    SIDE_CHECK(says("2097152 bytes") || says("sends 2097152"));
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_BACKGROUND_TEST(mismatch_of_operations_names_both),
        SIDES_BACKGROUND_TEST(mismatch_of_settings_names_them_and_both_ranks),
        SIDES_BACKGROUND_TEST(mismatch_of_counts_of_one_sum_is_told_as_such),
        SIDES_BACKGROUND_TEST(misfit_of_one_message_names_both_lengths),
        SIDES_BACKGROUND_TEST(misfit_of_a_large_message_is_found_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
