/* tests/unit/server/core/key_wait_test.c - wait until all keys exist */

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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_is_answered_when_the_last_key_comes),
        cmocka_unit_test(wait_a_key_that_went_away_is_missing_again),
        cmocka_unit_test(wait_deadline_names_the_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
