/* tests/unit/worker/select/collective_kind_test.c - select/overrides.c */

#include "check.h"
#include "select/overrides.h"

static void
every_collective_has_a_kind(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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
        cmocka_unit_test(every_collective_has_a_kind),
        cmocka_unit_test(forms_share_their_kind),
        cmocka_unit_test(only_forms_with_counts_are_uneven),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
