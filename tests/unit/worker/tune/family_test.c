/* tests/unit/worker/tune/family_test.c - tune/family.c */

#include "check.h"
#include "tune/family.h"

static void
every_collective_has_a_family(void **state)
{
    (void)state;
    assert_int_equal(family_of(CALL_ALLREDUCE), CATALOG_ALLREDUCE);
    assert_int_equal(family_of(CALL_REDUCE), CATALOG_REDUCE);
    assert_int_equal(family_of(CALL_BROADCAST), CATALOG_BROADCAST);
    assert_int_equal(family_of(CALL_ALLGATHER), CATALOG_ALLGATHER);
    assert_int_equal(family_of(CALL_REDUCE_SCATTER), CATALOG_REDUCE_SCATTER);
    assert_int_equal(family_of(CALL_GATHER), CATALOG_GATHER);
    assert_int_equal(family_of(CALL_SCATTER), CATALOG_SCATTER);
    assert_int_equal(family_of(CALL_ALLTOALL), CATALOG_ALLTOALL);
    assert_int_equal(family_of(CALL_SCAN), CATALOG_SCAN);
    assert_int_equal(family_of(CALL_EXSCAN), CATALOG_EXSCAN);
    assert_int_equal(family_of(CALL_BARRIER), CATALOG_BARRIER);
}

static void
forms_share_their_family(void **state)
{
    (void)state;
    assert_int_equal(family_of(CALL_ALLREDUCE_COALESCED), CATALOG_ALLREDUCE);
    assert_int_equal(family_of(CALL_BROADCAST_OBJECT), CATALOG_BROADCAST);
    assert_int_equal(family_of(CALL_AGREE), CATALOG_BROADCAST);
    assert_int_equal(family_of(CALL_ALLGATHERV), CATALOG_ALLGATHER);
    assert_int_equal(family_of(CALL_ALLGATHER_OBJECT), CATALOG_ALLGATHER);
    assert_int_equal(family_of(CALL_REDUCE_SCATTERV), CATALOG_REDUCE_SCATTER);
    assert_int_equal(family_of(CALL_GATHERV), CATALOG_GATHER);
    assert_int_equal(family_of(CALL_GATHER_OBJECT), CATALOG_GATHER);
    assert_int_equal(family_of(CALL_SCATTERV), CATALOG_SCATTER);
    assert_int_equal(family_of(CALL_ALLTOALLV), CATALOG_ALLTOALL);
}

static void
only_forms_with_counts_are_uneven(void **state)
{
    (void)state;
    assert_true(family_is_uneven(CALL_ALLTOALLV));
    assert_true(family_is_uneven(CALL_GATHERV));
    assert_true(family_is_uneven(CALL_SCATTERV));
    assert_true(family_is_uneven(CALL_ALLGATHERV));
    assert_true(family_is_uneven(CALL_REDUCE_SCATTERV));
    assert_true(family_is_uneven(CALL_GATHER_OBJECT));
    assert_false(family_is_uneven(CALL_ALLTOALL));
    assert_false(family_is_uneven(CALL_ALLREDUCE));
    assert_false(family_is_uneven(CALL_BARRIER));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_has_a_family),
        cmocka_unit_test(forms_share_their_family),
        cmocka_unit_test(only_forms_with_counts_are_uneven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
