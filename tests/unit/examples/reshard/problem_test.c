/* tests/unit/examples/reshard/problem_test.c - reshard/problem.c */

#include <string.h>

#include "check.h"
#include "reshard/problem.h"

static void
problem_that_is_too_long_is_cut(void **state)
{
    struct problem problem;

    (void)state;
    assert_false(problem_say(&problem, "%s %d", "ranks:", 3));
    assert_string_equal(problem.text, "ranks: 3");
    assert_false(problem_say(&problem, "%0600d", 7));
    assert_int_equal(strlen(problem.text), sizeof(problem.text) - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problem_that_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
