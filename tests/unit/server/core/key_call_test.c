/* tests/unit/server/core/key_call_test.c - set, add, swap, get, delete */

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "fixture.h"

static uint64_t
add(struct fixture *f, const char *key, int64_t delta)
{
    return fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_STORE_ADD,
                                  .write = {.key = key, .delta = delta}});
}

static uint64_t
swap_bytes(struct fixture *f,
           const char *expected,
           size_t n_expected,
           const char *value)
{
    return fixture_step(
        f, (struct cluster_event){
               .kind = CLUSTER_STORE_SWAP,
               .write = {.key = "k",
                         .value = value,
                         .n_bytes = strlen(value),
                         .expect = expected ? CLUSTER_EXPECT_VALUE
                                            : CLUSTER_EXPECT_ABSENT,
                         .expected = expected,
                         .n_expected = n_expected}});
}

static uint64_t
swap(struct fixture *f, const char *expected, const char *value)
{
    return swap_bytes(f, expected, expected ? strlen(expected) : 0, value);
}

static void
add_counts_in_decimal_text(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    assert_int_equal(fixture_reply(&f, add(&f, "k", 5))->store.counter, 5);
    assert_int_equal(fixture_reply(&f, add(&f, "k", -7))->store.counter, -2);

    const uint64_t ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");
    const struct cluster_store_entry *entry =
        &fixture_reply(&f, ticket)->store.entries[0];

    assert_int_equal(entry->n_bytes, 2);
    assert_memory_equal(entry->value, "-2", 2);
    assert_int_equal(entry->revision, 2);
}

static void
add_to_no_number_or_over_64_bits_is_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "1x",
                                        " 1",
                                        "+1",
                                        "0x1",
                                        "-",
                                        "9223372036854775808",
                                        "1111111111111111111111111111"};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fixture_set(&f, "k", wrong[i]);
        fixture_refused(&f, add(&f, "k", 1), HOOP_E_PRECONDITION, "decimal");
    }
    fixture_set(&f, "k", "9223372036854775807");
    fixture_refused(&f, add(&f, "k", 1), HOOP_E_RANGE, "64 bits");
}

static void
swap_only_what_is_expected(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    uint64_t ticket = swap(&f, "a", "b");

    fixture_refused(&f, ticket, HOOP_E_ABORTED, "does not exist");
    assert_null(fixture_reply(&f, ticket)->store.entries[0].value);
    ticket = swap(&f, NULL, "a");
    assert_ok(fixture_reply(&f, ticket)->status);
    assert_int_equal(fixture_reply(&f, ticket)->store.revision, 1);

    ticket = swap(&f, NULL, "c");
    fixture_refused(&f, ticket, HOOP_E_ABORTED, "another value");
    assert_memory_equal(fixture_reply(&f, ticket)->store.entries[0].value, "a",
                        1);
    ticket = swap(&f, "a", "bb");
    assert_ok(fixture_reply(&f, ticket)->status);
    /* Values that begin alike are different, whatever is behind the end. */
    for (size_t n_expected = 0; n_expected < 4; n_expected++) {
        if (n_expected != 2)
            fixture_refused(&f, swap_bytes(&f, "bbb", n_expected, "c"),
                            HOOP_E_ABORTED, "another value");
    }
}

static void
get_many_shows_the_missing_ones(void **state)
{
    static const char *const keys[] = {"x", "y", "x"};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "x", "1");
    const uint64_t ticket = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_STORE_GET,
                                   .keys = {.keys = keys, .n_keys = 3}});
    const struct cluster_store_reply *store = &fixture_reply(&f, ticket)->store;

    assert_int_equal(store->n_entries, 3);
    assert_string_equal(store->entries[1].key, "y");
    assert_null(store->entries[1].value);
    assert_memory_equal(store->entries[2].value, "1", 1);
}

static void
get_too_many_keys_is_refused(void **state)
{
    struct fixture f;
    const char *keys[LIMIT_STORE_KEYS_CALL + 1];
    struct cluster_event event = {.kind = CLUSTER_STORE_GET,
                                  .keys = {.keys = keys}};

    for (size_t i = 0; i <= LIMIT_STORE_KEYS_CALL; i++)
        keys[i] = "k";
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "keys");
    event.keys.n_keys = LIMIT_STORE_KEYS_CALL + 1;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "keys");
    event.keys.n_keys = LIMIT_STORE_KEYS_CALL;
    assert_ok(fixture_reply(&f, fixture_step(&f, event))->status);

    /* Their values must fit one reply. */
    char *value = calloc(1, LIMIT_STORE_VALUE);

    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_STORE_SET,
                                   .write = {.key = "k",
                                             .value = value,
                                             .n_bytes = LIMIT_STORE_VALUE}});
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_EXHAUSTED, "fewer");
    fixture_deinit(&f);
    free(value);
}

static void
delete_counts_those_that_existed(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "k", "1");
    uint64_t ticket = fixture_key(&f, CLUSTER_STORE_DELETE, "k");

    assert_int_equal(fixture_reply(&f, ticket)->store.counter, 1);
    assert_int_equal(fixture_reply(&f, ticket)->store.revision, 2);
    ticket = fixture_key(&f, CLUSTER_STORE_DELETE, "k");
    assert_int_equal(fixture_reply(&f, ticket)->store.counter, 0);
    assert_int_equal(fixture_reply(&f, ticket)->store.revision, 2);
}

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
    CLEANUP(fixture_deinit) struct fixture f;

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
    assert_ok(fixture_reply(&f, wait_both(&f))->status);
}

static void
wait_a_key_that_went_away_is_missing_again(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "x", "1");
    const uint64_t ticket = wait_both(&f);

    fixture_key(&f, CLUSTER_STORE_DELETE, "x");
    fixture_set(&f, "y", "2");
    assert_null(fixture_find(&f, ticket));
    fixture_set(&f, "x", "3");
    assert_ok(fixture_reply(&f, ticket)->status);
}

static void
wait_deadline_names_the_key(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    const char *key = "x";

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket = fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_STORE_WAIT,
                                   .deadline_ns = f.now_ns + 1,
                                   .keys = {.keys = &key, .n_keys = 1}});

    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT, "nobody has set key \"x\"");
    assert_int_equal(cluster_counters(f.cluster)->replies_expired, 1);
}

static void
scan_pages_are_sorted_and_complete(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_STORE_LIST,
                                  .scan = {.prefix = "p", .n_max = 7}};
    char key[32];
    char after[32] = "";
    int n_listed = 0;
    uint32_t n_more = 1;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "%c%03d", i % 2 ? 'p' : 'q', i * 37 % 100);
        fixture_set(&f, key, "12");
    }
    while (n_more) {
        event.scan.after = after;
        const struct cluster_store_reply *page =
            &fixture_reply(&f, fixture_step(&f, event))->store;

        for (size_t i = 0; i < page->n_entries; i++) {
            assert_true(strcmp(page->entries[i].key, after) > 0);
            assert_int_equal(page->entries[i].key[0], 'p');
            assert_int_equal(page->entries[i].n_bytes, 2);
            assert_null(page->entries[i].value);
            snprintf(after, sizeof(after), "%s", page->entries[i].key);
            n_listed++;
        }
        n_more = page->n_more;
        assert_int_equal(n_more, 50 - n_listed);
    }
    assert_int_equal(n_listed, 50);
}

static void
scan_of_nothing_is_empty(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_STORE_LIST});

    assert_int_equal(fixture_reply(&f, ticket)->store.n_entries, 0);
    assert_int_equal(fixture_reply(&f, ticket)->store.n_more, 0);
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
    CLEANUP(fixture_deinit) struct fixture f;

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
}

static void
watch_key_ignores_longer_ones(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

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
}

static void
watch_sees_a_key_expire(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_step(&f, (struct cluster_event){
                         .kind = CLUSTER_STORE_SET,
                         .write = {.key = "k", .value = "", .ttl_ms = 5}});
    const uint64_t ticket = watch(&f, (struct cluster_store_scan){.since = 1});

    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, ticket)->key_changes.items[0].kind,
                     CLUSTER_KEY_EXPIRED);
}

static void
watch_many_changes_come_in_pages(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t since = 0;
    char key[16];

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < 2 * LIMIT_LIST_PAGE_ENTRIES + 3; i++) {
        snprintf(key, sizeof(key), "%d", i);
        fixture_set(&f, key, "");
    }
    for (size_t n_left = 2 * LIMIT_LIST_PAGE_ENTRIES + 3; n_left;) {
        const struct cluster_key_changes *seen =
            &fixture_reply(
                 &f, watch(&f, (struct cluster_store_scan){.since = since}))
                 ->key_changes;

        assert_int_equal(seen->items[0].revision, since + 1);
        since = seen->revision;
        n_left -= seen->n_items;
    }
}

static void
watch_from_a_forgotten_revision_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < LIMIT_STORE_HISTORY + 2; i++)
        fixture_set(&f, "k", "");
    fixture_refused(&f, watch(&f, (struct cluster_store_scan){.since = 1}),
                    HOOP_E_RANGE, "forgotten");
    assert_ok(
        fixture_reply(&f, watch(&f, (struct cluster_store_scan){.since = 2}))
            ->status);
    fixture_refused(&f, watch(&f, (struct cluster_store_scan){.since = 99999}),
                    HOOP_E_RANGE, "before revision");
}

static void
watch_parked_sees_more_expire_than_a_history_holds(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    char key[16];

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
    assert_ok(fixture_reply(&f, ticket)->status);
    assert_int_equal(fixture_reply(&f, ticket)->key_changes.items[0].revision,
                     LIMIT_STORE_HISTORY + 101);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(add_counts_in_decimal_text),
        cmocka_unit_test(add_to_no_number_or_over_64_bits_is_refused),
        cmocka_unit_test(swap_only_what_is_expected),
        cmocka_unit_test(get_many_shows_the_missing_ones),
        cmocka_unit_test(get_too_many_keys_is_refused),
        cmocka_unit_test(delete_counts_those_that_existed),
        cmocka_unit_test(wait_is_answered_when_the_last_key_comes),
        cmocka_unit_test(wait_a_key_that_went_away_is_missing_again),
        cmocka_unit_test(wait_deadline_names_the_key),
        cmocka_unit_test(scan_pages_are_sorted_and_complete),
        cmocka_unit_test(scan_of_nothing_is_empty),
        cmocka_unit_test(watch_prefix_sees_changes_since),
        cmocka_unit_test(watch_key_ignores_longer_ones),
        cmocka_unit_test(watch_sees_a_key_expire),
        cmocka_unit_test(watch_many_changes_come_in_pages),
        cmocka_unit_test(watch_from_a_forgotten_revision_is_refused),
        cmocka_unit_test(watch_parked_sees_more_expire_than_a_history_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
