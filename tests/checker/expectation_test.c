/* tests/checker/expectation_test.c - checker/expectation.c */

#include "algorithms/algorithms.h"
#include "check.h"
#include "checker/expectation.h"

static const struct checker_case gather = {
    .algorithm = &algorithm_allgather_ring,
    .goal = CHECKER_ALLGATHER,
    .shape = {.size = 3, .count = 2, .granule = 1},
    .n_schedules = 3,
};

static void
expectation_size_is_what_each_rank_has(void **state)
{
    struct checker_case scenario = gather;

    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_INPUT), 4);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_OUTPUT), 12);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_SCRATCH), 0);
    scenario.shape.is_in_place = true;
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_INPUT), 0);
    scenario.shape.is_in_place = false;
    scenario.goal = CHECKER_REDUCE;
    assert_int_equal(expectation_buffer_bytes(&scenario, 0, PLAN_OUTPUT), 4);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_OUTPUT), 0);
    scenario.goal = CHECKER_REDUCE_SCATTER;
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_INPUT), 12);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_OUTPUT), 4);
}

static void
expectation_check_gathered_blocks_are_right(void **state)
{
    uint64_t input[4];
    uint64_t output[12];

    for (uint32_t rank = 0; rank < 3; rank++) {
        expectation_fill_buffer(&gather, rank, PLAN_INPUT, input);
        for (size_t i = 0; i < 4; i++)
            output[rank * 4 + i] = input[i];
    }
    assert_ok(expectation_check_content(&gather, 2, PLAN_OUTPUT, output));
    output[7]++;
    assert_int_equal(expectation_check_content(&gather, 2, PLAN_OUTPUT, output),
                     HOOP_E_INTERNAL);
}

static void
expectation_gather_only_the_root_receives(void **state)
{
    struct checker_case scenario = gather;
    uint64_t own[4];
    uint64_t output[12];

    scenario.goal = CHECKER_GATHER;
    scenario.shape.root = 1;
    assert_int_equal(expectation_buffer_bytes(&scenario, 0, PLAN_OUTPUT), 0);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_OUTPUT), 12);
    scenario.shape.is_in_place = true;
    assert_int_equal(expectation_buffer_bytes(&scenario, 0, PLAN_OUTPUT), 4);
    expectation_fill_buffer(&scenario, 1, PLAN_OUTPUT, output);
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        expectation_fill_buffer(&scenario, rank, PLAN_OUTPUT, own);
        assert_ok(expectation_check_content(&scenario, rank, PLAN_OUTPUT, own));
        for (size_t i = 0; i < 4; i++)
            output[rank * 4 + i] = own[i];
    }
    assert_ok(expectation_check_content(&scenario, 1, PLAN_OUTPUT, output));
    output[4]++;
    assert_int_equal(
        expectation_check_content(&scenario, 1, PLAN_OUTPUT, output),
        HOOP_E_INTERNAL);
}

static void
expectation_scatter_root_keeps_all_in_place(void **state)
{
    struct checker_case scenario = gather;
    uint64_t all[12];

    scenario.goal = CHECKER_SCATTER;
    scenario.shape.root = 1;
    assert_int_equal(expectation_buffer_bytes(&scenario, 0, PLAN_INPUT), 0);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_INPUT), 12);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_OUTPUT), 4);
    expectation_fill_buffer(&scenario, 1, PLAN_INPUT, all);
    assert_ok(expectation_check_content(&scenario, 2, PLAN_OUTPUT, all + 8));
    assert_int_equal(
        expectation_check_content(&scenario, 2, PLAN_OUTPUT, all + 4),
        HOOP_E_INTERNAL);
    scenario.shape.is_in_place = true;
    expectation_fill_buffer(&scenario, 1, PLAN_OUTPUT, all);
    assert_ok(expectation_check_content(&scenario, 1, PLAN_OUTPUT, all));
    assert_ok(expectation_check_content(&scenario, 0, PLAN_OUTPUT, all));
}

static void
expectation_check_sum_holds_each_rank_once(void **state)
{
    struct checker_case scenario = gather;
    uint64_t input[4];
    uint64_t sum[4] = {0};
    uint64_t final[4];

    scenario.goal = CHECKER_ALLREDUCE;
    for (uint32_t rank = 0; rank < 3; rank++) {
        expectation_fill_buffer(&scenario, rank, PLAN_INPUT, input);
        for (size_t i = 0; i < 4; i++)
            sum[i] += input[i];
    }
    for (size_t i = 0; i < 4; i++)
        final[i] = expectation_mark_final(sum[i]);
    assert_ok(expectation_check_content(&scenario, 0, PLAN_OUTPUT, final));
    assert_int_equal(expectation_check_content(&scenario, 0, PLAN_OUTPUT, sum),
                     HOOP_E_INTERNAL);
    final[3] = expectation_mark_final(sum[3] + input[3]);
    assert_int_equal(
        expectation_check_content(&scenario, 0, PLAN_OUTPUT, final),
        HOOP_E_INTERNAL);
}

static void
expectation_check_input_must_survive(void **state)
{
    uint64_t input[4];

    expectation_fill_buffer(&gather, 1, PLAN_INPUT, input);
    assert_ok(expectation_check_content(&gather, 1, PLAN_INPUT, input));
    input[0] = 0;
    assert_int_equal(expectation_check_content(&gather, 1, PLAN_INPUT, input),
                     HOOP_E_INTERNAL);
}

/* Rank 1 of two takes one element from rank 0, its second, and has one for
 * itself, its third. */
static void
expectation_check_exchanged_blocks_are_packed(void **state)
{
    static const size_t to_each[] = {1, 1, 2, 1};
    static const size_t from_each[] = {1, 2, 1, 1};
    const struct checker_case scenario = {
        .algorithm = &algorithm_alltoall_pairwise,
        .goal = CHECKER_ALLTOALL,
        .shape = {.size = 2, .granule = 1, .is_in_place = true},
        .to_each = to_each,
        .from_each = from_each,
    };
    uint64_t sent[6];
    uint64_t output[6];

    assert_int_equal(expectation_buffer_bytes(&scenario, 0, PLAN_OUTPUT), 6);
    assert_int_equal(expectation_buffer_bytes(&scenario, 1, PLAN_OUTPUT), 6);
    expectation_fill_buffer(&scenario, 0, PLAN_OUTPUT, sent);
    expectation_fill_buffer(&scenario, 1, PLAN_OUTPUT, output);
    output[0] = sent[2];
    output[1] = sent[3];
    output[2] = output[4];
    output[3] = output[5];
    output[4] = 0; /* behind what came: anything */
    assert_ok(expectation_check_content(&scenario, 1, PLAN_OUTPUT, output));
    output[2] = sent[4];
    assert_int_equal(
        expectation_check_content(&scenario, 1, PLAN_OUTPUT, output),
        HOOP_E_INTERNAL);
}

static void
expectation_check_scan_holds_the_ranks_before(void **state)
{
    struct checker_case scenario = gather;
    uint64_t sum[4] = {0};
    uint64_t input[4];

    for (uint32_t rank = 0; rank < 2; rank++) {
        expectation_fill_buffer(&gather, rank, PLAN_INPUT, input);
        for (size_t i = 0; i < 4; i++)
            sum[i] += input[i];
    }
    scenario.goal = CHECKER_SCAN;
    assert_ok(expectation_check_content(&scenario, 1, PLAN_OUTPUT, sum));
    assert_int_equal(expectation_check_content(&scenario, 2, PLAN_OUTPUT, sum),
                     HOOP_E_INTERNAL);
    scenario.goal = CHECKER_EXSCAN;
    assert_ok(expectation_check_content(&scenario, 2, PLAN_OUTPUT, sum));
    assert_int_equal(expectation_check_content(&scenario, 0, PLAN_OUTPUT, sum),
                     HOOP_E_INTERNAL);
    expectation_fill_buffer(&scenario, 0, PLAN_OUTPUT, sum);
    assert_ok(expectation_check_content(&scenario, 0, PLAN_OUTPUT, sum));
}

static const uint64_t a = UINT64_C(0x0123456789abcdef);
static const uint64_t b = UINT64_C(0xfedcba9876543210);
static const uint64_t c = UINT64_C(0x9e3779b97f4a7c15);

/* Left to right, and right to left. */
static void
combine_three(enum arithmetic arithmetic, uint64_t out[2])
{
    out[0] =
        arithmetic_combine(arithmetic, arithmetic_combine(arithmetic, a, b), c);
    out[1] =
        arithmetic_combine(arithmetic, a, arithmetic_combine(arithmetic, b, c));
}

static void
arithmetic_sum_knows_no_order(void **state)
{
    uint64_t three[2];

    combine_three(ARITHMETIC_SUM, three);
    assert_true(three[0] == three[1]);
    assert_true(arithmetic_combine(ARITHMETIC_SUM, a, b) ==
                arithmetic_combine(ARITHMETIC_SUM, b, a));
}

static void
arithmetic_compose_knows_left_from_right_only(void **state)
{
    uint64_t three[2];

    combine_three(ARITHMETIC_COMPOSE, three);
    assert_true(three[0] == three[1]);
    assert_true(arithmetic_combine(ARITHMETIC_COMPOSE, a, b) !=
                arithmetic_combine(ARITHMETIC_COMPOSE, b, a));
}

static void
arithmetic_hash_knows_brackets(void **state)
{
    uint64_t three[2];

    combine_three(ARITHMETIC_HASH, three);
    assert_true(three[0] != three[1]);
    assert_true(arithmetic_combine(ARITHMETIC_HASH, a, b) !=
                arithmetic_combine(ARITHMETIC_HASH, b, a));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expectation_size_is_what_each_rank_has),
        cmocka_unit_test(expectation_check_gathered_blocks_are_right),
        cmocka_unit_test(expectation_gather_only_the_root_receives),
        cmocka_unit_test(expectation_scatter_root_keeps_all_in_place),
        cmocka_unit_test(expectation_check_sum_holds_each_rank_once),
        cmocka_unit_test(expectation_check_input_must_survive),
        cmocka_unit_test(expectation_check_exchanged_blocks_are_packed),
        cmocka_unit_test(expectation_check_scan_holds_the_ranks_before),
        cmocka_unit_test(arithmetic_sum_knows_no_order),
        cmocka_unit_test(arithmetic_compose_knows_left_from_right_only),
        cmocka_unit_test(arithmetic_hash_knows_brackets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
