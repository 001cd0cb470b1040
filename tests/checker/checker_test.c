/* tests/checker/checker_test.c - checker/checker.c */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "check.h"
#include "checker/checker.h"

static const struct checker_case gather = {
    .algorithm = &algorithm_allgather_ring,
    .goal = CHECKER_ALLGATHER,
    .shape = {.size = 3, .count = 2, .granule = 1},
    .n_schedules = 3,
};

static void
checker_verify_right_algorithm_is_ok(void **state)
{
    assert_ok(checker_verify_algorithm(&gather));
}

static void
checker_verify_algorithm_for_another_goal_is_refused(void **state)
{
    struct checker_case scenario = gather;

    scenario.goal = CHECKER_ALLREDUCE;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "leaves its buffer"));
}

static void
checker_verify_no_steps_at_all_is_refused(void **state)
{
    struct checker_case scenario = gather;

    scenario.algorithm = &algorithm_barrier_dissemination;
    scenario.goal = CHECKER_BROADCAST;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "wrong at the end"));
}

/* One round, in which every rank has these steps. */
static const struct plan_step *script;
static size_t script_steps;

static uint32_t
script_n_rounds(const struct plan_shape *shape)
{
    return 1;
}

static void
script_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    for (size_t i = 0; i < script_steps; i++) {
        struct plan_step step = script[i];

        if (step.kind != PLAN_COPY && step.kind != PLAN_COMBINE)
            step.peer = (shape->rank + step.peer) % shape->size;
        plan_add_step(plan, &step);
    }
}

static const struct algorithm algorithm_script = {
    .name = "script",
    .n_rounds = script_n_rounds,
    .plan_round = script_plan_round,
};

static void
script_is_refused(const struct plan_step *steps, size_t n, const char *text)
{
    struct checker_case scenario = gather;
    struct checker_messages checker_messages = {0};

    scenario.algorithm = &algorithm_script;
    script = steps;
    script_steps = n;
    assert_int_equal(checker_messages_build(&checker_messages, &scenario),
                     HOOP_E_INTERNAL);
    if (!strstr(error_text(), text))
        fail_msg("'%s' does not say '%s'", error_text(), text);
    checker_messages_deinit(&checker_messages);
}

static void
checker_messages_build_lists_messages_and_finds_them(void **state)
{
    const struct plan_step step = {.kind = PLAN_STORE, .peer = 2, .message = 1};
    struct checker_messages checker_messages = {0};

    assert_ok(checker_messages_build(&checker_messages, &gather));
    assert_int_equal(checker_messages.sends.n_messages, 6);

    const struct checker_message *message =
        checker_messages_find(&checker_messages, 0, &step);

    assert_non_null(message);
    assert_int_equal(message->source, 2);
    assert_int_equal(message->target, 0);
    assert_int_equal(message->number, 1);
    assert_int_equal(message->n_bytes, 4);
    assert_null(checker_messages_find(&checker_messages, 0,
                                      &(struct plan_step){.kind = PLAN_COPY}));
    checker_messages_deinit(&checker_messages);
}

static void
checker_messages_build_message_without_other_end_is_refused(void **state)
{
    const struct plan_step send[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 0, 2}}};
    const struct plan_step store[] = {
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 0, 2}}};

    script_is_refused(send, 1, "sent but not taken");
    script_is_refused(store, 1, "taken but not sent");
}

static void
checker_messages_build_message_of_two_sizes_is_refused(void **state)
{
    const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 0, 2}},
        {.kind = PLAN_STORE, .peer = 2, .to = {PLAN_OUTPUT, 0, 1}}};

    script_is_refused(steps, 2, "another size");
}

static void
checker_messages_build_message_twice_is_refused(void **state)
{
    const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 0, 1}},
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 1, 1}}};

    script_is_refused(steps, 2, "sent twice");
}

static void
checker_messages_build_message_to_itself_is_refused(void **state)
{
    const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 0, .from = {PLAN_INPUT, 0, 1}}};

    script_is_refused(steps, 1, "no peer");
}

static void
checker_messages_build_conflict_in_a_round_is_refused(void **state)
{
    const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_OUTPUT, 0, 2}},
        {.kind = PLAN_STORE, .peer = 2, .to = {PLAN_OUTPUT, 1, 2}}};

    script_is_refused(steps, 2, "same elements");
}

static void
checker_messages_build_unsound_spans_are_refused(void **state)
{
    const struct plan_step half[] = {{.kind = PLAN_COPY,
                                      .from = {PLAN_OUTPUT, 0, 2},
                                      .to = {PLAN_OUTPUT, 1, 2}}};
    const struct plan_step sizes[] = {{.kind = PLAN_REDUCE,
                                       .peer = 1,
                                       .from = {PLAN_INPUT, 0, 1},
                                       .to = {PLAN_OUTPUT, 0, 2}}};
    const struct plan_step outside[] = {
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 5, 2}}};

    script_is_refused(half, 1, "overlap");
    script_is_refused(sizes, 1, "differ in size");
    script_is_refused(outside, 1, "leaves its buffer");
}

static const struct checker_case sum = {
    .algorithm = &algorithm_allreduce_ring,
    .goal = CHECKER_ALLREDUCE,
    .shape = {.size = 4, .count = 9, .granule = 2, .is_in_place = true},
};

static void
checker_run_run_any_buffer_and_seed_ends_right(void **state)
{
    struct checker_run *checker_run = NULL;
    struct checker_messages checker_messages = {0};

    assert_ok(checker_messages_build(&checker_messages, &sum));
    assert_ok(checker_run_create(&sum, &checker_messages, &checker_run));
    for (uint64_t seed = 0; seed < 100; seed++) {
        assert_ok(checker_run_one_schedule(checker_run, 0, seed));
        assert_ok(checker_run_one_schedule(checker_run, 1, seed));
        assert_ok(checker_run_one_schedule(checker_run, UINT64_MAX, seed));
    }
    checker_run_destroy(checker_run);
    checker_messages_deinit(&checker_messages);
}

static void
checker_run_destroy_null_is_fine(void **state)
{
    checker_run_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_verify_right_algorithm_is_ok),
        cmocka_unit_test(checker_verify_algorithm_for_another_goal_is_refused),
        cmocka_unit_test(checker_verify_no_steps_at_all_is_refused),
        cmocka_unit_test(checker_messages_build_lists_messages_and_finds_them),
        cmocka_unit_test(
            checker_messages_build_message_without_other_end_is_refused),
        cmocka_unit_test(
            checker_messages_build_message_of_two_sizes_is_refused),
        cmocka_unit_test(checker_messages_build_message_twice_is_refused),
        cmocka_unit_test(checker_messages_build_message_to_itself_is_refused),
        cmocka_unit_test(checker_messages_build_conflict_in_a_round_is_refused),
        cmocka_unit_test(checker_messages_build_unsound_spans_are_refused),
        cmocka_unit_test(checker_run_run_any_buffer_and_seed_ends_right),
        cmocka_unit_test(checker_run_destroy_null_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
