/* tests/unit/server/core/ended_job_test.c - the last ended_jobs are known, no more */

#include <stdio.h>

#include "check.h"
#include "core/change.h"

static void
endings_only_the_last_are_known(void **state)
{
    static struct ended_jobs ended_jobs;

    (void)state;
    assert_null(ended_jobs_find(&ended_jobs, "0"));
    for (unsigned int i = 0; i < LIMIT_ENDED_JOBS + 10; i++) {
        struct ended_job ended_job = {.epoch = i};

        snprintf(ended_job.name, sizeof(ended_job.name), "%u", i % 70);
        ended_jobs_add(&ended_jobs, &ended_job);
    }
    assert_int_equal(ended_jobs_count(&ended_jobs), LIMIT_ENDED_JOBS);
    assert_int_equal(ended_jobs_at(&ended_jobs, 0)->epoch,
                     LIMIT_ENDED_JOBS + 9);
    assert_null(ended_jobs_find(&ended_jobs, "9"));
    assert_int_equal(ended_jobs_find(&ended_jobs, "10")->epoch, 10);
    assert_int_equal(ended_jobs_find(&ended_jobs, "3")->epoch, 73);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_only_the_last_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
