/* tests/unit/worker/engine/recovery_fault_test.c - engine/submit.c */

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "couple.h"
#include "engine/engine.h"
#include "engine/state.h"
#include "fault/fault.h"

static void
names_of_operations_and_recoveries_are_known(void **state)
{
    (void)state;
    assert_true(recovery_fault_exists("shrink"));
    assert_true(recovery_fault_exists("agree"));
    assert_true(recovery_fault_exists("grow"));
    assert_true(recovery_fault_exists("allreduce"));
    assert_false(recovery_fault_exists("shrinking"));
    assert_false(recovery_fault_exists(""));
}

/* How a process ends that goes through two tries of a shrink. */
static int
end_of(const char *text)
{
    int how = 0;
    const pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        struct engine engine = {0};

        if (faults_parse(text, 1, recovery_fault_exists, &engine.faults) !=
            HOOP_OK)
            _exit(100);
        const uint32_t rules = recovery_fault_begin(&engine, "shrink");
        for (uint64_t round = 1; round <= 2; round++)
            for (int turn = 1; turn <= 2; turn++) {
                recovery_fault_inject(&engine, rules, FAULT_AT_SEND, round);
                recovery_fault_inject(&engine, rules, FAULT_AT_RECEIVE, round);
            }
        recovery_fault_inject(&engine, rules, FAULT_AT_END, 2);
        faults_destroy(engine.faults);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &how, 0), pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static void
process_ends_where_the_rule_says(void **state)
{
    static const struct {
        const char *text;
        int end;
    } rows[] = {
        {"", 0},
        {"op=agree,do=exit:7", 0},
        {"op=shrink,do=exit:7", 7},
        {"rank=2,op=shrink,do=exit:7", 0},
        {"op=shrink,seq=2,do=exit:7", 0},
        {"op=shrink,at=end,do=exit:8", 8},
        {"op=shrink,round=2,segment=2,at=receive,do=exit:9", 9},
        {"op=shrink,round=3,at=receive,do=exit:9", 0},
        {"op=shrink,segment=3,at=send,do=kill", -SIGKILL},
        {"op=shrink,do=reset", 0}, /* there is no frame */
    };

    (void)state;
    if (!FAULT_IS_BUILT)
        skip();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (end_of(rows[i].text) != rows[i].end)
            fail_msg("%s: %d", rows[i].text, end_of(rows[i].text));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_operations_and_recoveries_are_known),
        cmocka_unit_test(process_ends_where_the_rule_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
