/* tests/unit/worker/session/host_test.c - which host this is */

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "session/comm.h"

static void
host_name_is_not_empty(void **state)
{
    char name[LIMIT_NAME];

    (void)state;
    host_name(name);
    assert_true(name[0] != '\0');
}

static void
host_id_is_equal_in_another_process(void **state)
{
    char id[LIMIT_NAME];
    int how = 0;

    (void)state;
    host_id("", id);
    assert_true(strlen(id) > 30);
    const pid_t child = fork();
    if (child == 0) {
        char other[LIMIT_NAME];

        host_id("", other);
        _exit(strcmp(id, other));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void
host_id_differs_in_another_network_namespace(void **state)
{
    enum {
        FORBIDDEN = 2
    };
    char id[LIMIT_NAME];
    int how = 0;

    (void)state;
    host_id("", id);
    const pid_t child = fork();
    if (child == 0) {
        char other[LIMIT_NAME];

        if (unshare(CLONE_NEWNET) != 0)
            _exit(FORBIDDEN);
        host_id("", other);
        _exit(strcmp(id, other) == 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (WEXITSTATUS(how) == FORBIDDEN)
        skip();
    assert_int_equal(how, 0);
}

static void
host_id_is_what_the_user_says(void **state)
{
    char id[LIMIT_NAME];

    (void)state;
    host_id("node-7", id);
    assert_string_equal(id, "node-7");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_name_is_not_empty),
        cmocka_unit_test(host_id_is_equal_in_another_process),
        cmocka_unit_test(host_id_differs_in_another_network_namespace),
        cmocka_unit_test(host_id_is_what_the_user_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
