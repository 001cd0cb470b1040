/* tests/unit/worker/api/select_test.c - api/collective.c */

#include "algorithms/algorithms.h"
#include "api/collective.h"
#include "check.h"

static void
without_a_table_the_first_of_each_is_taken(void **state)
{
    const struct hoop_comm comm = {0};

    (void)state;
    assert_ptr_equal(select_algorithm(&comm, CALL_ALLREDUCE, 8),
                     &algorithm_allreduce_ring);
    assert_ptr_equal(select_algorithm(&comm, CALL_REDUCE, 8),
                     &algorithm_reduce_chain);
    assert_ptr_equal(select_algorithm(&comm, CALL_BARRIER, 0),
                     &algorithm_barrier_dissemination);
}

static void
even_and_uneven_forms_share_their_algorithm(void **state)
{
    const struct hoop_comm comm = {0};

    (void)state;
    assert_ptr_equal(select_algorithm(&comm, CALL_ALLGATHER, 8),
                     select_algorithm(&comm, CALL_ALLGATHERV, 8));
    assert_ptr_equal(select_algorithm(&comm, CALL_REDUCE_SCATTER, 8),
                     select_algorithm(&comm, CALL_REDUCE_SCATTERV, 8));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_table_the_first_of_each_is_taken),
        cmocka_unit_test(even_and_uneven_forms_share_their_algorithm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
