/* tests/unit/worker/transport/roster_test.c - transport/roster.c */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "transport/roster.h"

static void
roster_create_beyond_the_limits_is_refused(void **state)
{
    struct roster *roster = NULL;

    (void)state;
    assert_int_equal(roster_create(0, &roster), HOOP_E_EXHAUSTED);
    assert_int_equal(roster_create(LIMIT_RANKS + 1, &roster), HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(), "65537 ranks"));
    assert_null(roster);
}

static void
roster_create_at_the_limit_is_zeroed(void **state)
{
    struct roster *roster = NULL;
    const struct member none = {0};

    (void)state;
    assert_int_equal(roster_create(LIMIT_RANKS, &roster), HOOP_OK);
    assert_int_equal(roster->size, LIMIT_RANKS);
    assert_memory_equal(&roster->members[LIMIT_RANKS - 1], &none, sizeof(none));
    roster_destroy(roster);
    roster_destroy(NULL);
}

static void
roster_local_ranks_counts_those_of_the_same_host(void **state)
{
    static const char *const hosts[] = {"a", "b", "a", "ab", "a"};
    struct roster *roster = NULL;

    (void)state;
    assert_int_equal(roster_create(5, &roster), HOOP_OK);
    for (uint32_t i = 0; i < 5; i++)
        snprintf(roster->members[i].host_id, LIMIT_NAME, "%s", hosts[i]);
    for (uint32_t i = 0; i < 5; i++) {
        char address[32];

        snprintf(address, sizeof(address), "10.0.0.%u:7", i);
        assert_int_equal(address_parse(address, &roster->members[i].address),
                         HOOP_OK);
    }
    assert_int_equal(roster_local_size(roster), 3);
    assert_int_equal(roster_local_rank(roster), 0);
    roster->rank = 4;
    assert_int_equal(roster_local_rank(roster), 2);
    roster->rank = 1;
    assert_int_equal(roster_local_size(roster), 1);
    roster->rank = 3;
    assert_int_equal(roster_local_size(roster), 1);
    /* One machine that plays two nodes. */
    assert_int_equal(address_parse("10.0.0.3:8", &roster->members[1].address),
                     HOOP_OK);
    assert_int_equal(roster_local_size(roster), 2);
    roster_destroy(roster);
}

static void
roster_local_ranks_counts_containers_of_one_machine(void **state)
{
    static const char *const hosts[] = {
        "01234567-89ab-cdef-0123-456789abcdef/4026531840",
        "01234567-89ab-cdef-0123-456789abcdef/4026532008",
        "01234567-89ab-cdef-0123-456789abcdee/4026531840",
        "rack/1",
        "rack/2",
    };
    static const uint32_t n_local[] = {2, 2, 1, 1, 1};
    struct roster *roster = NULL;

    (void)state;
    assert_int_equal(roster_create(5, &roster), HOOP_OK);
    for (uint32_t i = 0; i < 5; i++) {
        char address[32];

        snprintf(roster->members[i].host_id, LIMIT_NAME, "%s", hosts[i]);
        snprintf(address, sizeof(address), "10.0.0.%u:7", i);
        assert_int_equal(address_parse(address, &roster->members[i].address),
                         HOOP_OK);
    }
    for (roster->rank = 0; roster->rank < 5; roster->rank++) {
        assert_int_equal(roster_local_size(roster), n_local[roster->rank]);
        assert_int_equal(roster_local_rank(roster), roster->rank == 1);
    }
    roster->rank = 0;
    assert_true(roster_is_local(roster, 1));
    assert_false(roster_is_same_node(roster, 1));
    assert_false(roster_is_local(roster, 2));
    roster_destroy(roster);
}

static void
roster_name_tells_rank_host_and_pid(void **state)
{
    struct roster *roster = NULL;
    char text[ROSTER_NAME_MAX];

    (void)state;
    assert_int_equal(roster_create(2, &roster), HOOP_OK);
    snprintf(roster->members[1].host, LIMIT_NAME, "node7");
    roster->members[1].pid = 4711;
    assert_string_equal(roster_format_name(roster, 1, text),
                        "rank 1 (node7:4711)");
    assert_string_equal(roster_format_name(roster, 2, text), "rank 2");
    assert_string_equal(roster_format_name(roster, UINT32_MAX, text),
                        "rank 4294967295");

    /* The longest name of all fits. */
    memset(roster->members[1].host, 'x', LIMIT_NAME - 1);
    roster->members[1].pid = UINT32_MAX;
    assert_non_null(
        strstr(roster_format_name(roster, 1, text), "x:4294967295)"));
    roster_destroy(roster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roster_create_beyond_the_limits_is_refused),
        cmocka_unit_test(roster_create_at_the_limit_is_zeroed),
        cmocka_unit_test(roster_local_ranks_counts_those_of_the_same_host),
        cmocka_unit_test(roster_local_ranks_counts_containers_of_one_machine),
        cmocka_unit_test(roster_name_tells_rank_host_and_pid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
