/*
 * tests/unit/common/fault/released_test.c - fault/fault.c as it is released
 *
 * Compiled as a build with --buildtype=release, plain or minsize does it.
 */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "fault/fault.h"

static bool
knows(const char *name)
{
    return strcmp(name, "allreduce") == 0;
}

static void
released_build_cannot_be_told_to_fail(void **state)
{
    struct faults *faults = NULL;

    assert_false(FAULT_IS_BUILT);
    setenv("HOOP_DEBUG_FAULT", "op=allreduce,do=kill", 1);
    assert_int_equal(faults_create(NULL, 0, knows, &faults), HOOP_E_INVALID);
    assert_null(faults);
    assert_non_null(strstr(error_text(), "this build has no faults"));
    unsetenv("HOOP_DEBUG_FAULT");
    assert_int_equal(faults_create("do=kill", 0, knows, &faults),
                     HOOP_E_INVALID);
    assert_ok(faults_create(NULL, 0, knows, &faults));
    assert_null(faults);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released_build_cannot_be_told_to_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
