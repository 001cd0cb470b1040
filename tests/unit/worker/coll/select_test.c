/* tests/unit/worker/coll/select_test.c - coll/select.c */

#include "check.h"
#include "coll/select.h"
#include "plan/algorithms.h"

static void
every_collective_has_its_algorithm(void **state)
{
    (void)state;
    assert_ptr_equal(select_algorithm(CALL_ALLREDUCE),
                     &algorithm_allreduce_ring);
    assert_ptr_equal(select_algorithm(CALL_REDUCE), &algorithm_reduce_chain);
    assert_ptr_equal(select_algorithm(CALL_BROADCAST),
                     &algorithm_broadcast_chain);
    assert_ptr_equal(select_algorithm(CALL_BARRIER),
                     &algorithm_barrier_dissemination);
}

static void
even_and_uneven_forms_share_their_algorithm(void **state)
{
    (void)state;
    assert_ptr_equal(select_algorithm(CALL_ALLGATHER),
                     &algorithm_allgather_ring);
    assert_ptr_equal(select_algorithm(CALL_ALLGATHERV),
                     &algorithm_allgather_ring);
    assert_ptr_equal(select_algorithm(CALL_REDUCE_SCATTER),
                     &algorithm_reduce_scatter_ring);
    assert_ptr_equal(select_algorithm(CALL_REDUCE_SCATTERV),
                     &algorithm_reduce_scatter_ring);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_has_its_algorithm),
        cmocka_unit_test(even_and_uneven_forms_share_their_algorithm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
