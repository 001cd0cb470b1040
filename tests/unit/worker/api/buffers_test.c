/* tests/unit/worker/api/buffers_test.c - api/collective.c */

#include "api/collective.h"
#include "couple_case.h"

static int32_t here[8];
static int32_t there[8];

/* As rank 0 of both, for one count. */
static struct collective_buffers
buffers(unsigned parts, const void *send, void *recv, uint32_t root)
{
    const struct collective collective = {
        .parts = parts,
        .send = send,
        .recv = recv,
        .count = 2,
        .dtype = HOOP_INT32,
        .root = root,
    };

    return buffers_from_collective(&collective, both());
}

static void
two_buffers_are_read_and_written(void **state)
{
    const struct collective_buffers two =
        buffers(COLL_RECV_ALL, here, there, 0);

    (void)state;
    assert_ptr_equal(two.input, here);
    assert_ptr_equal(two.output, there);
    assert_false(two.is_in_place);
    assert_int_equal(two.n_input, 2);
    assert_int_equal(two.n_output, 4);
}

static void
one_buffer_is_in_place_however_it_is_said(void **state)
{
    const struct collective_buffers ways[] = {
        buffers(COLL_SEND_ALL, here, here, 0),
        buffers(COLL_SEND_ALL, HOOP_IN_PLACE, here, 0),
        buffers(COLL_SEND_ALL, here, HOOP_IN_PLACE, 0),
    };

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(ways[i].is_in_place);
        assert_ptr_equal(ways[i].input, here);
        assert_ptr_equal(ways[i].output, here);
        assert_int_equal(ways[i].n_input, 4);
        assert_int_equal(ways[i].n_output, 2);
    }
}

static void
only_one_buffer_matters_away_from_the_root(void **state)
{
    const struct collective_buffers out =
        buffers(COLL_HAS_ROOT | COLL_SEND_AT_ROOT, NULL, there, 1);
    const struct collective_buffers in = buffers(
        COLL_HAS_ROOT | COLL_RECV_AT_ROOT | COLL_RECV_ALL, here, NULL, 1);

    (void)state;
    assert_ptr_equal(out.input, there);
    assert_int_equal(out.n_input, 0);
    assert_ptr_equal(in.output, here);
    assert_int_equal(in.n_output, 0);
}

static void
overlapping_buffers_are_invalid(void **state)
{
    int32_t values[8] = {0};
    const char *why = "overlap on rank 0 and are not the same: use "
                      "HOOP_IN_PLACE or two buffers";

    (void)state;
    assert_invalid(
        hoop_allreduce(values, values + 1, 2, HOOP_INT32, HOOP_SUM, both()),
        why);
    assert_invalid(
        hoop_allreduce(values + 1, values, 2, HOOP_INT32, HOOP_SUM, both()),
        why);
    assert_invalid(hoop_allgather(values + 3, values, 2, HOOP_INT32, both()),
                   why);
    assert_invalid(hoop_reduce_scatter(values, values + 2, 2, HOOP_INT32,
                                       HOOP_SUM, both()),
                   why);
}

static int
side_neighbours(struct side *side)
{
    int32_t values[8] = {1, 1, 1, 1, 0, 0, 0, 0};

    SIDE_CHECK(hoop_allreduce(values, values + 4, 4, HOOP_INT32, HOOP_SUM,
                              side->comms) == HOOP_OK);
    SIDE_CHECK(values[4] == 2 && values[7] == 2 && values[3] == 1);
    /* Where recv is not looked at. */
    SIDE_CHECK(hoop_gather(values, values + (side->rank == 0 ? 1 : 4), 2,
                           HOOP_INT32, 1, side->comms) == HOOP_OK);
    return 0;
}

static void
adjacent_buffers_do_not_overlap(void **state)
{
    (void)state;
    couple_run(&couple, side_neighbours);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(two_buffers_are_read_and_written),
        COUPLE_TEST(one_buffer_is_in_place_however_it_is_said),
        COUPLE_TEST(only_one_buffer_matters_away_from_the_root),
        COUPLE_TEST(overlapping_buffers_are_invalid),
        COUPLE_TEST(adjacent_buffers_do_not_overlap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
