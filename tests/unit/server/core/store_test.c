/* tests/unit/server/core/store_test.c - bounds, bytes and the life of a key */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/change.h"
#include "core/memory.h"
#include "fixture.h"

static void
store_values_over_the_limits_are_refused(void **state)
{
    struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_STORE_SET};
    char *value = calloc(1, LIMIT_STORE_VALUE + 1);
    char key[32];
    uint64_t ticket = 0;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    event.write = (struct cluster_store_write){
        .key = "k", .value = value, .n_bytes = LIMIT_STORE_VALUE + 1};
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_EXHAUSTED, "value");

    event.write.key = key;
    event.write.n_bytes = LIMIT_STORE_VALUE;
    for (int i = 0; i < LIMIT_STORE_BYTES / LIMIT_STORE_VALUE; i++) {
        snprintf(key, sizeof(key), "%d", i);
        ticket = fixture_step(&f, event);
    }
    fixture_refused(&f, ticket, HOOP_E_EXHAUSTED, "over the limit");

    const uint64_t n_bytes = cluster_counters(f.cluster)->store_bytes;

    assert_true(n_bytes <= LIMIT_STORE_BYTES);
    fixture_set(&f, "0", "small");
    assert_int_equal(cluster_counters(f.cluster)->store_bytes,
                     n_bytes - LIMIT_STORE_VALUE + 5);
    fixture_deinit(&f);
    free(value);
}

static void
store_keys_over_the_limit_are_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    char key[32];

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (int i = 0; i < LIMIT_STORE_KEYS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        fixture_set(&f, key, "");
    }
    fixture_refused(&f, fixture_set(&f, "one more", ""), HOOP_E_EXHAUSTED,
                    "keys, the limit");
    assert_ok(fixture_reply(&f, fixture_set(&f, "0", "x"))->status);
}

static void
store_bad_keys_are_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    char key[LIMIT_STORE_KEY + 1] = {0};

    memset(key, 'k', LIMIT_STORE_KEY);
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_refused(&f, fixture_set(&f, "", "v"), HOOP_E_INVALID, "key");
    fixture_refused(&f, fixture_set(&f, key, "v"), HOOP_E_INVALID, "key");
    key[LIMIT_STORE_KEY - 1] = 0;
    assert_ok(fixture_reply(&f, fixture_set(&f, key, "v"))->status);
}

static void
store_key_with_a_life_expires(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = {
        .kind = CLUSTER_STORE_SET,
        .write = {.key = "k", .value = "v", .n_bytes = 1, .ttl_ms = 500}};

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_step(&f, event);
    f.now_ns += FIXTURE_S / 2 - 1;
    uint64_t ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");

    assert_non_null(fixture_reply(&f, ticket)->store.entries[0].value);
    f.now_ns++;
    ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");
    assert_null(fixture_reply(&f, ticket)->store.entries[0].value);
    assert_int_equal(cluster_counters(f.cluster)->keys_expired, 1);
    assert_int_equal(cluster_counters(f.cluster)->store_bytes, 0);

    /* A life of centuries is for ever, a plain set ends the countdown. */
    event.write.ttl_ms = UINT64_MAX;
    fixture_step(&f, event);
    event.write.ttl_ms = 500;
    fixture_step(&f, event);
    fixture_set(&f, "k", "w");
    f.now_ns += FIXTURE_S;
    ticket = fixture_key(&f, CLUSTER_STORE_GET, "k");
    assert_non_null(fixture_reply(&f, ticket)->store.entries[0].value);
}

static void
history_revisions_are_consecutive_and_the_oldest_forgotten(void **state)
{
    struct memory_account all = {0};
    struct memory_account memory = {.all = &all};
    struct history history = {.memory = &memory};
    char key[16];

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(store_values_over_the_limits_are_refused),
        cmocka_unit_test(store_keys_over_the_limit_are_refused),
        cmocka_unit_test(store_bad_keys_are_refused),
        cmocka_unit_test(store_key_with_a_life_expires),
        cmocka_unit_test(
            history_revisions_are_consecutive_and_the_oldest_forgotten),
        cmocka_unit_test(history_of_long_keys_is_shorter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
