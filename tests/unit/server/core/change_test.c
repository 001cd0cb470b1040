/* tests/unit/server/core/change_test.c - changes are seen once and in order */

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watch_from_the_beginning_sees_all),
        cmocka_unit_test(watch_parked_is_answered_by_the_next_change),
        cmocka_unit_test(watch_parked_sees_the_end_of_the_job),
        cmocka_unit_test(watch_deadline_is_an_empty_answer),
        cmocka_unit_test(watch_of_another_world_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
