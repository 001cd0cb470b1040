/* tests/unit/tools/hooprun/outcome_test.c - hooprun/outcome.c */

#include <signal.h>
#include <sys/wait.h>

#include "check.h"
#include "hooprun/outcome.h"

static const struct ending good = {.rank = 1, .pid = 11};
static const struct ending exits_3 = {.rank = 2,
                                      .pid = 22,
                                      .wait_status = W_EXITCODE(3, 0)};
static const struct ending exits_1 = {.rank = 0,
                                      .pid = 10,
                                      .wait_status = W_EXITCODE(1, 0)};
static const struct ending killed = {.rank = 3,
                                     .pid = 33,
                                     .wait_status = W_EXITCODE(0, SIGKILL)};

static const struct ending given_up = {.rank = 4,
                                       .pid = 44,
                                       .reason = "met a bad block"};

static const struct ending stopped = {.rank = 1,
                                      .pid = 11,
                                      .wait_status = W_STOPCODE(SIGTSTP)};

static void
outcome_without_failure_is_zero(void **state)
{
    struct outcome outcome = {0};

    (void)state;
    outcome_note(&outcome, &good);
    assert_false(outcome.has_failed);
    assert_int_equal(outcome_exit_code(&outcome), 0);
}

static void
outcome_is_the_first_failures(void **state)
{
    struct outcome outcome = {0};

    (void)state;
    outcome_note(&outcome, &good);
    outcome_note(&outcome, &exits_3);
    outcome_note(&outcome, &exits_1);
    outcome_note(&outcome, &killed);
    assert_int_equal(outcome.first.rank, 2);
    assert_int_equal(outcome_exit_code(&outcome), 3);
}

/* Whatever comes behind it, and however soon: who ended first is first. */
static void
outcome_first_end_is_first_whatever_follows(void **state)
{
    struct outcome outcome = {0};

    (void)state;
    assert_false(outcome_note(&outcome, &good));
    assert_true(outcome_note(&outcome, &exits_1));
    assert_true(outcome_note(&outcome, &killed));
    assert_true(outcome_note(&outcome, &exits_3));
    assert_int_equal(outcome.first.rank, 0);
    assert_int_equal(outcome_exit_code(&outcome), 1);
}

/* Where the others go on, who ends well has outlived the failures so far. */
static void
outcome_of_survivors_is_that_of_the_last_that_count(void **state)
{
    struct outcome outcome = {.is_forgiving = true};

    (void)state;
    outcome_note(&outcome, &killed);
    assert_int_equal(outcome_exit_code(&outcome), 128 + SIGKILL);
    outcome_note(&outcome, &good);
    assert_int_equal(outcome_exit_code(&outcome), 0);
    outcome_note(&outcome, &exits_3);
    outcome_note(&outcome, &exits_1);
    assert_int_equal(outcome_exit_code(&outcome), 3);
}

static void
outcome_after_passed_signal_is_the_signals(void **state)
{
    struct outcome outcome = {.passed_signal = SIGINT};

    (void)state;
    outcome_note(&outcome, &good);
    assert_int_equal(outcome_exit_code(&outcome), 0);
    outcome_note(&outcome, &exits_1);
    assert_int_equal(outcome_exit_code(&outcome), 128 + SIGINT);
}

static void
outcome_after_timeout_is_124(void **state)
{
    struct outcome outcome = {.has_timed_out = true};

    (void)state;
    outcome_note(&outcome, &killed);
    assert_int_equal(outcome_exit_code(&outcome), 124);
}

static void
outcome_text_names_rank_pid_and_reason(void **state)
{
    char text[200];

    (void)state;
    outcome_describe(&killed, text, sizeof(text));
    assert_string_equal(text,
                        "rank 3 (pid 33) was killed by signal 9 (Killed)");
    outcome_describe(&exits_3, text, sizeof(text));
    assert_string_equal(text, "rank 2 (pid 22) exited with code 3");
    outcome_describe(&stopped, text, sizeof(text));
    assert_string_equal(text, "rank 1 (pid 11) is stopped (SIGTSTP)");
    outcome_describe(&given_up, text, sizeof(text));
    assert_string_equal(text, "rank 4 (pid 44) met a bad block");
}

static void
outcome_text_names_another_host(void **state)
{
    struct ending ending = {
        .rank = 4,
        .pid = 44,
        .wait_status = W_EXITCODE(3, 0),
        .host = "b",
    };
    char text[200];

    (void)state;
    outcome_describe(&ending, text, sizeof(text));
    assert_string_equal(text, "rank 4 (host b, pid 44) exited with code 3");
    ending.is_lost = true;
    outcome_describe(&ending, text, sizeof(text));
    assert_string_equal(text, "rank 4 (host b, pid 44) is lost with its host");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcome_without_failure_is_zero),
        cmocka_unit_test(outcome_text_names_another_host),
        cmocka_unit_test(outcome_is_the_first_failures),
        cmocka_unit_test(outcome_first_end_is_first_whatever_follows),
        cmocka_unit_test(outcome_of_survivors_is_that_of_the_last_that_count),
        cmocka_unit_test(outcome_after_passed_signal_is_the_signals),
        cmocka_unit_test(outcome_after_timeout_is_124),
        cmocka_unit_test(outcome_text_names_rank_pid_and_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
