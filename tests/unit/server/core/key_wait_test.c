/* tests/unit/server/core/key_wait_test.c - wait until all keys exist */

#include <stdio.h>

#include "base/limits.h"
#include "fixture.h"

static uint64_t
wait_both(struct fixture *f)
{
    static const char *const keys[] = {"x", "y"};

    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_STORE_WAIT,
                                  .keys = {.keys = keys, .n_keys = 2}});
}

static void
wait_is_answered_when_the_last_key_comes(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket = wait_both(&f);

    fixture_set(&f, "y", "2");
    assert_null(fixture_find(&f, ticket));
    const uint64_t set = fixture_set(&f, "x", "1");

    /* The writer first. */
    assert_int_equal(f.actions.items[0].reply.ticket, set);
    assert_memory_equal(fixture_reply(&f, ticket)->store.entries[0].value, "1",
                        1);
    assert_memory_equal(fixture_reply(&f, ticket)->store.entries[1].value, "2",
                        1);
    assert_int_equal(fixture_reply(&f, wait_both(&f))->status, HOOP_OK);
    fixture_deinit(&f);
}

static void
wait_a_key_that_went_away_is_missing_again(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "x", "1");
    const uint64_t ticket = wait_both(&f);

    fixture_key(&f, CLUSTER_STORE_DELETE, "x");
    fixture_set(&f, "y", "2");
    assert_null(fixture_find(&f, ticket));
    fixture_set(&f, "x", "3");
    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    fixture_deinit(&f);
}

static void
wait_deadline_names_the_key(void **state)
{
    struct fixture f;
    const char *key = "x";

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_STORE_WAIT,
                                   .deadline_ns = f.now_ns + 1,
                                   .keys = {.keys = &key, .n_keys = 1}});

    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT, "nobody has set key \"x\"");
    assert_int_equal(cluster_counters(f.cluster)->replies_expired, 1);
    fixture_deinit(&f);
}

static uint64_t
watch(struct fixture *f, struct cluster_store_scan scan)
{
    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_STORE_WATCH, .scan = scan});
}

static void
watch_prefix_sees_changes_since(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "a/1", "x");
    fixture_set(&f, "b", "x");
    fixture_key(&f, CLUSTER_STORE_DELETE, "a/1");

    const struct cluster_key_changes *seen =
        &fixture_reply(&f,
                       watch(&f, (struct cluster_store_scan){.prefix = "a/"}))
             ->key_changes;

    assert_int_equal(seen->n_items, 2);
    assert_int_equal(seen->items[0].revision, 1);
    assert_int_equal(seen->items[1].kind, CLUSTER_KEY_DELETED);
    assert_int_equal(seen->revision, 3);
    fixture_deinit(&f);
}

static void
watch_key_ignores_longer_ones(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket =
        watch(&f, (struct cluster_store_scan){.prefix = "a",
                                              .match = CLUSTER_MATCH_KEY});

    fixture_set(&f, "ab", "x");
    assert_null(fixture_find(&f, ticket));
    fixture_set(&f, "a", "x");
    assert_int_equal(fixture_reply(&f, ticket)->key_changes.items[0].revision,
                     2);
    fixture_deinit(&f);
}

static void
watch_sees_a_key_expire(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_step(&f, (struct cluster_event){
                         .kind = CLUSTER_STORE_SET,
                         .write = {.key = "k", .value = "", .ttl_ms = 5}});
    const uint64_t ticket = watch(&f, (struct cluster_store_scan){.since = 1});

    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, ticket)->key_changes.items[0].kind,
                     CLUSTER_KEY_EXPIRED);
    fixture_deinit(&f);
}

static void
watch_many_changes_come_in_pages(void **state)
{
    struct fixture f;
    uint64_t since = 0;
    char key[16];

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < 2 * LIMIT_PAGE + 3; i++) {
        snprintf(key, sizeof(key), "%d", i);
        fixture_set(&f, key, "");
    }
    for (size_t n_left = 2 * LIMIT_PAGE + 3; n_left;) {
        const struct cluster_key_changes *seen =
            &fixture_reply(
                 &f, watch(&f, (struct cluster_store_scan){.since = since}))
                 ->key_changes;

        assert_int_equal(seen->items[0].revision, since + 1);
        since = seen->revision;
        n_left -= seen->n_items;
    }
    fixture_deinit(&f);
}

static void
watch_from_a_forgotten_revision_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < LIMIT_STORE_HISTORY + 2; i++)
        fixture_set(&f, "k", "");
    fixture_refused(&f, watch(&f, (struct cluster_store_scan){.since = 1}),
                    HOOP_E_RANGE, "forgotten");
    assert_int_equal(
        fixture_reply(&f, watch(&f, (struct cluster_store_scan){.since = 2}))
            ->status,
        HOOP_OK);
    fixture_refused(&f, watch(&f, (struct cluster_store_scan){.since = 99999}),
                    HOOP_E_RANGE, "before revision");
    fixture_deinit(&f);
}

static void
watch_parked_sees_more_expire_than_a_history_holds(void **state)
{
    struct fixture f;
    char key[16];

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < LIMIT_STORE_HISTORY + 100; i++) {
        snprintf(key, sizeof(key), "%d", i);
        fixture_step(&f, (struct cluster_event){
                             .kind = CLUSTER_STORE_SET,
                             .write = {.key = key, .value = "", .ttl_ms = 5}});
    }
    const uint64_t ticket = watch(
        &f, (struct cluster_store_scan){.since = LIMIT_STORE_HISTORY + 100});

    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    assert_int_equal(fixture_reply(&f, ticket)->key_changes.items[0].revision,
                     LIMIT_STORE_HISTORY + 101);
    fixture_deinit(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_is_answered_when_the_last_key_comes),
        cmocka_unit_test(wait_a_key_that_went_away_is_missing_again),
        cmocka_unit_test(wait_deadline_names_the_key),
        cmocka_unit_test(watch_prefix_sees_changes_since),
        cmocka_unit_test(watch_key_ignores_longer_ones),
        cmocka_unit_test(watch_sees_a_key_expire),
        cmocka_unit_test(watch_many_changes_come_in_pages),
        cmocka_unit_test(watch_from_a_forgotten_revision_is_refused),
        cmocka_unit_test(watch_parked_sees_more_expire_than_a_history_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
