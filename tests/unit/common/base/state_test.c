/* tests/unit/common/base/state_test.c - base/state.c */

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/state.h"
#include "check.h"

enum door {
    DOOR_OPEN,
    DOOR_SHUT,
    DOOR_GONE,
};

static const struct state_table_row doors[] = {
    [DOOR_OPEN] = {"open", SM_TO(DOOR_SHUT)},
    [DOOR_SHUT] = {"shut", SM_TO(DOOR_OPEN) | SM_TO(DOOR_GONE)},
    [DOOR_GONE] = {"gone", 0},
};

static void
state_move_in_the_table_returns_next(void **state)
{
    assert_int_equal(state_transition(doors, "door", DOOR_OPEN, DOOR_SHUT),
                     DOOR_SHUT);
    assert_int_equal(state_transition(doors, "door", DOOR_SHUT, DOOR_GONE),
                     DOOR_GONE);
}

/* In a child of its own: a move that is not in the table is a bug. */
static void
assert_aborts(enum door now, enum door next)
{
    int result = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        state_transition(doors, "door", now, next);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result));
    assert_int_equal(WTERMSIG(result), SIGABRT);
}

static void
state_move_not_in_the_table_aborts(void **state)
{
    assert_aborts(DOOR_OPEN, DOOR_GONE);
    assert_aborts(DOOR_OPEN, DOOR_OPEN);
    assert_aborts(DOOR_GONE, DOOR_OPEN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_move_in_the_table_returns_next),
        cmocka_unit_test(state_move_not_in_the_table_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
