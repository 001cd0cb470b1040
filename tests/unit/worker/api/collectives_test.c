/* tests/unit/worker/api/collectives_test.c - api/collectives.c */

#include <string.h>

#include "hoop/hoop.h"

#include "engine_pair_api.h"
#include "engine_pair_fixture.h"

static int
both_forms_reduce_out_of_place(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine[3] = {1, 2, 10 * (int32_t)side->rank};
    int32_t result[4] = {0, 0, 0, -1};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allreduce(mine, result, 3, HOOP_INT32, HOOP_SUM, comm) ==
               HOOP_OK);
    SIDE_CHECK(result[0] == 2 && result[1] == 4 && result[2] == 10);
    SIDE_CHECK(result[3] == -1);
    SIDE_CHECK(mine[2] == 10 * (int32_t)side->rank);
    memset(result, 0, sizeof(result));
    SIDE_CHECK(finish(hoop_allreduce_start(mine, result, 3, HOOP_INT32,
                                           HOOP_MAX, comm, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(result[0] == 1 && result[1] == 2 && result[2] == 10);
    return 0;
}

static int
in_place_may_be_said_in_three_ways(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    double value = 1 + side->rank;

    SIDE_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_FLOAT64, HOOP_SUM,
                              comm) == HOOP_OK);
    SIDE_CHECK(value == 3);
    SIDE_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_FLOAT64, HOOP_SUM,
                              comm) == HOOP_OK);
    SIDE_CHECK(value == 6);
    SIDE_CHECK(hoop_allreduce(&value, &value, 1, HOOP_FLOAT64, HOOP_AVG,
                              comm) == HOOP_OK);
    SIDE_CHECK(value == 6);
    return 0;
}

static void
one_rank_alone_has_its_input(void **state)
{
    const int16_t mine[2] = {7, -7};
    int16_t result[2] = {0, 0};

    (void)state;
    assert_int_equal(hoop_allreduce(mine, result, 2, HOOP_INT16, HOOP_AVG,
                                    &engine_pair.sides[0].alone),
                     HOOP_OK);
    assert_memory_equal(mine, result, sizeof(mine));
}

static int
both_forms_return(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_barrier(comm) == HOOP_OK);
    SIDE_CHECK(finish(hoop_barrier_start(comm, &op), &op) == HOOP_OK);
    return 0;
}

static atomic_uint n_arrived;

static int
nobody_returns_before_everybody_has_called(struct side *side)
{
    for (unsigned i = 1; i <= 200; i++) {
        atomic_fetch_add(&n_arrived, 1);
        SIDE_CHECK(hoop_barrier(&side->comms[1]) == HOOP_OK);
        SIDE_CHECK(atomic_load(&n_arrived) >= 2 * i);
    }
    return 0;
}

static void
one_rank_alone_waits_for_nobody(void **state)
{
    (void)state;
    assert_int_equal(hoop_barrier(&engine_pair.sides[0].alone), HOOP_OK);
}

static int
everybody_has_what_the_root_had(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const int32_t mine = 10 + (int32_t)side->rank;
        const int32_t *send = side->rank == root ? &mine : NULL;
        int32_t result = 0;

        SIDE_CHECK(hoop_broadcast(send, &result, 1, HOOP_INT32, root, comm) ==
                   HOOP_OK);
        SIDE_CHECK(result == 10 + (int32_t)root);
        result = 0;
        SIDE_CHECK(finish(hoop_broadcast_start(send, &result, 1, HOOP_INT32,
                                               root, comm, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(result == 10 + (int32_t)root);
    }
    return 0;
}

static int
in_place_uses_one_buffer_for_both(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    int32_t value = 20 + (int32_t)side->rank;

    SIDE_CHECK(hoop_broadcast(HOOP_IN_PLACE, &value, 1, HOOP_INT32, 1, comm) ==
               HOOP_OK);
    SIDE_CHECK(value == 21);
    value += (int32_t)side->rank;
    SIDE_CHECK(hoop_broadcast(&value, HOOP_IN_PLACE, 1, HOOP_INT32, 0, comm) ==
               HOOP_OK);
    SIDE_CHECK(value == 21);
    value += (int32_t)side->rank;
    SIDE_CHECK(hoop_broadcast(&value, &value, 1, HOOP_INT32, 1, comm) ==
               HOOP_OK);
    SIDE_CHECK(value == 22);
    return 0;
}

static void
root_without_a_buffer_is_invalid(void **state)
{
    int32_t result = 0;

    (void)state;
    assert_int_equal(hoop_broadcast(NULL, &result, 1, HOOP_INT32, 0,
                                    &engine_pair.sides[0].comms[0]),
                     HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "send is NULL on rank 0");
    assert_int_equal(hoop_broadcast(NULL, NULL, 1, HOOP_INT32, 0,
                                    &engine_pair.sides[1].comms[0]),
                     HOOP_E_INVALID);
}

static int
result_is_on_the_root_alone(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine[2] = {1, 5 * (int32_t)side->rank};
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        int32_t result[2] = {-1, -1};

        SIDE_CHECK(hoop_reduce(mine, result, 2, HOOP_INT32, HOOP_SUM, root,
                               comm) == HOOP_OK);
        SIDE_CHECK(result[0] == (side->rank == root ? 2 : -1));
        SIDE_CHECK(result[1] == (side->rank == root ? 5 : -1));
        SIDE_CHECK(finish(hoop_reduce_start(mine, result, 2, HOOP_INT32,
                                            HOOP_MIN, root, comm, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(result[0] == (side->rank == root ? 1 : -1));
    }
    return 0;
}

static int
recv_may_be_null_elsewhere(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine = 3;
    int32_t result = 0;
    int32_t *recv = side->rank == 1 ? &result : NULL;

    SIDE_CHECK(hoop_reduce(&mine, recv, 1, HOOP_INT32, HOOP_PRODUCT, 1, comm) ==
               HOOP_OK);
    SIDE_CHECK(result == (side->rank == 1 ? 9 : 0));
    return 0;
}

static int
in_place_keeps_the_input_elsewhere(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    int32_t value = 3 + (int32_t)side->rank;

    SIDE_CHECK(hoop_reduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM, 0,
                           comm) == HOOP_OK);
    /* Elsewhere the buffer keeps its input. */
    SIDE_CHECK(value == (side->rank == 0 ? 7 : 4));
    SIDE_CHECK(hoop_reduce(&value, HOOP_IN_PLACE, 1, HOOP_INT32, HOOP_SUM, 1,
                           comm) == HOOP_OK);
    SIDE_CHECK(value == (side->rank == 0 ? 7 : 11));
    return 0;
}

static int
each_rank_has_its_own_block(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine[4] = {1, 2, 3, 4 * (int32_t)side->rank};
    int32_t result[3] = {0, 0, -1};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_reduce_scatter(mine, result, 2, HOOP_INT32, HOOP_SUM,
                                   comm) == HOOP_OK);
    SIDE_CHECK(result[0] == (side->rank ? 6 : 2));
    SIDE_CHECK(result[1] == 4);
    SIDE_CHECK(result[2] == -1);
    SIDE_CHECK(finish(hoop_reduce_scatter_start(mine, result, 2, HOOP_INT32,
                                                HOOP_MAX, comm, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(result[0] == (side->rank ? 3 : 1));
    SIDE_CHECK(result[1] == (side->rank ? 4 : 2));
    return 0;
}

static int
in_place_has_the_result_at_its_beginning(struct side *side)
{
    int32_t values[4] = {1, 2, 3, 4};

    SIDE_CHECK(hoop_reduce_scatter(HOOP_IN_PLACE, values, 2, HOOP_INT32,
                                   HOOP_SUM, &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(values[0] == (side->rank ? 6 : 2));
    SIDE_CHECK(values[1] == (side->rank ? 8 : 4));
    /* The rest stays as it was. */
    SIDE_CHECK(values[2] == 3 && values[3] == 4);
    return 0;
}

static int
uneven_blocks_may_be_empty(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const size_t counts[2] = {1, 3};
    const size_t lopsided[2] = {4, 0};
    const int32_t mine[4] = {1, 2, 3, 4};
    int32_t result[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_reduce_scatterv(mine, result, counts, HOOP_INT32, HOOP_SUM,
                                    comm) == HOOP_OK);
    SIDE_CHECK(result[0] == (side->rank ? 4 : 2));
    SIDE_CHECK(result[2] == (side->rank ? 8 : 0));
    memset(result, 0, sizeof(result));
    SIDE_CHECK(
        finish(hoop_reduce_scatterv_start(mine, result, lopsided, HOOP_INT32,
                                          HOOP_AVG, comm, &op),
               &op) == HOOP_OK);
    SIDE_CHECK(result[3] == (side->rank ? 0 : 4));
    return 0;
}

static int
each_rank_has_what_came_before_it(struct side *side)
{
    int32_t mine[2] = {3 + (int32_t)side->rank, 5};
    const int32_t sums[2][2] = {{3, 5}, {7, 10}};
    const int32_t before[2][2] = {{-1, -1}, {3, 5}};
    int32_t came[2] = {-1, -1};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_exscan(mine, came, 2, HOOP_INT32, HOOP_SUM, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(values_are(came, before[side->rank], 2));
    SIDE_CHECK(hoop_scan(mine, came, 2, HOOP_INT32, HOOP_SUM, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(values_are(came, sums[side->rank], 2));
    SIDE_CHECK(finish(hoop_scan_start(HOOP_IN_PLACE, mine, 2, HOOP_INT32,
                                      HOOP_SUM, side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, sums[side->rank], 2));
    SIDE_CHECK(finish(hoop_exscan_start(mine, HOOP_IN_PLACE, 2, HOOP_INT32,
                                        HOOP_SUM, side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, sums[0], 2));
    return 0;
}

static void
average_is_invalid(void **state)
{
    int32_t values[2] = {0};

    (void)state;
    assert_invalid(
        hoop_scan(HOOP_IN_PLACE, values, 2, HOOP_INT32, HOOP_AVG, both()),
        "a scan has no avg: use HOOP_SUM and divide");
    assert_invalid(
        hoop_exscan(HOOP_IN_PLACE, values, 2, HOOP_INT32, HOOP_AVG, both()),
        "a scan has no avg");
}

static int
blocks_stand_in_rank_order(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine[2] = {10 + (int32_t)side->rank,
                             20 + (int32_t)side->rank};
    const int32_t all[4] = {10, 20, 11, 21};
    int32_t result[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgather(mine, result, 2, HOOP_INT32, comm) == HOOP_OK);
    SIDE_CHECK(memcmp(result, all, sizeof(all)) == 0);
    memset(result, 0, sizeof(result));
    SIDE_CHECK(
        finish(hoop_allgather_start(mine, result, 2, HOOP_INT32, comm, &op),
               &op) == HOOP_OK);
    SIDE_CHECK(memcmp(result, all, sizeof(all)) == 0);
    return 0;
}

static int
in_place_takes_what_lies_at_its_rank(struct side *side)
{
    int32_t result[4] = {0};

    result[2 * side->rank] = 1 + (int32_t)side->rank;
    result[2 * side->rank + 1] = 5;
    SIDE_CHECK(hoop_allgather(HOOP_IN_PLACE, result, 2, HOOP_INT32,
                              &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(result[0] == 1 && result[1] == 5);
    SIDE_CHECK(result[2] == 2 && result[3] == 5);
    return 0;
}

static int
uneven_blocks_are_packed_and_may_be_empty(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const size_t counts[2] = {3, 1};
    const size_t lopsided[2] = {0, 2};
    const int32_t mine[3] = {1 + (int32_t)side->rank, 3, 4};
    int32_t result[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgatherv(mine, result, counts, HOOP_INT32, comm) ==
               HOOP_OK);
    SIDE_CHECK(result[0] == 1 && result[1] == 3 && result[2] == 4);
    SIDE_CHECK(result[3] == 2);
    memset(result, 0, sizeof(result));
    SIDE_CHECK(finish(hoop_allgatherv_start(mine, result, lopsided, HOOP_INT32,
                                            comm, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(result[0] == 2 && result[1] == 3 && result[2] == 0);
    return 0;
}

static int
root_has_every_block(struct side *side)
{
    const int32_t base = 10 * (int32_t)side->rank;
    const int32_t mine[2] = {base + 1, base + 2};
    const int32_t all[4] = {1, 2, 11, 12};
    const int32_t untouched[4] = {-1, -1, -1, -1};
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const bool is_root = side->rank == root;
        int32_t came[4] = {-1, -1, -1, -1};
        int32_t later[4] = {-1, -1, -1, -1};

        SIDE_CHECK(hoop_gather(mine, came, 2, HOOP_INT32, root, side->comms) ==
                   HOOP_OK);
        SIDE_CHECK(values_are(came, is_root ? all : untouched, 4));
        SIDE_CHECK(finish(hoop_gather_start(mine, is_root ? later : NULL, 2,
                                            HOOP_INT32, root, side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(values_are(later, is_root ? all : untouched, 4));
    }
    return 0;
}

static int
uneven_blocks_are_packed(struct side *side)
{
    const size_t counts[2] = {0, 3};
    const int32_t mine[3] = {5, 6, 7};
    const int32_t *send = side->rank == 0 ? NULL : mine;
    int32_t came[4] = {-1, -1, -1, -1};
    int32_t *recv = side->rank == 0 ? came : NULL;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_gatherv(send, recv, counts, HOOP_INT32, 0, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(side->rank == 1 ||
               values_are(came, (int32_t[]){5, 6, 7, -1}, 4));
    memset(came, 0, sizeof(came));
    SIDE_CHECK(finish(hoop_gatherv_start(send, recv, counts, HOOP_INT32, 0,
                                         side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(side->rank == 1 || values_are(came, (int32_t[]){5, 6, 7, 0}, 4));
    return 0;
}

static int
in_place_finds_the_roots_block_at_its_place(struct side *side)
{
    int32_t values[4] = {-1, -1, 11, 12};
    const int32_t other[4] = {1, 2, -5, -5};

    if (side->rank == 0)
        memcpy(values, other, sizeof(values));
    SIDE_CHECK(hoop_gather(HOOP_IN_PLACE, values, 2, HOOP_INT32, 1,
                           side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(
        values, side->rank == 1 ? (int32_t[]){1, 2, 11, 12} : other, 4));
    return 0;
}

static int
each_rank_has_its_block(struct side *side)
{
    const int32_t all[4] = {1, 2, 11, 12};
    const int32_t *mine = all + 2 * side->rank;
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const int32_t *send = side->rank == root ? all : NULL;
        int32_t came[3] = {-1, -1, -1};
        int32_t later[3] = {-1, -1, -1};

        SIDE_CHECK(hoop_scatter(send, came, 2, HOOP_INT32, root, side->comms) ==
                   HOOP_OK);
        SIDE_CHECK(values_are(came, mine, 2) && came[2] == -1);
        SIDE_CHECK(finish(hoop_scatter_start(send, later, 2, HOOP_INT32, root,
                                             side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(values_are(later, mine, 2) && later[2] == -1);
    }
    return 0;
}

static int
uneven_blocks_are_taken_from_their_places(struct side *side)
{
    const size_t counts[2] = {3, 0};
    const int32_t all[3] = {5, 6, 7};
    const int32_t *send = side->rank == 1 ? all : NULL;
    int32_t came[3] = {-1, -1, -1};
    int32_t *recv = side->rank == 0 ? came : NULL;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_scatterv(send, recv, counts, HOOP_INT32, 1, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(side->rank == 1 || values_are(came, all, 3));
    memset(came, 0, sizeof(came));
    SIDE_CHECK(finish(hoop_scatterv_start(send, recv, counts, HOOP_INT32, 1,
                                          side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(side->rank == 1 || values_are(came, all, 3));
    return 0;
}

static int
in_place_leaves_the_root_as_it_was(struct side *side)
{
    const int32_t all[4] = {1, 2, 11, 12};
    int32_t values[4] = {-1, -1, -1, -1};

    if (side->rank == 1)
        memcpy(values, all, sizeof(values));
    SIDE_CHECK(hoop_scatter(values, HOOP_IN_PLACE, 2, HOOP_INT32, 1,
                            side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(
        values, side->rank == 1 ? all : (int32_t[]){1, 2, -1, -1}, 4));
    return 0;
}

static int
block_s_is_what_rank_s_sent(struct side *side)
{
    const int32_t base = 10 * (int32_t)side->rank;
    const int32_t place = 2 * (int32_t)side->rank;
    int32_t mine[4] = {base, base + 1, base + 2, base + 3};
    const int32_t expected[4] = {place, place + 1, 10 + place, 11 + place};
    int32_t came[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_alltoall(mine, came, 2, HOOP_INT32, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(values_are(came, expected, 4));
    SIDE_CHECK(finish(hoop_alltoall_start(mine, HOOP_IN_PLACE, 2, HOOP_INT32,
                                          side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, expected, 4));
    return 0;
}

/* Rank 0 sends 1 to itself and 2 to rank 1, which sends nothing to rank 0 and
 * 3 to itself. */
static int
alltoall_uneven_blocks_are_packed(struct side *side)
{
    static const size_t counts[2][2] = {{1, 2}, {0, 3}};
    const size_t coming[2] = {counts[0][side->rank], counts[1][side->rank]};
    int32_t mine[5] = {10, 11, 12, -1, -1};
    int32_t came[5] = {-1, -1, -1, -1, -1};
    const int32_t expected[2][5] = {{10, -1, -1, -1, -1}, {11, 12, 10, 11, 12}};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_alltoallv(mine, counts[side->rank], came, coming,
                              HOOP_INT32, side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(came, expected[side->rank], 5));
    SIDE_CHECK(
        finish(hoop_alltoallv_start(HOOP_IN_PLACE, counts[side->rank], mine,
                                    coming, HOOP_INT32, side->comms, &op),
               &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, expected[side->rank], side->rank ? 5 : 1));
    return 0;
}

static void
counts_that_cannot_be_are_invalid(void **state)
{
    int32_t values[8] = {0};
    const size_t out[2] = {1, 2};
    const size_t in[2] = {3, 1};
    const size_t large[2] = {1, SIZE_MAX};

    (void)state;
    assert_invalid(hoop_alltoallv(values, NULL, values, in, HOOP_INT32, both()),
                   "counts is NULL");
    assert_invalid(
        hoop_alltoallv(values, out, values, NULL, HOOP_INT32, both()),
        "recv_counts is NULL");
    assert_invalid(
        hoop_alltoallv(values, out, values, in, HOOP_INT32, both()),
        "rank 0 sends 1 elements to itself, but receives 3 from itself");
    assert_invalid(
        hoop_alltoallv(values, out, values, large, HOOP_INT32, both()),
        "more than 2^64");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(both_forms_reduce_out_of_place),
        SIDES_TEST(in_place_may_be_said_in_three_ways),
        ENGINE_PAIR_TEST(one_rank_alone_has_its_input),
        SIDES_TEST(both_forms_return),
        SIDES_TEST(nobody_returns_before_everybody_has_called),
        ENGINE_PAIR_TEST(one_rank_alone_waits_for_nobody),
        SIDES_TEST(everybody_has_what_the_root_had),
        SIDES_TEST(in_place_uses_one_buffer_for_both),
        ENGINE_PAIR_TEST(root_without_a_buffer_is_invalid),
        SIDES_TEST(result_is_on_the_root_alone),
        SIDES_TEST(recv_may_be_null_elsewhere),
        SIDES_TEST(in_place_keeps_the_input_elsewhere),
        SIDES_TEST(each_rank_has_its_own_block),
        SIDES_TEST(in_place_has_the_result_at_its_beginning),
        SIDES_TEST(uneven_blocks_may_be_empty),
        SIDES_TEST(each_rank_has_what_came_before_it),
        ENGINE_PAIR_TEST(average_is_invalid),
        SIDES_TEST(blocks_stand_in_rank_order),
        SIDES_TEST(in_place_takes_what_lies_at_its_rank),
        SIDES_TEST(uneven_blocks_are_packed_and_may_be_empty),
        SIDES_TEST(root_has_every_block),
        SIDES_TEST(uneven_blocks_are_packed),
        SIDES_TEST(in_place_finds_the_roots_block_at_its_place),
        SIDES_TEST(each_rank_has_its_block),
        SIDES_TEST(uneven_blocks_are_taken_from_their_places),
        SIDES_TEST(in_place_leaves_the_root_as_it_was),
        SIDES_TEST(block_s_is_what_rank_s_sent),
        SIDES_TEST(alltoall_uneven_blocks_are_packed),
        ENGINE_PAIR_TEST(counts_that_cannot_be_are_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
