/* tests/unit/server/core/key_scan_test.c - pages in the order of bytes */

#include <stdio.h>

#include "fixture.h"

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
        cmocka_unit_test(scan_pages_are_sorted_and_complete),
        cmocka_unit_test(scan_of_nothing_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
