/* tests/unit/common/fault/fault_test.c - fault/fault.c */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "fault/fault.h"

static const struct fault_event frame_event = {.point = FAULT_AT_SEND,
                                               .peer = 0,
                                               .round = 1,
                                               .is_frame = true};

static bool
knows(const char *name)
{
    return strcmp(name, "barrier") == 0 || strcmp(name, "allreduce") == 0;
}

static struct faults *
faults_of(const char *text, uint32_t rank)
{
    struct faults *faults = NULL;

    assert_ok(faults_parse(text, rank, knows, &faults));
    return faults;
}

static void
nothing_asked_for_is_no_faults(void **state)
{
    assert_null(faults_of(NULL, 0));
    assert_null(faults_of("", 0));
    assert_null(faults_of("rank=1,do=kill", 0));
    faults_destroy(NULL);
}

static void
rules_of_others_are_left_out(void **state)
{
    struct faults *faults =
        faults_of("rank=0,op=barrier,do=drop;rank=1,do=kill;op=allreduce,"
                  "do=reset",
                  0);

    assert_int_equal(faults_begin(faults, "barrier"), 1);
    assert_int_equal(faults_begin(faults, "allreduce"), 2);
    assert_int_equal(faults_trigger(faults, 2, &frame_event).action,
                     FAULT_RESET);
    assert_int_equal(faults_trigger(faults, 2, &frame_event).action,
                     FAULT_NOTHING);
    assert_true(faults_are_due(faults, 1, &frame_event));
    assert_int_equal(faults_trigger(faults, 1, &frame_event).action,
                     FAULT_DROP);
    assert_false(faults_are_due(faults, 3, &frame_event));
    assert_int_equal(faults_begin(faults, "barrier"), 0);
    faults_destroy(faults);
}

/* Each knows only of itself what there is to be done. */
static void
rules_of_the_coordinator_are_its_own(void **state)
{
    static const char text[] = "rank=coordinator,op=dance,do=kill;"
                               "op=barrier,do=drop";
    struct faults *faults = faults_of(text, 0);

    assert_int_equal(faults_begin(faults, "dance"), 0);
    assert_int_equal(faults_begin(faults, "barrier"), 1);
    faults_destroy(faults);
    faults = faults_of("op=dance,do=kill;rank=coordinator,op=barrier,do=drop",
                       FAULT_COORDINATOR);
    assert_int_equal(faults_begin(faults, "barrier"), 1);
    assert_int_equal(faults_begin(faults, "dance"), 0);
    faults_destroy(faults);
    faults = NULL;
    assert_int_equal(faults_parse(text, FAULT_COORDINATOR, knows, &faults),
                     HOOP_E_INVALID);
    assert_null(faults_of("do=kill;rank=3,do=kill", FAULT_COORDINATOR));
}

/* Second and third failures: what is due later is not lost by the first. */
static void
two_that_are_due_strike_one_after_the_other(void **state)
{
    struct faults *faults = faults_of("do=drop;do=corrupt:9", 3);

    assert_int_equal(faults_begin(faults, "barrier"), 3);
    assert_int_equal(faults_trigger(faults, 3, &frame_event).action,
                     FAULT_DROP);
    const struct fault_effect effect = faults_trigger(faults, 3, &frame_event);
    assert_int_equal(effect.action, FAULT_CORRUPT);
    assert_int_equal(effect.amount, 9);
    faults_destroy(faults);
}

static void
wrong_rule_is_refused_with_its_number(void **state)
{
    struct faults *faults = NULL;

    assert_int_equal(faults_parse("do=kill;do=fly", 0, knows, &faults),
                     HOOP_E_INVALID);
    assert_non_null(
        strstr(error_text(), "HOOP_DEBUG_FAULT, rule 2: 'fly' is no"));
    assert_int_equal(faults_parse("do=kill;", 0, knows, &faults),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "rule 2: '' is no pair"));
    /* Also where it is another rank's. */
    assert_int_equal(faults_parse("rank=4,op=dance,do=kill", 0, knows, &faults),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "there is no operation 'dance'"));
    assert_null(faults);
}

static void
more_rules_than_the_limit_are_refused(void **state)
{
    char text[LIMIT_FAULTS * 8 + 16] = "do=kill";
    struct faults *faults = NULL;

    for (int i = 1; i < LIMIT_FAULTS; i++)
        strcat(text, ";do=kill");
    faults_destroy(faults_of(text, 0));
    strcat(text, ";do=kill");
    assert_int_equal(faults_parse(text, 0, knows, &faults), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "32 for one rank"));
}

static void
environment_is_read_where_faults_are_built(void **state)
{
    struct faults *faults = NULL;

    unsetenv("HOOP_DEBUG_FAULT");
    assert_ok(faults_create(NULL, 0, knows, &faults));
    assert_null(faults);
    setenv("HOOP_DEBUG_FAULT", "do=kill", 1);
    assert_int_equal(faults_create(NULL, 0, knows, &faults),
                     FAULT_IS_BUILT ? HOOP_OK : HOOP_E_INVALID);
    if (FAULT_IS_BUILT)
        assert_non_null(faults);
    else
        assert_non_null(strstr(error_text(), "-Dfaults=enabled"));
    faults_destroy(faults);
    unsetenv("HOOP_DEBUG_FAULT");
    setenv("HOOP_FAULT", "do=kill", 1);
    assert_int_equal(faults_create(NULL, 0, knows, &faults), HOOP_E_INVALID);
    assert_string_equal(error_text(),
                        "HOOP_FAULT is named HOOP_DEBUG_FAULT now");
    unsetenv("HOOP_FAULT");
}

/* How a child ends, or stops, that begins an operation. */
static int
fate_of(const char *text)
{
    int how = 0;
    const pid_t child = fork();

    if (child == 0) {
        faults_begin(faults_of(text, 0), "barrier");
        _exit(7);
    }
    assert_int_equal(waitpid(child, &how, WUNTRACED), child);
    if (WIFSTOPPED(how)) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return how;
}

static void
process_ends_as_it_is_told(void **state)
{
    int how = fate_of("do=kill");
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    how = fate_of("do=stop");
    assert_true(WIFSTOPPED(how) && WSTOPSIG(how) == SIGSTOP);
    how = fate_of("do=exit:3");
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 3);
    how = fate_of("seq=2,do=kill");
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 7);
}

/* Whichever stands first, and whether or not its delay is 0. */
static void
jitter_leaves_other_rules_what_they_are(void **state)
{
    static const char *const texts[] = {"do=jitter:%d;do=exit:9",
                                        "do=exit:9;do=jitter:%d",
                                        "do=jitter:%d;seq=1,at=end,do=kill"};
    static const char *const tampers[] = {"do=jitter:%d;do=drop",
                                          "do=drop;do=jitter:%d"};
    char text[64];

    for (int seed = 1; seed <= 4; seed++) {
        for (unsigned i = 0; i < 3; i++) {
            snprintf(text, sizeof(text), texts[i], seed);
            const int how = fate_of(text);
            assert_true(WIFEXITED(how) && WEXITSTATUS(how) == (i < 2 ? 9 : 7));
        }
        for (unsigned i = 0; i < 2; i++) {
            snprintf(text, sizeof(text), tampers[i], seed);
            struct faults *faults = faults_of(text, 0);
            assert_int_equal(faults_begin(faults, "barrier"), 3);
            assert_int_equal(faults_trigger(faults, 3, &frame_event).action,
                             FAULT_DROP);
            assert_int_equal(faults_trigger(faults, 3, &frame_event).action,
                             FAULT_NOTHING);
            faults_destroy(faults);
        }
    }
}

static void
note_says_when_it_struck_and_where(void **state)
{
    int ends[2];
    char text[64];
    struct fault_note notes[2];

    assert_int_equal(pipe(ends), 0);
    snprintf(text, sizeof(text), "do=drop,note=%d", ends[1]);
    struct faults *faults = faults_of(text, 0);
    const uint64_t begin_ns = clock_now_ns();
    faults_begin(faults, "barrier");
    faults_trigger(faults, 1, &frame_event);
    faults_trigger(faults, 1, &frame_event);
    assert_int_equal(read(ends[0], notes, sizeof(notes)), sizeof(notes[0]));
    assert_true(notes[0].when_ns >= begin_ns &&
                notes[0].when_ns <= clock_now_ns());
    assert_int_equal(notes[0].peer, frame_event.peer);
    faults_destroy(faults);
    close(ends[0]);
    close(ends[1]);
}

static void
delay_takes_its_time(void **state)
{
    struct faults *faults = faults_of("do=delay:20ms", 0);
    const uint64_t begin_ns = clock_now_ns();

    faults_begin(faults, "barrier");
    assert_true(clock_now_ns() - begin_ns >= 20 * CLOCK_NS_PER_MS);
    faults_destroy(faults);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_for_is_no_faults),
        cmocka_unit_test(rules_of_others_are_left_out),
        cmocka_unit_test(rules_of_the_coordinator_are_its_own),
        cmocka_unit_test(two_that_are_due_strike_one_after_the_other),
        cmocka_unit_test(wrong_rule_is_refused_with_its_number),
        cmocka_unit_test(more_rules_than_the_limit_are_refused),
        cmocka_unit_test(environment_is_read_where_faults_are_built),
        cmocka_unit_test(process_ends_as_it_is_told),
        cmocka_unit_test(jitter_leaves_other_rules_what_they_are),
        cmocka_unit_test(note_says_when_it_struck_and_where),
        cmocka_unit_test(delay_takes_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
