/* tests/unit/tools/hooprun/outcome_test.c - hooprun/outcome.c and the files
 * beside it */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/alike.h"
#include "hooprun/ends.h"
#include "hooprun/exit_report.h"
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

    outcome_note(&outcome, &good);
    assert_false(outcome.has_failed);
    assert_int_equal(outcome_exit_code(&outcome), 0);
}

static void
outcome_is_the_first_failures(void **state)
{
    struct outcome outcome = {0};

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

    outcome_note(&outcome, &good);
    assert_int_equal(outcome_exit_code(&outcome), 0);
    outcome_note(&outcome, &exits_1);
    assert_int_equal(outcome_exit_code(&outcome), 128 + SIGINT);
}

static void
outcome_after_timeout_is_124(void **state)
{
    struct outcome outcome = {.has_timed_out = true};

    outcome_note(&outcome, &killed);
    assert_int_equal(outcome_exit_code(&outcome), 124);
}

static void
outcome_text_names_rank_pid_and_reason(void **state)
{
    char text[200];

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

/* What a rank said when it gave up, cut by the length of a report. */
static void
outcome_text_of_a_cut_reason_names_whom_it_waited_for(void **state)
{
    static const struct ending cut = {
        .rank = 0,
        .pid = 10,
        .reason = "raised Timeout: allreduce #1 (sum): rank 2 (vm:3195) timed "
                  "out after 25.3 s, waiting for rank 1 (vm:3194) to send (0 "
                  "of 4096 bytes; it has not called this); "};
    char text[400];
    uint32_t rank = 0;

    outcome_describe(&cut, text, sizeof(text));
    assert_string_equal(text + strlen(text) - 7, "d this)");
    assert_true(outcome_find_awaited(cut.reason, &rank));
    assert_int_equal(rank, 1);
    assert_false(outcome_find_awaited(given_up.reason, &rank));
    assert_false(outcome_find_awaited(
        "timed out, waiting for rank 1 (vm:3194) to send", &rank));
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

    outcome_describe(&ending, text, sizeof(text));
    assert_string_equal(text, "rank 4 (host b, pid 44) exited with code 3");
    ending.is_lost = true;
    outcome_describe(&ending, text, sizeof(text));
    assert_string_equal(text, "rank 4 (host b, pid 44) is lost with its host");
}

/* Who ended first is told first. */

enum {
    N_CHILDREN = 16,
};

static pid_t
child_start(void)
{
    const pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* It has ended, and is not reaped. */
static void
child_end(pid_t pid)
{
    siginfo_t ended = {0};

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
}

static void
ends_are_told_in_their_order(void **state)
{
    struct ends ends;
    pid_t pids[N_CHILDREN];

    ends_open(&ends);
    for (uint32_t i = 0; i < N_CHILDREN; i++) {
        pids[i] = child_start();
        ends_add(&ends, i, pids[i]);
    }
    assert_int_equal(ends_next(&ends), -1);
    /* Another order than that of their starts: 0, 5, 10, 15, 4, ... */
    for (uint32_t i = 0; i < N_CHILDREN; i++)
        child_end(pids[i * 5 % N_CHILDREN]);
    for (uint32_t i = 0; i < N_CHILDREN; i++)
        assert_int_equal(ends_next(&ends), i * 5 % N_CHILDREN);
    assert_int_equal(ends_next(&ends), -1);
    for (uint32_t i = 0; i < N_CHILDREN; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    ends_close(&ends);
}

static void
ends_without_a_descriptor_are_not_told(void **state)
{
    struct ends ends = {-1};

    ends_add(&ends, 0, getpid());
    assert_int_equal(ends_next(&ends), -1);
    ends_close(&ends);
}

/* These cases test hooprun/exit_report.c. */

static void
exit_report_tells_how_each_has_ended(void **state)
{
    const struct ending endings[] = {
        {.rank = 0, .pid = 11, .wait_status = W_EXITCODE(3, 0)},
        {.rank = 1, .pid = 22, .wait_status = W_EXITCODE(0, SIGKILL)},
        {.rank = 2, .wait_status = W_EXITCODE(0, SIGKILL), .host = "b"},
    };
    struct exit_report exit_report;
    char text[256] = "";

    exit_report_open(&exit_report);
    assert_true(exit_report.fd >= 0);
    exit_report_write(&exit_report, &endings[0]);
    exit_report_write(&exit_report, &endings[1]);
    exit_report_write(&exit_report, &endings[2]);
    FILE *file = fopen(exit_report.path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "11 exited with code 3\n"
                              "rank 0 ended (exit code 3)\n"
                              "22 killed by signal 9 (Killed)\n"
                              "rank 1 ended (killed by signal 9)\n"
                              "rank 2 ended (killed by signal 9)\n");
    exit_report_close(&exit_report);
    assert_null(fopen(exit_report.path, "r"));
}

static void
exit_report_that_is_none_is_not_written(void **state)
{
    struct exit_report exit_report = {.fd = -1};

    exit_report_write(&exit_report, &(struct ending){.pid = 1});
    exit_report_close(&exit_report);
    assert_int_equal(exit_report.fd, -1);
}

/* These cases test hooprun/alike.c. */

static bool
hides(struct alike *alike, const char *line)
{
    return alike_hides(alike, 0, line, strlen(line));
}

static void
lines_that_differ_in_numbers_are_counted_behind_the_first(void **state)
{
    struct alike alike = {0};
    struct alike_kind kind;
    char line[64];

    for (unsigned rank = 0; rank < 1024; rank++) {
        snprintf(line, sizeof(line), "rank %u (vm:%u) is lost", rank, 9 + rank);
        assert_int_equal(alike_hides(&alike, rank ^ 8, line, strlen(line)),
                         rank >= ALIKE_SHOWN);
    }
    assert_false(hides(&alike, "rank 3 (vm:12) has left"));
    assert_true(alike_next(&alike, &kind));
    assert_string_equal(kind.text, "rank 1023 (vm:1032) is lost");
    assert_int_equal(kind.n_hidden, 1024 - ALIKE_SHOWN);
    assert_int_equal(kind.lowest_rank, 0);
    assert_int_equal(kind.highest_rank, 1023);
    assert_false(alike_next(&alike, &kind));
    /* It is known still, and counted anew. */
    assert_true(alike_hides(&alike, 5, "rank 5 (vm:14) is lost", 22));
    assert_true(alike_next(&alike, &kind));
    assert_int_equal(kind.n_hidden, 1);
    assert_int_equal(kind.lowest_rank, 5);
    assert_int_equal(kind.highest_rank, 5);
    /* Lists of ranks are numbers, too. */
    assert_false(hides(&alike, "waiting for ranks 3, 5-7, 9"));
    assert_true(hides(&alike, "waiting for ranks 5-9"));
}

static void
kinds_without_end_hide_nothing_else(void **state)
{
    struct alike alike = {0};
    struct alike_kind kind;
    char line[300];

    for (unsigned i = 0; i <= ALIKE_SHOWN; i++)
        assert_int_equal(hides(&alike, "the same"), i == ALIKE_SHOWN);
    for (size_t n = 1; n < sizeof(line); n++) {
        memset(line, 'x', n);
        line[n] = '\0';
        assert_false(hides(&alike, line));
    }
    /* What nobody has been told is not forgotten. */
    assert_true(alike_next(&alike, &kind));
    assert_string_equal(kind.text, "the same");
}

static void
log_of_the_library_is_told_from_the_program_s(void **state)
{
    static const char log[] =
        "2026-11-26T02:43:34.816Z rank 1 warning late: recv waits";

    assert_true(alike_is_log(log, sizeof(log) - 1));
    assert_false(alike_is_log(log + 1, sizeof(log) - 2));
    assert_false(alike_is_log(log, 30));
    assert_false(alike_is_log("epoch 3: loss 0.25", 18));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcome_without_failure_is_zero),
        cmocka_unit_test(outcome_text_of_a_cut_reason_names_whom_it_waited_for),
        cmocka_unit_test(outcome_text_names_another_host),
        cmocka_unit_test(outcome_is_the_first_failures),
        cmocka_unit_test(outcome_first_end_is_first_whatever_follows),
        cmocka_unit_test(outcome_of_survivors_is_that_of_the_last_that_count),
        cmocka_unit_test(outcome_after_passed_signal_is_the_signals),
        cmocka_unit_test(outcome_after_timeout_is_124),
        cmocka_unit_test(outcome_text_names_rank_pid_and_reason),
        cmocka_unit_test(ends_are_told_in_their_order),
        cmocka_unit_test(ends_without_a_descriptor_are_not_told),
        cmocka_unit_test(exit_report_tells_how_each_has_ended),
        cmocka_unit_test(exit_report_that_is_none_is_not_written),
        cmocka_unit_test(
            lines_that_differ_in_numbers_are_counted_behind_the_first),
        cmocka_unit_test(kinds_without_end_hide_nothing_else),
        cmocka_unit_test(log_of_the_library_is_told_from_the_program_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
