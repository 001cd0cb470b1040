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
swap(struct fixture *f, const char *expected, const char *value)
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
                         .n_expected = expected ? strlen(expected) : 0}});
}

static void
add_counts_in_decimal_text(void **state)
{
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
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
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        fixture_set(&f, "k", wrong[i]);
        fixture_refused(&f, add(&f, "k", 1), HOOP_E_PRECONDITION, "decimal");
    }
    fixture_set(&f, "k", "9223372036854775807");
    fixture_refused(&f, add(&f, "k", 1), HOOP_E_RANGE, "64 bits");
    fixture_deinit(&f);
}

static void
swap_only_what_is_expected(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    uint64_t ticket = swap(&f, "a", "b");

    fixture_refused(&f, ticket, HOOP_E_ABORTED, "does not exist");
    assert_null(fixture_reply(&f, ticket)->store.entries[0].value);
    ticket = swap(&f, NULL, "a");
    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    assert_int_equal(fixture_reply(&f, ticket)->store.revision, 1);

    ticket = swap(&f, NULL, "c");
    fixture_refused(&f, ticket, HOOP_E_ABORTED, "another value");
    assert_memory_equal(fixture_reply(&f, ticket)->store.entries[0].value, "a",
                        1);
    ticket = swap(&f, "a", "bb");
    assert_int_equal(fixture_reply(&f, ticket)->status, HOOP_OK);
    ticket = swap(&f, "b", "c");
    fixture_refused(&f, ticket, HOOP_E_ABORTED, "another value");
    fixture_deinit(&f);
}

static void
get_many_shows_the_missing_ones(void **state)
{
    static const char *const keys[] = {"x", "y", "x"};
    struct fixture f;

    (void)state;
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
    fixture_deinit(&f);
}

static void
get_too_many_keys_is_refused(void **state)
{
    struct fixture f;
    const char *keys[LIMIT_STORE_KEYS_CALL + 1];
    struct cluster_event event = {.kind = CLUSTER_STORE_GET,
                                  .keys = {.keys = keys}};

    (void)state;
    for (size_t i = 0; i <= LIMIT_STORE_KEYS_CALL; i++)
        keys[i] = "k";
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "keys");
    event.keys.n_keys = LIMIT_STORE_KEYS_CALL + 1;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "keys");
    event.keys.n_keys = LIMIT_STORE_KEYS_CALL;
    assert_int_equal(fixture_reply(&f, fixture_step(&f, event))->status,
                     HOOP_OK);

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
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    fixture_set(&f, "k", "1");
    uint64_t ticket = fixture_key(&f, CLUSTER_STORE_DELETE, "k");

    assert_int_equal(fixture_reply(&f, ticket)->store.counter, 1);
    assert_int_equal(fixture_reply(&f, ticket)->store.revision, 2);
    ticket = fixture_key(&f, CLUSTER_STORE_DELETE, "k");
    assert_int_equal(fixture_reply(&f, ticket)->store.counter, 0);
    assert_int_equal(fixture_reply(&f, ticket)->store.revision, 2);
    fixture_deinit(&f);
}

static void
scan_pages_are_sorted_and_complete(void **state)
{
    struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_STORE_LIST,
                                  .scan = {.prefix = "p", .n_max = 7}};
    char key[32];
    char after[32] = "";
    int n_listed = 0;
    uint32_t n_more = 1;

    (void)state;
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
    fixture_deinit(&f);
}

static void
scan_of_nothing_is_empty(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_STORE_LIST});

    assert_int_equal(fixture_reply(&f, ticket)->store.n_entries, 0);
    assert_int_equal(fixture_reply(&f, ticket)->store.n_more, 0);
    fixture_deinit(&f);
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
        cmocka_unit_test(scan_pages_are_sorted_and_complete),
        cmocka_unit_test(scan_of_nothing_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
