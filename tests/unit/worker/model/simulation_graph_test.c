/* tests/unit/worker/model/simulation_graph_test.c - rounds come and go */

#include "base/limits.h"
#include "check.h"
#include "model/simulation_graph.h"
#include "unit/worker/model/model_fixture.h"

static const struct simulation_machine one_processor = {.n_processors = 1};

/* Round r copies element r to element r+1: each waits for the one before. */
static uint32_t
staircase_rounds(const struct plan_shape *shape)
{
    return 3 * LIMIT_TRACKER_ROUNDS;
}

static void
staircase_round(struct plan *plan,
                const struct plan_shape *shape,
                uint32_t round)
{
    plan_add_copy(plan, (struct plan_span){PLAN_OUTPUT, round, 1},
                  (struct plan_span){PLAN_OUTPUT, (size_t)round + 1, 1});
}

static const struct algorithm staircase = {
    .name = "staircase",
    .n_rounds = staircase_rounds,
    .plan_round = staircase_round,
};

static void
rounds_are_opened_as_those_before_are_settled(void **state)
{
    const struct plan_shape shape = {.size = 1, .granule = 1};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    const struct simulation_setup setup =
        setup_of(&mapping, &staircase, &one_processor);
    struct simulation_graph graph;
    uint32_t first = SIMULATION_LIST_END;
    uint32_t step = SIMULATION_LIST_END;

    assert_ok(simulation_graph_init(&graph, &setup));
    for (int i = 0; i < LIMIT_TRACKER_ROUNDS; i++) {
        assert_true(simulation_graph_can_open_round(&graph, 0));
        assert_ok(simulation_graph_open_round(&graph, 0, &step));
        first = i == 0 ? step : first;
    }
    assert_false(simulation_graph_can_open_round(&graph, 0));

    graph.steps[first].flow.end_ns = 77;
    simulation_graph_settle_step(&graph, first);
    step = simulation_graph_pop_follower(&graph, first);
    assert_int_equal(graph.steps[step].round, 1);
    assert_int_equal(graph.steps[step].n_awaited, 0);
    assert_true(graph.steps[step].flow.start_ns > 76);
    assert_int_equal(simulation_graph_pop_follower(&graph, first),
                     SIMULATION_LIST_END);

    /* What is opened in its place does not begin before it has ended. */
    assert_true(simulation_graph_can_open_round(&graph, 0));
    assert_ok(simulation_graph_open_round(&graph, 0, &step));
    assert_true(graph.steps[step].flow.start_ns > 76);
    assert_false(simulation_graph_can_open_round(&graph, 0));
    simulation_graph_deinit(&graph);
}

static void
part_of_the_rounds_begins_without_a_past(void **state)
{
    const struct plan_shape shape = {.size = 1, .granule = 1};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    struct simulation_setup setup =
        setup_of(&mapping, &staircase, &one_processor);
    struct simulation_graph graph;
    uint32_t step = SIMULATION_LIST_END;

    setup.rounds = (struct simulation_round_range){5, 7};
    assert_ok(simulation_graph_init(&graph, &setup));
    assert_ok(simulation_graph_open_round(&graph, 0, &step));
    assert_int_equal(graph.steps[step].round, 5);
    assert_int_equal(graph.steps[step].n_awaited, 0);
    assert_ok(simulation_graph_open_round(&graph, 0, &step));
    assert_int_equal(graph.steps[step].n_awaited, 1);
    assert_false(simulation_graph_can_open_round(&graph, 0));
    simulation_graph_deinit(&graph);
}

static const struct simulation_flow_overlap whole = {0, 1, 0, 1};

/* Settled, at a processor that does nothing else. */
static struct simulation_flow
flow_at(double start_ns, double bytes)
{
    struct simulation_flow flow = {
        .start_ns = start_ns,
        .bytes = bytes,
        .message_ns = 10,
        .byte_ns = 1,
    };

    flow.end_ns = start_ns + simulation_flow_processor_ns(&flow);
    return flow;
}

static void
work_is_of_the_message_and_its_bytes(void **state)
{
    const struct simulation_machine machine = {
        .send_ns = 10,
        .receive_ns = 20,
        .send_byte_ns = 1,
        .receive_byte_ns = 2,
        .copy_byte_ns = 3,
        .reduce_byte_ns = 4,
    };
    const double work_ns[] = {
        [PLAN_SEND] = 10 + 100 * 1,         [PLAN_STORE] = 20 + 100 * 2,
        [PLAN_REDUCE] = 20 + 100 * (2 + 4), [PLAN_COPY] = 100 * 3,
        [PLAN_COMBINE] = 100 * 4,
    };

    for (int kind = PLAN_SEND; kind <= PLAN_COMBINE; kind++) {
        const struct simulation_flow flow =
            simulation_flow_make(&machine, (enum plan_step_type)kind, 100);

        assert_near(simulation_flow_processor_ns(&flow), work_ns[kind]);
    }
}

/* Both ways, and only where it goes through a socket. */
static void
message_that_is_granted_costs_one_more_at_each_end(void **state)
{
    const struct simulation_machine machine = {.send_ns = 10, .receive_ns = 20};
    const double extra_ns[] = {
        [PLAN_SEND] = 30, [PLAN_STORE] = 30,  [PLAN_REDUCE] = 30,
        [PLAN_COPY] = 0,  [PLAN_COMBINE] = 0,
    };

    for (int kind = PLAN_SEND; kind <= PLAN_COMBINE; kind++) {
        const struct simulation_flow eager = simulation_flow_make(
            &machine, (enum plan_step_type)kind, LIMIT_EAGER_WHOLE_MESSAGE);
        const struct simulation_flow granted = simulation_flow_make(
            &machine, (enum plan_step_type)kind, LIMIT_EAGER_WHOLE_MESSAGE + 1);

        assert_near(granted.message_ns - eager.message_ns, extra_ns[kind]);
    }
}

static void
flow_of_one_piece_is_followed_at_its_end(void **state)
{
    const struct simulation_flow earlier = flow_at(1000, 500);
    struct simulation_flow later = {.bytes = 500, .byte_ns = 1};

    simulation_flow_delay_after(&later, &earlier, &whole);
    assert_near(later.start_ns, 1510);
    assert_near(later.end_ns, 2010);
}

static void
flow_of_many_pieces_is_followed_at_its_first(void **state)
{
    const double bytes = 4 * SIMULATION_PIECE_BYTES;
    const struct simulation_flow earlier = flow_at(1000, bytes);
    struct simulation_flow later = {.bytes = bytes, .byte_ns = 2};

    simulation_flow_delay_after(&later, &earlier, &whole);
    assert_near(simulation_flow_first_piece_ns(&earlier),
                1010 + SIMULATION_PIECE_BYTES);
    assert_near(later.start_ns, 1010 + SIMULATION_PIECE_BYTES);
    assert_near(later.end_ns, earlier.end_ns + 2 * SIMULATION_PIECE_BYTES);
}

/* The later step's second half is the earlier one's first. */
static void
flow_that_meets_late_may_begin_early(void **state)
{
    const struct simulation_flow_overlap overlap = {0, 0.5F, 0.5F, 1};
    const double bytes = 8 * SIMULATION_PIECE_BYTES;
    const struct simulation_flow earlier = flow_at(0, bytes);
    struct simulation_flow later = {.bytes = bytes, .byte_ns = 0.125};

    simulation_flow_delay_after(&later, &earlier, &overlap);
    assert_near(later.start_ns,
                10 + SIMULATION_PIECE_BYTES - 0.5 * bytes * later.byte_ns);
    assert_near(later.end_ns,
                earlier.end_ns / 2 + SIMULATION_PIECE_BYTES * later.byte_ns);
}

/* The later step's first half is the earlier one's second. */
static void
flow_that_meets_early_has_half_its_own_work_after(void **state)
{
    const struct simulation_flow_overlap overlap = {0.5F, 1, 0, 0.5F};
    const double bytes = 8 * SIMULATION_PIECE_BYTES;
    const struct simulation_flow earlier = flow_at(0, bytes);
    struct simulation_flow later = {.bytes = bytes, .byte_ns = 1};

    simulation_flow_delay_after(&later, &earlier, &overlap);
    assert_near(later.start_ns,
                earlier.end_ns / 2 + 10 + SIMULATION_PIECE_BYTES);
    assert_near(later.end_ns,
                earlier.end_ns + SIMULATION_PIECE_BYTES + bytes / 2);
}

static void
bounds_are_only_raised(void **state)
{
    const struct simulation_flow earlier = flow_at(0, 10);
    struct simulation_flow later = {
        .start_ns = 1000, .end_ns = 5000, .bytes = 10, .byte_ns = 1};

    simulation_flow_delay_after(&later, &earlier, &whole);
    simulation_flow_delay_to_arrival(&later, 10, 20);
    assert_near(later.start_ns, 1000);
    assert_near(later.end_ns, 5000);
}

static void
arrival_of_one_piece_is_taken_when_all_is_there(void **state)
{
    struct simulation_flow one = {.bytes = 10, .byte_ns = 1};
    struct simulation_flow many = {.bytes = 2 * SIMULATION_PIECE_BYTES,
                                   .byte_ns = 1};

    simulation_flow_delay_to_arrival(&one, 100, 200);
    assert_near(one.start_ns, 200);
    assert_near(one.end_ns, 210);
    simulation_flow_delay_to_arrival(&many, 100, 200);
    assert_near(many.start_ns, 100);
    assert_near(many.end_ns, 200 + SIMULATION_PIECE_BYTES);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_opened_as_those_before_are_settled),
        cmocka_unit_test(part_of_the_rounds_begins_without_a_past),
        cmocka_unit_test(work_is_of_the_message_and_its_bytes),
        cmocka_unit_test(message_that_is_granted_costs_one_more_at_each_end),
        cmocka_unit_test(flow_of_one_piece_is_followed_at_its_end),
        cmocka_unit_test(flow_of_many_pieces_is_followed_at_its_first),
        cmocka_unit_test(flow_that_meets_late_may_begin_early),
        cmocka_unit_test(flow_that_meets_early_has_half_its_own_work_after),
        cmocka_unit_test(bounds_are_only_raised),
        cmocka_unit_test(arrival_of_one_piece_is_taken_when_all_is_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
