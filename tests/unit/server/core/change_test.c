/* tests/unit/server/core/change_test.c - changes are seen once and in order */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/change.h"
#include "core/memory.h"
#include "fixture.h"

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
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
}

static void
watch_parked_is_answered_by_the_next_change(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t ticket = watch(&f, 0, 1);

    assert_null(fixture_find(&f, ticket));
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    assert_int_equal(fixture_reply(&f, ticket)->changes.items[0].revision, 2);
    assert_int_equal(fixture_reply(&f, ticket)->changes.n_items, 1);
    fixture_deinit(&f);
}

static void
watch_parked_sees_the_end_of_the_job(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t ticket = watch(&f, epoch, 1);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    assert_int_equal(fixture_reply(&f, ticket)->changes.items[0].kind,
                     CLUSTER_CHANGE_LEFT);
    assert_string_equal(fixture_reply(&f, ticket)->changes.items[0].host, "h");
    fixture_deinit(&f);
}

static void
watch_deadline_is_an_empty_answer(void **state)
{
    struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_WATCH, .watch.since = 1};

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    event.deadline_ns = f.now_ns + FIXTURE_S;
    const uint64_t ticket = fixture_step(&f, event);

    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    assert_int_equal(fixture_reply(&f, ticket)->changes.n_items, 0);
    assert_int_equal(fixture_reply(&f, ticket)->changes.revision, 1);
    fixture_deinit(&f);
}

static void
watch_of_another_world_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    fixture_refused(&f, watch(&f, epoch + 1, 0), HOOP_E_PRECONDITION, "epoch");
    fixture_refused(&f, watch(&f, epoch, 2), HOOP_E_RANGE, "revision");
    fixture_deinit(&f);
}

static void
history_revisions_are_consecutive_and_the_oldest_forgotten(void **state)
{
    struct memory_account all = {0};
    struct memory_account memory = {.all = &all};
    struct history history = {.memory = &memory};
    char key[16];

    (void)state;
    assert_int_equal(history_first_revision(&history), 1);
    for (unsigned int i = 1; i <= LIMIT_STORE_HISTORY + 5; i++) {
        snprintf(key, sizeof(key), "%u", i);
        assert_int_equal(history_add(&history, CLUSTER_KEY_SET, key), i);
    }
    assert_int_equal(history_first_revision(&history), 6);
    assert_string_equal(history_change_at(&history, 6).key, "6");
    assert_string_equal(history_change_at(&history, history.revision).key, key);
    assert_int_equal(history_change_at(&history, 7).revision, 7);
    history_deinit(&history);
    assert_int_equal(all.n_bytes, 0);
}

/* All is known that has room, and what is forgotten is freed. */
static void
history_of_long_keys_is_shorter(void **state)
{
    struct memory_account all = {0};
    struct memory_account memory = {.all = &all};
    struct history history = {.memory = &memory};
    char key[1000];

    (void)state;
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = 0;
    for (unsigned int i = 1; i <= 10000; i++) {
        snprintf(key, sizeof(key) - 500, "%u", i);
        key[strlen(key)] = 'k';
        history_add(&history, CLUSTER_KEY_SET, key);
        history_trim(&history);
        assert_true(all.n_bytes <
                    LIMIT_STORE_HISTORY_BYTES + LIMIT_STORE_HISTORY * 32);
    }
    const uint64_t first = history_first_revision(&history);
    assert_true(first > 10000 - 300 && first < 10000 - 200);
    assert_int_equal(strtoul(history_change_at(&history, first).key, NULL, 10),
                     first);
    history_add(&history, CLUSTER_KEY_DELETED, "short");
    assert_int_equal(history_first_revision(&history), first);
    assert_string_equal(history_change_at(&history, 10001).key, "short");
    history_deinit(&history);
    assert_int_equal(all.n_bytes, 0);
}

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
        cmocka_unit_test(watch_from_the_beginning_sees_all),
        cmocka_unit_test(watch_parked_is_answered_by_the_next_change),
        cmocka_unit_test(watch_parked_sees_the_end_of_the_job),
        cmocka_unit_test(watch_deadline_is_an_empty_answer),
        cmocka_unit_test(watch_of_another_world_is_refused),
        cmocka_unit_test(
            history_revisions_are_consecutive_and_the_oldest_forgotten),
        cmocka_unit_test(history_of_long_keys_is_shorter),
        cmocka_unit_test(endings_only_the_last_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
