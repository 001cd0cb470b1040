/* tests/unit/worker/select/overrides_test.c - select/overrides.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "select/overrides.h"

static void
empty_list_forces_nothing(void **state)
{
    struct overrides overrides;

    assert_ok(overrides_parse("here", "", &overrides));
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++)
        assert_null(overrides.entries[i]);
}

static void
list_names_one_algorithm_each(void **state)
{
    struct overrides overrides;

    assert_ok(
        overrides_parse("here", "broadcast:chain,allreduce:ring", &overrides));
    assert_string_equal(
        overrides.entries[COLLECTIVE_ALLREDUCE]->algorithm->name, "ring");
    assert_string_equal(
        overrides.entries[COLLECTIVE_BROADCAST]->algorithm->name, "chain");
    assert_null(overrides.entries[COLLECTIVE_REDUCE]);
}

static void
every_algorithm_of_the_registry_can_be_forced(void **state)
{
    size_t n_entries;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);
    struct overrides overrides;
    char text[LIMIT_NAME];

    for (size_t i = 0; i < n_entries; i++) {
        snprintf(text, sizeof(text), "%s:%s",
                 registry_collective_name(entries[i].collective),
                 entries[i].algorithm->name);
        assert_ok(overrides_parse("here", text, &overrides));
        assert_ptr_equal(overrides.entries[entries[i].collective], &entries[i]);
    }
}

static void
flat_algorithms_need_a_hall_where_there_are_several_ranks(void **state)
{
    struct plan_nodes one = {.n_ranks = 1, .n_nodes = 1};
    struct plan_nodes two = {.n_ranks = 4, .n_nodes = 2};
    const struct plan_shm_region none = {0};
    struct overrides overrides;

    assert_ok(
        overrides_parse("here", "reduce:chain,allreduce:flat", &overrides));
    assert_ok(overrides_check_can_run(&overrides, &one, &none));
    assert_int_equal(overrides_check_can_run(&overrides, &two, &none),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "allreduce:flat needs memory"));
    assert_non_null(strstr(error_text(), "4 ranks on 2 hosts"));
    overrides_drop_unsupported(&overrides, &none);
    assert_null(overrides.entries[COLLECTIVE_ALLREDUCE]);
    assert_non_null(overrides.entries[COLLECTIVE_REDUCE]);
    assert_ok(overrides_check_can_run(&overrides, &two, &none));
}

static void
direct_algorithms_need_ranks_that_read_each_others_memory(void **state)
{
    struct plan_nodes here = {.n_ranks = 4, .n_nodes = 1};
    struct plan_shm_region shm_region = {.slot_capacity = 1 << 16};
    struct overrides overrides;

    assert_ok(overrides_parse("here", "allgather:direct", &overrides));
    assert_int_equal(overrides_check_can_run(&overrides, &here, &shm_region),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "allgather:direct needs ranks that"));
    assert_non_null(strstr(error_text(), "HOOP_CMA is off"));
    shm_region.has_cma = true;
    overrides_drop_unsupported(&overrides, &shm_region);
    assert_ok(overrides_check_can_run(&overrides, &here, &shm_region));
    assert_non_null(overrides.entries[COLLECTIVE_ALLGATHER]);
    shm_region.has_cma = false;
    overrides_drop_unsupported(&overrides, &shm_region);
    assert_null(overrides.entries[COLLECTIVE_ALLGATHER]);
}

static void
bad_lists_are_refused_with_what_there_is(void **state)
{
    static const struct {
        const char *text;
        const char *said;
    } rows[] = {
        {"ring", "here: 'ring' is not of the form collective:algorithm"},
        {"allreduce:ring,", "here: '' is not of the form"},
        {",allreduce:ring", "here: '' is not of the form"},
        {"gossip:ring", "no collective 'gossip' to choose an algorithm for; "
                        "there are: allreduce, reduce, broadcast"},
        {"allgatherv:ring", "no collective 'allgatherv'"},
        {":ring", "no collective ''"},
        {" allreduce:ring", "no collective ' allreduce'"},
        {"allreduce:rung", "no algorithm 'rung' for allreduce; there are: "
                           "ring"},
        {"allreduce:", "no algorithm '' for allreduce"},
        {"allreduce:ring:ring", "no algorithm 'ring:ring' for allreduce"},
        {"allreduce:ring,allreduce:ring", "here: two algorithms for allreduce"},
    };
    struct overrides overrides = {{NULL}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(overrides_parse("here", rows[i].text, &overrides),
                         HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), rows[i].said));
        assert_null(overrides.entries[COLLECTIVE_ALLREDUCE]);
    }
}

static void
endless_list_is_refused(void **state)
{
    char text[2 * LIMIT_SETTING];
    struct overrides overrides;

    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(overrides_parse("here", text, &overrides), HOOP_E_INVALID);
}

static void
every_collective_has_a_kind(void **state)
{
    assert_int_equal(collective_kind_of(CALL_ALLREDUCE), COLLECTIVE_ALLREDUCE);
    assert_int_equal(collective_kind_of(CALL_REDUCE), COLLECTIVE_REDUCE);
    assert_int_equal(collective_kind_of(CALL_BROADCAST), COLLECTIVE_BROADCAST);
    assert_int_equal(collective_kind_of(CALL_ALLGATHER), COLLECTIVE_ALLGATHER);
    assert_int_equal(collective_kind_of(CALL_REDUCE_SCATTER),
                     COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(collective_kind_of(CALL_GATHER), COLLECTIVE_GATHER);
    assert_int_equal(collective_kind_of(CALL_SCATTER), COLLECTIVE_SCATTER);
    assert_int_equal(collective_kind_of(CALL_ALLTOALL), COLLECTIVE_ALLTOALL);
    assert_int_equal(collective_kind_of(CALL_SCAN), COLLECTIVE_SCAN);
    assert_int_equal(collective_kind_of(CALL_EXSCAN), COLLECTIVE_EXSCAN);
    assert_int_equal(collective_kind_of(CALL_BARRIER), COLLECTIVE_BARRIER);
}

static void
forms_share_their_kind(void **state)
{
    assert_int_equal(collective_kind_of(CALL_ALLREDUCE_COALESCED),
                     COLLECTIVE_ALLREDUCE);
    assert_int_equal(collective_kind_of(CALL_BROADCAST_OBJECT),
                     COLLECTIVE_BROADCAST);
    assert_int_equal(collective_kind_of(CALL_AGREE), COLLECTIVE_BROADCAST);
    assert_int_equal(collective_kind_of(CALL_ALLGATHERV), COLLECTIVE_ALLGATHER);
    assert_int_equal(collective_kind_of(CALL_ALLGATHER_OBJECT),
                     COLLECTIVE_ALLGATHER);
    assert_int_equal(collective_kind_of(CALL_REDUCE_SCATTERV),
                     COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(collective_kind_of(CALL_GATHERV), COLLECTIVE_GATHER);
    assert_int_equal(collective_kind_of(CALL_GATHER_OBJECT), COLLECTIVE_GATHER);
    assert_int_equal(collective_kind_of(CALL_SCATTERV), COLLECTIVE_SCATTER);
    assert_int_equal(collective_kind_of(CALL_ALLTOALLV), COLLECTIVE_ALLTOALL);
}

static void
only_forms_with_counts_are_uneven(void **state)
{
    assert_true(collective_has_uneven_blocks(CALL_ALLTOALLV));
    assert_true(collective_has_uneven_blocks(CALL_GATHERV));
    assert_true(collective_has_uneven_blocks(CALL_SCATTERV));
    assert_true(collective_has_uneven_blocks(CALL_ALLGATHERV));
    assert_true(collective_has_uneven_blocks(CALL_REDUCE_SCATTERV));
    assert_true(collective_has_uneven_blocks(CALL_GATHER_OBJECT));
    assert_false(collective_has_uneven_blocks(CALL_ALLTOALL));
    assert_false(collective_has_uneven_blocks(CALL_ALLREDUCE));
    assert_false(collective_has_uneven_blocks(CALL_BARRIER));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_list_forces_nothing),
        cmocka_unit_test(list_names_one_algorithm_each),
        cmocka_unit_test(every_algorithm_of_the_registry_can_be_forced),
        cmocka_unit_test(
            flat_algorithms_need_a_hall_where_there_are_several_ranks),
        cmocka_unit_test(
            direct_algorithms_need_ranks_that_read_each_others_memory),
        cmocka_unit_test(bad_lists_are_refused_with_what_there_is),
        cmocka_unit_test(endless_list_is_refused),
        cmocka_unit_test(every_collective_has_a_kind),
        cmocka_unit_test(forms_share_their_kind),
        cmocka_unit_test(only_forms_with_counts_are_uneven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
