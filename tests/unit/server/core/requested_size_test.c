/* tests/unit/server/core/requested_size_test.c - how large the world is to be */

#include "fixture.h"

static void
wish_disagreement_is_refused_to_the_later(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 4);
    const uint64_t ticket = fixture_join(&f, 2, 1, 5);

    fixture_refused(&f, ticket, HOOP_E_PRECONDITION, "is 5");
    fixture_refused(&f, ticket, HOOP_E_PRECONDITION, "rank 0 (h:1) said 4");
    fixture_deinit(&f);
}

static void
wish_nobody_says_comes_from_the_options(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 0);
    const uint64_t ticket = fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 2);
    fixture_deinit(&f);
}

static void
wish_of_a_worker_comes_before_the_options(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 3);
    assert_null(fixture_find(&f, fixture_join(&f, 2, CLUSTER_RANK_ANY, 0)));
    const uint64_t ticket = fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 3);
    fixture_deinit(&f);
}

static void
wish_too_small_for_those_who_wait_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 7, 0);
    fixture_refused(&f, fixture_join(&f, 2, 0, 4), HOOP_E_PRECONDITION,
                    "rank 7 (h:1) waits in it already");
    fixture_join(&f, 3, 1, 0);
    fixture_refused(&f, fixture_join(&f, 4, 0, 2), HOOP_E_PRECONDITION,
                    "2 workers wait");
    fixture_deinit(&f);
}

static void
wish_of_the_withdrawn_is_forgotten_if_all_fit(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 3});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 8);
    fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 1});
    fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);
    const uint64_t ticket = fixture_join(&f, 4, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 3);
    fixture_deinit(&f);
}

static void
wish_of_the_withdrawn_stays_if_others_need_it(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 4);
    for (uint32_t number = 2; number <= 4; number++) {
        if (number == 4)
            fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                                    .client = 1});
        fixture_join(&f, number, number == 2 ? 3 : CLUSTER_RANK_ANY, 0);
    }
    const uint64_t ticket = fixture_join(&f, 5, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 4);
    fixture_deinit(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wish_disagreement_is_refused_to_the_later),
        cmocka_unit_test(wish_nobody_says_comes_from_the_options),
        cmocka_unit_test(wish_of_a_worker_comes_before_the_options),
        cmocka_unit_test(wish_too_small_for_those_who_wait_is_refused),
        cmocka_unit_test(wish_of_the_withdrawn_is_forgotten_if_all_fit),
        cmocka_unit_test(wish_of_the_withdrawn_stays_if_others_need_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
