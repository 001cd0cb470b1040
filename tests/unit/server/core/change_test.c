/* tests/unit/server/core/change_test.c - core/change.c: the jobs that ended
 * last */

#include <stdio.h>

#include "check.h"
#include "core/change.h"
#include "core/memory.h"

static void
endings_only_the_last_are_known(void **state)
{
    static struct ended_jobs ended_jobs;

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

/* Where tokens were, none are found. */
static void
endings_that_are_forgotten_leave_no_token(void **state)
{
    static struct ended_jobs ended_jobs;
    static const struct token none;
    struct ended_job ended_job = {.name = "a", .n_members = 1};

    assert_ok(token_derive_roles(&ended_job.token, "secret"));
    ended_job.members = memory_calloc(1, sizeof(*ended_job.members));
    ended_job.members[0].failure = memory_calloc(1, 9);
    ended_jobs_add(&ended_jobs, &ended_job);
    assert_memory_not_equal(&ended_jobs.ring[0].token, &none, sizeof(none));
    ended_jobs_deinit(&ended_jobs);
    assert_memory_equal(&ended_jobs.ring[0].token, &none, sizeof(none));
    assert_null(ended_jobs.ring[0].members);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_only_the_last_are_known),
        cmocka_unit_test(endings_that_are_forgotten_leave_no_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
