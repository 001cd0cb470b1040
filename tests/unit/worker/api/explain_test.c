/* tests/unit/worker/api/explain_test.c - api/explain.c */

#include <string.h>

#include "hoop/hoop.h"

#include "couple_scene.h"
#include "select/tuner.h"

static void
algorithms_are_listed_by_collective(void **state)
{
    (void)state;
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

    (void)state;
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
    assert_int_equal(hoop_comm_set_algorithms(&stranger, "allreduce:ring"),
                     HOOP_OK);
}

static int
side_asks(struct side *side)
{
    const struct tuner_options options = {
        .roster = side->roster,
        .algorithms = "",
        .link = "latency=20us",
    };
    struct hoop_comm *comm = &side->comms[0];
    struct tuner *tuner = NULL;
    struct hoop_choice choice;

    SIDE_CHECK(tuner_create(&options, &tuner) == HOOP_OK);
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

static void
members_ask_and_force(void **state)
{
    (void)state;
    couple_run(&couple, side_asks);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(algorithms_are_listed_by_collective),
        cmocka_unit_test(who_is_no_member_is_told_nothing),
        cmocka_unit_test_setup_teardown(members_ask_and_force, couple_set_up,
                                        couple_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
