/* tests/unit/worker/api/collective_test.c - api/collective.c */

#include <stdint.h>
#include <string.h>

#include "hoop/hoop.h"

#include "api/collective.h"
#include "check.h"
#include "default_config.h"
#include "engine_pair.h"
#include "engine_pair_api.h"
#include "engine_pair_fixture.h"
#include "select/tuner.h"

static int32_t here[8];
static int32_t there[8];

static int
engine_pair_set_up_zeroed(void **state)
{
    engine_pair_set_up(state);
    memset(here, 0, sizeof(here));
    memset(there, 0, sizeof(there));
    return 0;
}

static void
null_communicator_is_invalid(void **state)
{
    assert_invalid(hoop_allreduce(here, there, 1, HOOP_INT32, HOOP_SUM, NULL),
                   "comm is NULL");
    assert_invalid(hoop_barrier(NULL), "comm is NULL");
}

static void
no_member_has_nothing_to_call(void **state)
{
    struct hoop_comm foreign = {.context = NULL};
    hoop_op_t *op = NULL;

    there[0] = 5;
    assert_ok(hoop_allreduce(here, there, 1, HOOP_INT32, HOOP_SUM, &foreign));
    assert_ok(
        hoop_broadcast_start(NULL, there, 1, HOOP_INT32, 7, &foreign, &op));
    assert_ok(hoop_test(op));
    assert_ok(hoop_barrier(&foreign));
    assert_int_equal(there[0], 5);
}

static void
null_operation_is_invalid(void **state)
{
    assert_invalid(hoop_barrier_start(both(), NULL), "out_op is NULL");
    assert_invalid(hoop_allreduce_start(here, there, 1, HOOP_INT32, HOOP_SUM,
                                        both(), NULL),
                   "out_op is NULL");
}

static void
unknown_dtype_is_invalid(void **state)
{
    assert_invalid(hoop_allgather(here, there, 1, (enum hoop_dtype)15, both()),
                   "dtype 15");
    assert_invalid(
        hoop_allgather(here, there, 1, (enum hoop_dtype) - 1, both()),
        "dtype -1");
}

static void
reduction_without_a_meaning_is_invalid(void **state)
{
    assert_invalid(
        hoop_allreduce(here, there, 1, HOOP_FLOAT32, HOOP_BAND, both()),
        "band of float32 has no meaning");
    assert_invalid(
        hoop_allreduce(here, there, 1, HOOP_COMPLEX64, HOOP_MAX, both()),
        "max of complex64");
    assert_invalid(hoop_allreduce(here, there, 1, HOOP_BOOL, HOOP_AVG, both()),
                   "avg of bool");
    assert_invalid(hoop_allreduce(here, there, 1, HOOP_INT32,
                                  (enum hoop_reduce_op)5, both()),
                   "reduce operator 5 is not known to hoop");
}

static void
root_outside_is_invalid(void **state)
{
    assert_invalid(hoop_broadcast(here, there, 1, HOOP_INT32, 2, both()),
                   "root 2 is not below the communicator's size, 2");
    assert_invalid(
        hoop_reduce(here, there, 1, HOOP_INT32, HOOP_SUM, UINT32_MAX, both()),
        "root 4294967295");
    assert_invalid(hoop_broadcast(here, there, 1, HOOP_INT32, 1, alone()),
                   "size, 1");
}

static void
counts_that_overflow_are_invalid(void **state)
{
    const size_t counts[] = {SIZE_MAX, 1};
    const size_t large[] = {SIZE_MAX / 8, 9};

    assert_invalid(
        hoop_allreduce(here, there, SIZE_MAX, HOOP_INT32, HOOP_SUM, both()),
        "too many");
    assert_invalid(hoop_allreduce(here, there, (size_t)INT64_MAX / 4 + 1,
                                  HOOP_INT32, HOOP_SUM, both()),
                   "too many");
    assert_invalid(
        hoop_allgather(here, there, SIZE_MAX / 2 + 1, HOOP_INT8, both()),
        "overflow");
    assert_invalid(hoop_allgatherv(here, there, counts, HOOP_INT8, both()),
                   "add up to more");
    assert_invalid(hoop_allgatherv(here, there, large, HOOP_INT32, both()),
                   "too many");
}

static void
missing_counts_are_invalid(void **state)
{
    hoop_op_t *op = NULL;

    assert_invalid(hoop_allgatherv(here, there, NULL, HOOP_INT32, both()),
                   "counts is NULL");
    assert_invalid(
        hoop_allgatherv_start(here, there, NULL, HOOP_INT32, both(), &op),
        "counts is NULL");
    assert_invalid(
        hoop_reduce_scatterv(here, there, NULL, HOOP_INT32, HOOP_SUM, both()),
        "counts is NULL");
    assert_invalid(hoop_reduce_scatterv_start(here, there, NULL, HOOP_INT32,
                                              HOOP_SUM, both(), &op),
                   "counts is NULL");
    assert_null(op);
}

static void
null_buffers_are_invalid_unless_they_are_empty(void **state)
{
    assert_invalid(hoop_allreduce(NULL, there, 1, HOOP_INT32, HOOP_SUM, both()),
                   "send is NULL on rank 0");
    assert_invalid(hoop_allreduce(here, NULL, 1, HOOP_INT32, HOOP_SUM, both()),
                   "recv is NULL on rank 0");
    assert_invalid(
        hoop_allreduce(HOOP_IN_PLACE, NULL, 1, HOOP_INT32, HOOP_SUM, both()),
        "NULL on rank 0");
    assert_ok(hoop_allreduce(NULL, NULL, 0, HOOP_INT32, HOOP_SUM, alone()));
}

static void
in_place_twice_is_invalid(void **state)
{
    assert_invalid(hoop_allreduce(HOOP_IN_PLACE, HOOP_IN_PLACE, 1, HOOP_INT32,
                                  HOOP_SUM, both()),
                   "cannot both be HOOP_IN_PLACE");
    assert_invalid(hoop_allreduce(HOOP_IN_PLACE, HOOP_IN_PLACE, 0, HOOP_INT32,
                                  HOOP_SUM, both()),
                   "cannot both be HOOP_IN_PLACE");
}

/* Nothing was sent, no number drawn: the next call still fits the other's. */
static int
refused_call_has_no_consequence(struct side *side)
{
    int32_t value = 4;

    if (side->rank == 0)
        SIDE_CHECK(hoop_allreduce(NULL, &value, 1, HOOP_INT32, HOOP_SUM,
                                  &side->comms[0]) == HOOP_E_INVALID);
    SIDE_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT32, HOOP_SUM,
                              &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(value == 8);
    return 0;
}

static void
success_leaves_no_error_text(void **state)
{
    assert_invalid(hoop_barrier(NULL), "comm");
    assert_ok(hoop_barrier(alone()));
    assert_string_equal(hoop_error_text(), "");
}

#define ZEROED_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up_zeroed,           \
                                    engine_pair_tear_down)

static int32_t buffers_here[8];
static int32_t buffers_there[8];

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
        buffers(COLL_RECV_ALL, buffers_here, buffers_there, 0);

    assert_ptr_equal(two.input, buffers_here);
    assert_ptr_equal(two.output, buffers_there);
    assert_false(two.is_in_place);
    assert_int_equal(two.n_input, 2);
    assert_int_equal(two.n_output, 4);
}

static void
one_buffer_is_in_place_however_it_is_said(void **state)
{
    const struct collective_buffers ways[] = {
        buffers(COLL_SEND_ALL, buffers_here, buffers_here, 0),
        buffers(COLL_SEND_ALL, HOOP_IN_PLACE, buffers_here, 0),
        buffers(COLL_SEND_ALL, buffers_here, HOOP_IN_PLACE, 0),
    };

    for (unsigned i = 0; i < 3; i++) {
        assert_true(ways[i].is_in_place);
        assert_ptr_equal(ways[i].input, buffers_here);
        assert_ptr_equal(ways[i].output, buffers_here);
        assert_int_equal(ways[i].n_input, 4);
        assert_int_equal(ways[i].n_output, 2);
    }
}

static void
only_one_buffer_matters_away_from_the_root(void **state)
{
    const struct collective_buffers out =
        buffers(COLL_HAS_ROOT | COLL_SEND_AT_ROOT, NULL, buffers_there, 1);
    const struct collective_buffers in =
        buffers(COLL_HAS_ROOT | COLL_RECV_AT_ROOT | COLL_RECV_ALL, buffers_here,
                NULL, 1);

    assert_ptr_equal(out.input, buffers_there);
    assert_int_equal(out.n_input, 0);
    assert_ptr_equal(in.output, buffers_here);
    assert_int_equal(in.n_output, 0);
}

static void
overlapping_buffers_are_invalid(void **state)
{
    int32_t values[8] = {0};
    const char *why = "overlap on rank 0 and are not the same: use "
                      "HOOP_IN_PLACE or two buffers";

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
adjacent_buffers_do_not_overlap(struct side *side)
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
algorithms_are_listed_by_collective(void **state)
{
    assert_string_equal(hoop_algorithm_name("allreduce", 0), "ring");
    assert_string_equal(hoop_algorithm_name("allreduce_coalesced", 0), "ring");
    assert_null(hoop_algorithm_name("allreduce", 1000));
    assert_null(hoop_algorithm_name("gossip", 0));
    assert_null(hoop_algorithm_name("send", 0));
    assert_null(hoop_algorithm_name("agreement on a communicator", 0));
    assert_null(hoop_algorithm_name(NULL, 0));
    /* Not every algorithm does uneven blocks. */
    assert_non_null(hoop_algorithm_name("alltoall", 1));
    assert_null(hoop_algorithm_name("alltoallv", 1));
}

static void
who_is_no_member_is_told_nothing(void **state)
{
    struct hoop_comm stranger = {.context = NULL};
    struct hoop_choice choice;

    assert_null(hoop_comm_algorithm(NULL, "allreduce", 8));
    assert_null(hoop_comm_algorithm(&stranger, "allreduce", 8));
    assert_int_equal(hoop_comm_nodes(NULL), 0);
    assert_int_equal(hoop_comm_nodes(&stranger), 0);
    assert_int_equal(hoop_comm_explain(NULL, "allreduce", 8, &choice),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_comm_explain(NULL, "allreduce", 8, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_comm_explain(&stranger, "allreduce", 8, &choice),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_comm_set_algorithms(NULL, ""), HOOP_E_INVALID);
    assert_ok(hoop_comm_set_algorithms(&stranger, "allreduce:ring"));
}

static int
members_ask_and_force(struct side *side)
{
    struct hoop_comm *comm = &side->comms[0];
    struct tuner *tuner = NULL;
    struct hoop_choice choice;
    struct config config;

    default_config_init(&config);
    snprintf(config.link, sizeof(config.link), "latency=20us");
    SIDE_CHECK(tuner_create(side->roster, &config, &tuner) == HOOP_OK);
    SIDE_CHECK(tuning_agree(tuner, comm->context, patience(), &comm->tuning) ==
               HOOP_OK);
    SIDE_CHECK(hoop_comm_set_algorithms(comm, "allreduce:ring") == HOOP_OK);
    SIDE_CHECK(strcmp(hoop_comm_algorithm(comm, "allreduce", 8), "ring") == 0);
    SIDE_CHECK(!hoop_comm_algorithm(comm, "gossip", 8));
    SIDE_CHECK(hoop_comm_nodes(comm) == 1);
    SIDE_CHECK(hoop_comm_explain(comm, "allreduce", 8, &choice) == HOOP_OK);
    SIDE_CHECK(strcmp(choice.algorithm, "ring") == 0);
    SIDE_CHECK(choice.is_forced);
    SIDE_CHECK(choice.estimate_us >= 20 && choice.estimate_us < 1000);
    SIDE_CHECK(choice.runner_up && choice.runner_up_us >= 20);
    SIDE_CHECK(hoop_comm_explain(comm, "gossip", 8, &choice) == HOOP_E_INVALID);
    SIDE_CHECK(strstr(hoop_error_text(), "no collective 'gossip'"));
    SIDE_CHECK(hoop_comm_set_algorithms(comm, NULL) == HOOP_E_INVALID);
    tuning_destroy(comm->tuning);
    comm->tuning = NULL;
    tuner_destroy(tuner);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ZEROED_TEST(null_communicator_is_invalid),
        ZEROED_TEST(no_member_has_nothing_to_call),
        ZEROED_TEST(null_operation_is_invalid),
        ZEROED_TEST(unknown_dtype_is_invalid),
        ZEROED_TEST(reduction_without_a_meaning_is_invalid),
        ZEROED_TEST(root_outside_is_invalid),
        ZEROED_TEST(counts_that_overflow_are_invalid),
        ZEROED_TEST(missing_counts_are_invalid),
        ZEROED_TEST(null_buffers_are_invalid_unless_they_are_empty),
        ZEROED_TEST(in_place_twice_is_invalid),
        SIDES_TEST_WITH(engine_pair_set_up_zeroed,
                        refused_call_has_no_consequence),
        ZEROED_TEST(success_leaves_no_error_text),
        ENGINE_PAIR_TEST(two_buffers_are_read_and_written),
        ENGINE_PAIR_TEST(one_buffer_is_in_place_however_it_is_said),
        ENGINE_PAIR_TEST(only_one_buffer_matters_away_from_the_root),
        ENGINE_PAIR_TEST(overlapping_buffers_are_invalid),
        SIDES_TEST(adjacent_buffers_do_not_overlap),
        cmocka_unit_test(algorithms_are_listed_by_collective),
        cmocka_unit_test(who_is_no_member_is_told_nothing),
        SIDES_TEST(members_ask_and_force),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
