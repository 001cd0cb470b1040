/* tests/unit/server/core/ending_test.c - the last endings are known, no more */

#include <stdio.h>

#include "check.h"
#include "core/ending.h"

static void
endings_only_the_last_are_known(void **state)
{
    static struct endings endings;

    (void)state;
    assert_null(endings_find(&endings, "0"));
    for (unsigned int i = 0; i < LIMIT_JOB_ENDINGS + 10; i++) {
        struct ending ending = {.epoch = i};

        snprintf(ending.name, sizeof(ending.name), "%u", i % 70);
        endings_add(&endings, &ending);
    }
    assert_int_equal(endings_count(&endings), LIMIT_JOB_ENDINGS);
    assert_int_equal(endings_at(&endings, 0)->epoch, LIMIT_JOB_ENDINGS + 9);
    assert_null(endings_find(&endings, "9"));
    assert_int_equal(endings_find(&endings, "10")->epoch, 10);
    assert_int_equal(endings_find(&endings, "3")->epoch, 73);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_only_the_last_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
