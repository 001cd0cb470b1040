/* tests/unit/worker/transport/roster_test.c - transport/roster.c */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "transport/roster.h"
#include "transport/sequence.h"

static void
roster_create_beyond_the_limits_is_refused(void **state)
{
    struct roster *roster = NULL;

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

    assert_ok(roster_create(LIMIT_RANKS, &roster));
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

    assert_ok(roster_create(5, &roster));
    for (uint32_t i = 0; i < 5; i++)
        snprintf(roster->members[i].host_id, LIMIT_NAME, "%s", hosts[i]);
    for (uint32_t i = 0; i < 5; i++) {
        char address[32];

        snprintf(address, sizeof(address), "10.0.0.%u:7", i);
        assert_ok(address_parse(address, &roster->members[i].address));
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
    assert_ok(address_parse("10.0.0.3:8", &roster->members[1].address));
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

    assert_ok(roster_create(5, &roster));
    for (uint32_t i = 0; i < 5; i++) {
        char address[32];

        snprintf(roster->members[i].host_id, LIMIT_NAME, "%s", hosts[i]);
        snprintf(address, sizeof(address), "10.0.0.%u:7", i);
        assert_ok(address_parse(address, &roster->members[i].address));
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

    assert_ok(roster_create(2, &roster));
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

static void
sequence_tells_its_number_and_stage(void **state)
{
    const uint64_t last = ((uint64_t)1 << 48) - 1;
    const uint32_t stage = SEQUENCE_N_STAGES - 2;

    assert_int_equal(sequence_number(sequence_make(1, 0, 0)), 1);
    assert_int_equal(sequence_stage(sequence_make(1, 0, 0)), 0);
    assert_int_equal(sequence_number(sequence_make(last, stage, UINT32_MAX)),
                     last);
    assert_int_equal(sequence_stage(sequence_make(last, stage, UINT32_MAX)),
                     stage);
    assert_true(sequence_make(1, 0, 0) != 0);
    assert_true(sequence_make(1, 0, SEQUENCE_N_ROUNDS) != 0);
}

/* Over all the rounds there can be, at the places where something carries. */
static void
rounds_near_each_other_have_their_order(void **state)
{
    static const uint64_t firsts[] = {
        0, 1, 4094, 4095, 4096, (1u << 20), 1u << 24, 1u << 31, UINT32_MAX - 3};

    for (unsigned i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
        for (uint32_t n = 1; n <= 3; n++) {
            const uint64_t one = sequence_make(7, 2, (uint32_t)firsts[i]);
            const uint64_t two = sequence_make(7, 2, (uint32_t)firsts[i] + n);

            assert_true(one != two);
            assert_true(sequence_is_before(one, two));
            assert_false(sequence_is_before(two, one));
        }
    }
    assert_false(
        sequence_is_before(sequence_make(7, 2, 5), sequence_make(7, 2, 5)));
}

/* However many rounds there were. */
static void
stages_and_operations_have_their_order(void **state)
{
    static const uint32_t rounds[] = {0, 1, 2047, 2048, 4095, 4096, 1u << 31};
    const unsigned n = sizeof(rounds) / sizeof(*rounds);

    for (unsigned i = 0; i < n * n; i++) {
        const uint32_t one = rounds[i % n];
        const uint32_t two = rounds[i / n];

        assert_true(sequence_is_before(sequence_make(7, 2, one),
                                       sequence_make(7, 3, two)));
        assert_false(sequence_is_before(sequence_make(7, 3, one),
                                        sequence_make(7, 2, two)));
        assert_true(sequence_is_before(sequence_make(7, 9, one),
                                       sequence_make(8, 0, two)));
        assert_true(
            sequence_is_before(sequence_make(7, 9, one), sequence_end(7)));
        assert_true(
            sequence_is_before(sequence_end(7), sequence_make(8, 0, two)));
        assert_true(sequence_is_before(0, sequence_make(1, 0, two)));
    }
}

static void
next_is_the_one_behind(void **state)
{
    for (uint32_t round = 0; round < 3 * SEQUENCE_N_ROUNDS; round++)
        assert_int_equal(sequence_next(sequence_make(7, 2, round)),
                         sequence_make(7, 2, round + 1));
    assert_true(
        sequence_is_before(sequence_end(7), sequence_next(sequence_end(7))));
    assert_true(sequence_is_before(sequence_next(sequence_end(7)),
                                   sequence_make(8, 0, 0)));
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
        cmocka_unit_test(sequence_tells_its_number_and_stage),
        cmocka_unit_test(rounds_near_each_other_have_their_order),
        cmocka_unit_test(stages_and_operations_have_their_order),
        cmocka_unit_test(next_is_the_one_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
