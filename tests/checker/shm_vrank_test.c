/* tests/checker/shm_vrank_test.c - checker/shm_vrank.c */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "check.h"
#include "checker/checker.h"
#include "checker/shm_vrank.h"

/* What the only rank's only round has, by the test. */
static struct plan_step steps[3];
static size_t n_steps;

static uint32_t
one_round(const struct plan_shape *shape)
{
    return 1;
}

static void
given_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    for (size_t i = 0; i < n_steps && shape->rank == 0; i++)
        plan_add_step(plan, &steps[i]);
}

static const struct algorithm given = {
    .name = "given",
    .n_rounds = one_round,
    .plan_round = given_round,
    .is_shm = true,
};

/* A slot of four elements, buffers of six. */
static void
expect_refused(size_t n, const char *why)
{
    const struct checker_case scenario = {
        .algorithm = &given,
        .goal = CHECKER_ALLREDUCE,
        .shape = {.size = 2, .count = 6, .granule = 1, .slot_capacity = 4},
        .n_schedules = 1,
    };

    n_steps = n;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    if (!strstr(error_text(), why))
        fail_msg("%s, not: %s", error_text(), why);
}

static void
shm_vrank_steps_that_cannot_be_are_refused(void **state)
{
    steps[0] = (struct plan_step){.kind = PLAN_POST_TO_SLOT,
                                  .from = {PLAN_INPUT, 2, 5}};
    expect_refused(1, "reads beyond its buffer");
    steps[0].from.first = 1;
    expect_refused(1, "more than the slot holds");
    steps[0] = (struct plan_step){.kind = PLAN_COPY,
                                  .from = {PLAN_INPUT, 0, 3},
                                  .to = {PLAN_OUTPUT, 4, 3}};
    expect_refused(1, "writes beyond its buffer");
    steps[0].to.first = 0;
    steps[1] = steps[0];
    expect_refused(2, "stands there twice");
    steps[0].from.count = 2;
    expect_refused(1, "different sizes");
    steps[0] = (struct plan_step){.kind = PLAN_COPY,
                                  .from = {PLAN_OUTPUT, 0, 3},
                                  .to = {PLAN_OUTPUT, 2, 3}};
    expect_refused(1, "reads what it writes");
    steps[0] = (struct plan_step){.kind = PLAN_SEND, .from = {.count = 1}};
    expect_refused(1, "is a message");
}

static void
shm_vrank_post_behind_other_steps_is_refused(void **state)
{
    steps[0] = (struct plan_step){.kind = PLAN_COPY,
                                  .from = {PLAN_INPUT, 0, 3},
                                  .to = {PLAN_OUTPUT, 0, 3}};
    steps[1] = (struct plan_step){.kind = PLAN_POST_TO_SLOT,
                                  .from = {PLAN_INPUT, 0, 1}};
    expect_refused(2, "posts behind");
}

static void
shm_vrank_fetch_of_what_is_not_posted_is_refused(void **state)
{
    steps[0] = (struct plan_step){.kind = PLAN_FETCH,
                                  .peer = 1,
                                  .from = {.count = 1},
                                  .to = {PLAN_OUTPUT, 0, 1}};
    expect_refused(1, "fetches what nobody posted");
    steps[0].peer = 2;
    expect_refused(1, "names a peer that there is not");
}

static void
shm_vrank_fetch_of_the_same_again_is_refused(void **state)
{
    steps[0] = (struct plan_step){.kind = PLAN_POST_TO_SLOT,
                                  .from = {PLAN_INPUT, 0, 1}};
    steps[1] = (struct plan_step){
        .kind = PLAN_FETCH, .from = {.count = 1}, .to = {PLAN_OUTPUT, 0, 1}};
    steps[2] = steps[1];
    steps[2].to.first = 1;
    expect_refused(3, "fetches something again");
}

static void
shm_vrank_post_that_nobody_fetches_is_refused(void **state)
{
    steps[0] = (struct plan_step){.kind = PLAN_POST_TO_SLOT,
                                  .from = {PLAN_INPUT, 0, 1}};
    expect_refused(1, "fetched by nobody");
}

static const struct checker_case sum = {
    .algorithm = &algorithm_allreduce_flat,
    .goal = CHECKER_ALLREDUCE,
    .shape = {.size = 3, .count = 9, .granule = 1, .slot_capacity = 4},
    .n_schedules = 4,
};

static void
checker_shm_run_right_plan_is_proved(void **state)
{
    assert_ok(checker_shm_run_verify_algorithm(&sum));
}

static uint32_t
rounds_by_rank(const struct plan_shape *shape)
{
    return algorithm_allreduce_flat.n_rounds(shape) - shape->rank / 2;
}

static void
checker_shm_run_ranks_with_unequal_rounds_are_refused(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_flat;
    struct checker_case scenario = sum;

    algorithm.n_rounds = rounds_by_rank;
    scenario.algorithm = &algorithm;
    assert_int_equal(checker_shm_run_verify_algorithm(&scenario),
                     HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "rank 2 has 2 rounds"));
}

/* The last rank brings itself in first. */
static void
other_brackets(struct plan *plan,
               const struct plan_shape *shape,
               uint32_t round)
{
    algorithm_allreduce_flat.plan_round(plan, shape, round);
    if (shape->rank == 0) {
        const struct plan_step step = plan->steps[2];

        plan->steps[2] = plan->steps[3];
        plan->steps[3] = step;
        plan->steps[2].is_final = false;
        plan->steps[3].is_final = true;
    }
}

static void
checker_shm_run_other_brackets_on_one_rank_are_found(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_flat;
    struct checker_case scenario = sum;

    algorithm.plan_round = other_brackets;
    scenario.algorithm = &algorithm;
    assert_ok(checker_shm_run_verify_algorithm(&scenario));
    scenario.arithmetic = ARITHMETIC_HASH;
    assert_int_equal(checker_shm_run_verify_algorithm(&scenario),
                     HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "otherwise"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shm_vrank_steps_that_cannot_be_are_refused),
        cmocka_unit_test(shm_vrank_post_behind_other_steps_is_refused),
        cmocka_unit_test(shm_vrank_fetch_of_what_is_not_posted_is_refused),
        cmocka_unit_test(shm_vrank_fetch_of_the_same_again_is_refused),
        cmocka_unit_test(shm_vrank_post_that_nobody_fetches_is_refused),
        cmocka_unit_test(checker_shm_run_right_plan_is_proved),
        cmocka_unit_test(checker_shm_run_ranks_with_unequal_rounds_are_refused),
        cmocka_unit_test(checker_shm_run_other_brackets_on_one_rank_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
