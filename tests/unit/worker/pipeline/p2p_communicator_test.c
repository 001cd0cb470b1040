/* tests/unit/worker/pipeline/p2p_communicator_test.c - created, and asked */

#include "hoop/p2p_communicator.h"

#include "couple_case.h"

static void
wrong_options_are_invalid(void **state)
{
    const enum hoop_dtype unknown = (enum hoop_dtype)99;
    struct hoop_p2p_options options = {.stages = both()};
    hoop_p2p_t *p2p = NULL;

    (void)state;
    assert_invalid(hoop_p2p_create(NULL, &p2p), "options is NULL");
    assert_invalid(hoop_p2p_create(&options, NULL), "out_p2p is NULL");
    options.dtype = &unknown;
    assert_invalid(hoop_p2p_create(&options, &p2p), "dtype 99");
    options.dtype = NULL;
    options.stages = NULL;
    assert_invalid(hoop_p2p_create(&options, &p2p), "stages is NULL");
    assert_null(p2p);
    hoop_p2p_free(NULL);
}

static void
neighbours_of(hoop_comm_t *comm, uint32_t next, uint32_t prev)
{
    const struct hoop_p2p_options options = {.stages = comm};
    hoop_p2p_t *p2p = NULL;

    assert_int_equal(hoop_p2p_create(&options, &p2p), HOOP_OK);
    assert_int_equal(hoop_p2p_next(p2p), next);
    assert_int_equal(hoop_p2p_prev(p2p), prev);
    hoop_p2p_free(p2p);
}

static void
neighbours_wrap_around(void **state)
{
    (void)state;
    neighbours_of(both(), 1, 1);
    neighbours_of(alone(), 0, 0);
}

static void
no_member_has_no_neighbours(void **state)
{
    (void)state;
    neighbours_of(foreign(), HOOP_NO_RANK, HOOP_NO_RANK);
    assert_int_equal(hoop_p2p_next(NULL), HOOP_NO_RANK);
    assert_int_equal(hoop_p2p_prev(NULL), HOOP_NO_RANK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_options_are_invalid),
        COUPLE_TEST(neighbours_wrap_around),
        COUPLE_TEST(no_member_has_no_neighbours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
