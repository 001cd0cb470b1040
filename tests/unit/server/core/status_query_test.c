/* tests/unit/server/core/status_query_test.c - what operators see */

#include "fixture.h"

static void
status_query_shows_jobs_that_live_and_that_ended(void **state)
{
    struct fixture f;
    struct cluster_event join = fixture_join_event(9, 0, 5);

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    join.job = "b";
    fixture_step(&f, join);
    f.now_ns += FIXTURE_S;
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOBS});
    const struct cluster_jobs *jobs = &fixture_reply(&f, ticket)->jobs;

    assert_int_equal(jobs->n_items, 2);
    assert_string_equal(jobs->items[0].name, "b");
    assert_int_equal(jobs->items[0].state, CLUSTER_JOB_FORMING);
    assert_int_equal(jobs->items[0].size, 5);
    assert_int_equal(jobs->items[0].n_members, 1);
    assert_string_equal(jobs->items[1].name, "a");
    assert_int_equal(jobs->items[1].state, CLUSTER_JOB_ENDED);
    assert_int_equal(jobs->items[1].n_left, 1);
    assert_int_equal(jobs->items[1].age_ns, FIXTURE_S);
    fixture_deinit(&f);
}

static void
status_query_shows_members_of_a_job(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.lease_ms = 4000});
    const uint64_t epoch = fixture_world(&f, 2);

    fixture_set(&f, "key", "value");
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    f.now_ns += FIXTURE_S;
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->line.state, CLUSTER_JOB_RUNNING);
    assert_int_equal(job->line.n_members, 1);
    assert_int_equal(job->n_members, 2);
    assert_int_equal(job->members[0].state, CLUSTER_MEMBER_LEFT);
    assert_int_equal(job->members[1].state, CLUSTER_MEMBER_ACTIVE);
    assert_int_equal(job->members[1].lease_left_ns, 3 * FIXTURE_S);
    assert_int_equal(job->n_keys, 1);
    assert_int_equal(job->n_store_bytes, 8);
    assert_int_equal(job->revision, 2);
    fixture_deinit(&f);
}

static void
status_query_shows_who_waits_for_a_world(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 2);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->n_members, 1);
    assert_int_equal(job->members[0].rank, CLUSTER_RANK_ANY);
    assert_int_equal(job->members[0].lease_left_ns, 60 * FIXTURE_S);
    assert_int_equal(job->n_waiters, 1);
    fixture_deinit(&f);
}

static void
status_query_of_a_job_that_forms_says_who_is_missing(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 4);
    fixture_join(&f, 2, 2, 4);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB,
                                                .view = CLUSTER_VIEW_BRIEF});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->n_members, 0);
    assert_int_equal(job->line.n_members, 2);
    assert_int_equal(job->line.size, 4);
    assert_int_equal(job->size_min, 4);
    assert_string_equal(job->missing, "ranks 0, 3");
    assert_string_equal(job->hosts, "h");
    fixture_deinit(&f);
}

static void
status_query_of_a_job_that_runs_misses_nobody(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 1);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->line.state, CLUSTER_JOB_RUNNING);
    assert_int_equal(job->size_min, 0);
    assert_string_equal(job->missing, "");
    assert_string_equal(job->hosts, "");
    fixture_deinit(&f);
}

static void
status_query_needs_a_configured_token(void **state)
{
    struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_JOBS};

    (void)state;
    fixture_init(&f, &(struct cluster_options){.token = "t"});
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED, "");
    event.token = "t";
    assert_int_equal(fixture_reply(&f, fixture_step(&f, event))->status,
                     HOOP_OK);
    fixture_deinit(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_query_shows_jobs_that_live_and_that_ended),
        cmocka_unit_test(status_query_shows_members_of_a_job),
        cmocka_unit_test(status_query_shows_who_waits_for_a_world),
        cmocka_unit_test(status_query_of_a_job_that_forms_says_who_is_missing),
        cmocka_unit_test(status_query_of_a_job_that_runs_misses_nobody),
        cmocka_unit_test(status_query_needs_a_configured_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
