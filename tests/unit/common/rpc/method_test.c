/* tests/unit/common/rpc/method_test.c - rpc/method.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "rpc/method.h"

static void
method_table_is_in_the_order_of_its_ids(void **state)
{
    for (size_t i = 0; i < METHOD_COUNT; i++)
        assert_int_equal(method_by_id((enum method_id)i)->id, i);
}

static void
method_names_are_well_formed_and_unlike(void **state)
{
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        const char *name = method_by_id((enum method_id)i)->name;

        assert_true(strlen(name) < LIMIT_NAME);
        assert_memory_equal(name, "hoop.v1.", 8);
        assert_non_null(strchr(name, '/'));
        assert_ptr_equal(method_find(name, strlen(name)),
                         method_by_id((enum method_id)i));
    }
}

static void
method_that_polls_changes_nothing_for_good(void **state)
{
    /* A reply that is kept must not wait for somebody else. */
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        if (method_by_id((enum method_id)i)->answer == METHOD_LONG_POLL)
            assert_int_not_equal(method_by_id((enum method_id)i)->effect,
                                 METHOD_CHANGES);
    }
}

/* Which may be called without the job's own token; a new method may not. */
static void
method_roles_are_these(void **state)
{
    static const struct {
        enum method_id id;
        enum role role;
    } lesser[] = {
        {METHOD_RENDEZVOUS_WATCH, ROLE_OPERATOR},
        {METHOD_RENDEZVOUS_MEMBERS, ROLE_OPERATOR},
        {METHOD_GROUPS_GET, ROLE_OPERATOR},
        {METHOD_GROUPS_LIST, ROLE_OPERATOR},
        {METHOD_STATUS_JOB, ROLE_OPERATOR},
        {METHOD_STATUS_JOBS, ROLE_METRICS},
        {METHOD_HEALTH_CHECK, ROLE_ANYBODY},
        {METHOD_AUTH_CHALLENGE, ROLE_ANYBODY},
        {METHOD_AUTH_PROVE, ROLE_ANYBODY},
    };

    for (size_t i = 0; i < METHOD_COUNT; i++) {
        enum role expected = ROLE_WORKER;

        for (size_t j = 0; j < COUNT_OF(lesser); j++) {
            if (lesser[j].id == method_by_id((enum method_id)i)->id)
                expected = lesser[j].role;
        }
        assert_int_equal(method_by_id((enum method_id)i)->role, expected);
        /* Who may only look changes nothing. */
        if (expected != ROLE_WORKER && i < METHOD_AUTH_CHALLENGE)
            assert_int_equal(method_by_id((enum method_id)i)->effect,
                             METHOD_READS);
    }
}

static void
method_unknown_is_not_found(void **state)
{
    assert_null(method_find("", 0));
    assert_null(method_find("hoop.v1.Store/Ge", 16));
    assert_null(method_find("hoop.v1.Store/Get\0", 18));
    assert_null(method_find("hoop.v1.Store/get", 17));
    assert_non_null(method_find("hoop.v1.Store/Get and more", 17));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(method_table_is_in_the_order_of_its_ids),
        cmocka_unit_test(method_names_are_well_formed_and_unlike),
        cmocka_unit_test(method_that_polls_changes_nothing_for_good),
        cmocka_unit_test(method_roles_are_these),
        cmocka_unit_test(method_unknown_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
