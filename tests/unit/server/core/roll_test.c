/* tests/unit/server/core/roll_test.c - who is missing, in words */

#include "fixture.h"

/* The text when nobody else comes. */
static void
roll_expect(struct fixture *f, uint64_t ticket, const char *part)
{
    fixture_next(f);
    fixture_refused(f, ticket, HOOP_E_TIMEOUT, part);
}

static void
roll_no_requests_counts_workers(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 1; i < 3; i++)
        fixture_join(&f, i, CLUSTER_RANK_ANY, 4);
    roll_expect(&f, fixture_join(&f, 3, CLUSTER_RANK_ANY, 4),
                "3 of 4 have joined: h:1, h:2, h:3; missing: 1 more worker");
    fixture_deinit(&f);
}

static void
roll_some_requests_name_the_free_ranks(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 5);
    roll_expect(&f, fixture_join(&f, 2, CLUSTER_RANK_ANY, 5),
                "2 of 5 have joined: rank 1 (h:1), h:2; missing: 3 more "
                "workers for the ranks 0, 2-4");
    fixture_deinit(&f);
}

static void
roll_unknown_size_says_how_to_give_it(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    roll_expect(&f, fixture_join(&f, 1, 0, 0), "HOOP_WORLD_SIZE");
    fixture_deinit(&f);
}

static void
roll_range_says_how_many_are_enough(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 8, .size_min = 3});
    roll_expect(&f, fixture_join(&f, 1, 7, 0),
                "1 of 3 to 8 has joined: rank 7 (h:1); missing: at least 2 "
                "more workers");
    fixture_deinit(&f);
}

static void
roll_many_are_not_all_named(void **state)
{
    struct fixture f;
    uint64_t ticket = 0;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 20; i++)
        ticket = fixture_join(&f, 1 + i, 2 * i, 100);
    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT, "and 12 more");
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT,
                    "1, 3, 5, 7, 9, 11, 13, 15, ...");
    fixture_deinit(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roll_no_requests_counts_workers),
        cmocka_unit_test(roll_some_requests_name_the_free_ranks),
        cmocka_unit_test(roll_unknown_size_says_how_to_give_it),
        cmocka_unit_test(roll_range_says_how_many_are_enough),
        cmocka_unit_test(roll_many_are_not_all_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
