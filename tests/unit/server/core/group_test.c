/* tests/unit/server/core/group_test.c - named communicators */

#include <stdio.h>

#include "base/limits.h"
#include "fixture.h"

static uint64_t
group(struct fixture *f,
      enum cluster_event_kind kind,
      struct cluster_group_call call)
{
    return fixture_step(f, (struct cluster_event){.kind = kind, .group = call});
}

static void
group_create_same_key_is_the_same(void **state)
{
    static const uint32_t ranks[] = {2, 0};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);

    for (uint64_t creator = 1; creator <= 3; creator++) {
        const uint64_t ticket =
            group(&f, CLUSTER_GROUP_CREATE,
                  (struct cluster_group_call){{epoch, creator}, "g", ranks, 2});
        const struct cluster_groups *groups =
            &fixture_reply(&f, ticket)->groups;

        assert_int_equal(groups->n_items, 1);
        assert_int_equal(groups->items[0].communicator, 1);
        assert_int_equal(groups->items[0].ranks[0], 2);
    }
    fixture_refused(
        &f,
        group(&f, CLUSTER_GROUP_CREATE,
              (struct cluster_group_call){{epoch, 1}, "g", ranks, 1}),
        HOOP_E_EXISTS, "\"g\" of 2 ranks");
}

static void
group_create_bad_ranks_are_refused(void **state)
{
    static const uint32_t twice[] = {1, 1};
    static const uint32_t outside[] = {0, 3};
    static const uint32_t last[] = {2};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 3);
    const struct {
        struct cluster_group_call call;
        enum hoop_status status;
    } cases[] = {
        {{{epoch, 1}, "g", twice, 2}, HOOP_E_INVALID},
        {{{epoch, 1}, "g", outside, 2}, HOOP_E_INVALID},
        {{{epoch, 1}, "g", outside, 0}, HOOP_E_INVALID},
        {{{epoch, 1}, "g", outside, 4}, HOOP_E_INVALID},
        {{{epoch, 1}, "", twice, 1}, HOOP_E_INVALID},
        {{{epoch, 1}, "g", last, 1}, HOOP_E_PRECONDITION},
        {{{epoch, 9}, "g", twice, 1}, HOOP_E_PRECONDITION},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        fixture_refused(&f, group(&f, CLUSTER_GROUP_CREATE, cases[i].call),
                        cases[i].status, "");
    fixture_refused(
        &f,
        group(&f, CLUSTER_GROUP_GET, (struct cluster_group_call){.key = "g"}),
        HOOP_E_NOT_FOUND, "");
}

static void
group_list_pages_until_the_limit(void **state)
{
    static const uint32_t ranks[] = {0};
    CLEANUP(fixture_deinit) struct fixture f;
    char key[16];
    size_t n_listed = 0;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    for (int i = 0; i <= LIMIT_GROUPS; i++) {
        snprintf(key, sizeof(key), "%d", i);
        const uint64_t ticket =
            group(&f, CLUSTER_GROUP_CREATE,
                  (struct cluster_group_call){{epoch, 1}, key, ranks, 1});

        if (i == LIMIT_GROUPS)
            fixture_refused(&f, ticket, HOOP_E_EXHAUSTED, "groups, the limit");
    }
    for (const char *after = NULL;; after = key) {
        const struct cluster_groups *page =
            &fixture_reply(&f, group(&f, CLUSTER_GROUP_LIST,
                                     (struct cluster_group_call){.key = after}))
                 ->groups;

        n_listed += page->n_items;
        if (!page->n_more)
            break;
        snprintf(key, sizeof(key), "%s", page->items[page->n_items - 1].key);
    }
    assert_int_equal(n_listed, LIMIT_GROUPS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_create_same_key_is_the_same),
        cmocka_unit_test(group_create_bad_ranks_are_refused),
        cmocka_unit_test(group_list_pages_until_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
