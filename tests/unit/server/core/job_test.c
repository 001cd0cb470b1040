/* tests/unit/server/core/job_test.c - many at once, one after another */

#include <stdio.h>

#include "base/limits.h"
#include "core/job.h"
#include "fixture.h"

static void
job_names_are_checked(void **state)
{
    char name[LIMIT_NAME + 1] = {0};

    assert_true(job_name_is_valid("default"));
    assert_true(job_name_is_valid("a/B-3.x_y:z@q+1"));
    assert_false(job_name_is_valid(NULL));
    assert_false(job_name_is_valid(""));
    assert_false(job_name_is_valid("a b"));
    assert_false(job_name_is_valid("a\"b"));
    assert_false(job_name_is_valid("\xc3\xa4"));
    memset(name, 'n', LIMIT_NAME);
    assert_false(job_name_is_valid(name));
    name[LIMIT_NAME - 1] = 0;
    assert_true(job_name_is_valid(name));
}

static void
jobs_have_their_own_members_and_stores(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event join = fixture_join_event(1, 0, 1);

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "k", "v");
    join.job = "b";
    const uint64_t ticket = fixture_step(&f, join);

    assert_true(fixture_reply(&f, ticket)->world.epoch > 1);
    const char *key = "k";
    const uint64_t get = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_STORE_GET,
                                   .job = "b",
                                   .keys = {.keys = &key, .n_keys = 1}});

    assert_null(fixture_reply(&f, get)->store.entries[0].value);
}

static void
jobs_over_the_limit_are_refused_until_one_ends(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event join = fixture_join_event(1, 0, 2);
    char name[16];
    uint64_t ticket = 0;

    fixture_init(&f, &(struct cluster_options){0});
    join.job = name;
    for (int i = 0; i <= LIMIT_JOBS; i++) {
        snprintf(name, sizeof(name), "%d", i);
        join.client = (uint64_t)i;
        ticket = fixture_step(&f, join);
    }
    fixture_refused(&f, ticket, HOOP_E_EXHAUSTED, "jobs, the limit");
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 5});
    assert_null(fixture_find(&f, fixture_step(&f, join)));
}

static void
jobs_that_end_leave_little_behind(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    char name[32];

    fixture_init(&f, &(struct cluster_options){0});
    for (int i = 0; i < 3 * LIMIT_JOBS; i++) {
        struct cluster_event join = fixture_join_event(1, 0, 1);

        snprintf(name, sizeof(name), "job-%d", i);
        join.job = name;
        const uint64_t epoch =
            fixture_reply(&f, fixture_step(&f, join))->world.epoch;

        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                                .job = name,
                                                .member = {epoch, 1}});
    }
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOBS});

    assert_int_equal(fixture_reply(&f, ticket)->jobs.n_items, LIMIT_ENDED_JOBS);
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
    assert_string_equal(cluster_job_state_name(CLUSTER_JOB_ENDED), "ended");
}

static uint64_t
watch(struct fixture *f, uint64_t epoch, uint64_t since)
{
    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                  .watch = {.epoch = epoch, .since = since}});
}

static void
watch_from_the_beginning_sees_all(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    const struct cluster_membership_changes *seen =
        &fixture_reply(&f, watch(&f, epoch, 0))->changes;

    assert_int_equal(seen->n_items, 2);
    assert_int_equal(seen->revision, 2);
    assert_int_equal(seen->world_epoch, epoch);
    assert_int_equal(seen->items[0].kind, CLUSTER_CHANGE_FORMED);
    assert_int_equal(seen->items[0].membership_epoch, epoch);
    assert_int_equal(seen->items[1].kind, CLUSTER_CHANGE_LEFT);
    assert_int_equal(seen->items[1].rank, 1);
    assert_true(seen->items[1].membership_epoch > epoch);
}

static void
watch_parked_is_answered_by_the_next_change(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t ticket = watch(&f, 0, 1);

    assert_null(fixture_find(&f, ticket));
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    assert_int_equal(fixture_reply(&f, ticket)->changes.items[0].revision, 2);
    assert_int_equal(fixture_reply(&f, ticket)->changes.n_items, 1);
}

static void
watch_parked_sees_the_end_of_the_job(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t ticket = watch(&f, epoch, 1);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    assert_int_equal(fixture_reply(&f, ticket)->changes.items[0].kind,
                     CLUSTER_CHANGE_LEFT);
    assert_string_equal(fixture_reply(&f, ticket)->changes.items[0].host, "h");
}

static void
watch_deadline_is_an_empty_answer(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_WATCH, .watch.since = 1};

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    event.deadline_ns = f.now_ns + FIXTURE_S;
    const uint64_t ticket = fixture_step(&f, event);

    fixture_next(&f);
    assert_ok(fixture_reply(&f, ticket)->status);
    assert_int_equal(fixture_reply(&f, ticket)->changes.n_items, 0);
    assert_int_equal(fixture_reply(&f, ticket)->changes.revision, 1);
}

static void
watch_of_another_world_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    fixture_refused(&f, watch(&f, epoch + 1, 0), HOOP_E_PRECONDITION, "epoch");
    fixture_refused(&f, watch(&f, epoch, 2), HOOP_E_RANGE, "revision");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_names_are_checked),
        cmocka_unit_test(jobs_have_their_own_members_and_stores),
        cmocka_unit_test(jobs_over_the_limit_are_refused_until_one_ends),
        cmocka_unit_test(jobs_that_end_leave_little_behind),
        cmocka_unit_test(watch_from_the_beginning_sees_all),
        cmocka_unit_test(watch_parked_is_answered_by_the_next_change),
        cmocka_unit_test(watch_parked_sees_the_end_of_the_job),
        cmocka_unit_test(watch_deadline_is_an_empty_answer),
        cmocka_unit_test(watch_of_another_world_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
