/* tests/unit/worker/model/simulation_host_test.c - who shares what */

#include "check.h"
#include "model/simulation_host.h"
#include "plan/nodes.h"
#include "unit/worker/model/model_fixture.h"

static const struct simulation_machine machine = {
    .latency_inside_ns = 100,
    .latency_between_ns = 1000,
    .link_inside_ns = 1,
    .link_between_ns = 2,
    .wait_ns = 40,
    .n_processors = 2,
};

struct fixture {
    struct plan_nodes *nodes;
    struct plan_shape shape;
    struct simulation_mapping mapping;
    struct simulation_hosts hosts;
};

static int
fixture_open(void **state, const uint32_t names[6])
{
    static struct fixture fixture;

    assert_ok(plan_nodes_create(names, 6, &fixture.nodes));
    fixture.shape =
        (struct plan_shape){.size = 6, .granule = 1, .nodes = fixture.nodes};
    fixture.mapping = simulation_mapping_make_full(&fixture.shape);
    assert_ok(
        simulation_hosts_init(&fixture.hosts, &machine, &fixture.mapping));
    *state = &fixture;
    return 0;
}

/* Ranks 0 to 3 on one node, 4 and 5 on another. */
static int
fixture_init(void **state)
{
    return fixture_open(state, (const uint32_t[]){0, 0, 0, 0, 1, 1});
}

/* Two ranks on each of three nodes. */
static int
fixture_init_pairs(void **state)
{
    return fixture_open(state, (const uint32_t[]){0, 0, 1, 1, 2, 2});
}

static int
fixture_deinit(void **state)
{
    struct fixture *fixture = *state;

    simulation_hosts_deinit(&fixture->hosts);
    plan_nodes_destroy(fixture->nodes);
    return 0;
}

static double
work(struct fixture *fixture, uint32_t rank, double start_ns, double bytes)
{
    struct simulation_flow flow = {
        .start_ns = start_ns, .bytes = bytes, .byte_ns = 1};

    simulation_hosts_add_work(&fixture->hosts, rank, &flow);
    return flow.end_ns;
}

static void
rank_alone_has_one_processor(void **state)
{
    assert_near(work(*state, 0, 50, 100), 150);
    assert_near(work(*state, 0, 50, 100), 250);
    assert_near(work(*state, 0, 1000, 100), 1100);
}

static void
ranks_of_a_node_share_its_processors(void **state)
{
    assert_near(work(*state, 0, 0, 100), 100);
    assert_near(work(*state, 1, 0, 100), 100);
    assert_near(work(*state, 2, 0, 100), 150);
    assert_near(work(*state, 3, 0, 100), 200);
    /* The other node is idle. */
    assert_near(work(*state, 4, 0, 100), 100);
}

/* One of a single piece ends as if it was alone, but counts for the others. */
static void
small_work_passes_by_large(void **state)
{
    const double large = 4 * SIMULATION_PIECE_BYTES;

    assert_near(work(*state, 0, 0, large), large);
    assert_near(work(*state, 0, 10, 100), 110);
    assert_near(work(*state, 0, 10, 100), 210);
    assert_near(work(*state, 0, 20, large), 2 * large + 200);
}

static double
take(struct fixture *fixture, uint32_t rank, double start_ns)
{
    struct simulation_flow flow = {
        .start_ns = start_ns, .bytes = 10, .byte_ns = 1, .is_arrival = true};

    simulation_hosts_add_work(&fixture->hosts, rank, &flow);
    return flow.end_ns;
}

/* Not itself, but who comes next; half of it on each of two processors. */
static void
rank_that_waited_takes_time_from_others(void **state)
{
    assert_near(take(*state, 0, 100), 110);
    assert_near(work(*state, 1, 100, 10), 130);
    assert_near(work(*state, 1, 1000, 10), 1010);
}

static void
rank_at_work_is_not_woken(void **state)
{
    assert_near(work(*state, 0, 0, 100), 100);
    assert_near(take(*state, 0, 90), 110);
    assert_near(work(*state, 1, 90, 10), 100);
}

static void
rank_waits_for_free_where_there_is_a_processor_for_each(void **state)
{
    assert_near(take(*state, 4, 100), 110);
    assert_near(work(*state, 5, 100, 10), 110);
    assert_near(take(*state, 4, 100), 120);
    assert_near(work(*state, 5, 115, 10), 125);
}

static struct simulation_arrival_times
carry(struct fixture *fixture, uint32_t rank, uint32_t peer, double bytes)
{
    const struct simulation_flow flow = {
        .start_ns = 0, .end_ns = bytes, .bytes = bytes, .byte_ns = 1};

    return simulation_hosts_transmit(&fixture->hosts, rank, peer, &flow);
}

static void
message_inside_a_node_takes_the_short_way(void **state)
{
    const struct simulation_arrival_times arrival = carry(*state, 0, 1, 500);

    assert_near(arrival.first_ns, 500 + 500 + 100);
    assert_near(arrival.last_ns, 500 + 500 + 100);
}

static void
message_between_nodes_takes_the_long_way(void **state)
{
    const struct simulation_arrival_times arrival = carry(*state, 3, 4, 500);

    assert_near(arrival.first_ns, 500 + 500 * 2 + 1000);
    assert_near(arrival.last_ns, 500 + 500 * 2 + 1000);
}

static void
large_message_is_on_its_way_at_the_first_piece(void **state)
{
    const double bytes = 16 * SIMULATION_PIECE_BYTES;
    const struct simulation_arrival_times arrival = carry(*state, 0, 1, bytes);

    assert_near(arrival.first_ns,
                SIMULATION_PIECE_BYTES + SIMULATION_PIECE_BYTES + 100);
    assert_near(arrival.last_ns, bytes + SIMULATION_PIECE_BYTES + 100);
}

static void
ranks_of_a_node_share_its_interface(void **state)
{
    const struct simulation_arrival_times one = carry(*state, 0, 4, 500);
    const struct simulation_arrival_times other = carry(*state, 1, 5, 500);
    const struct simulation_arrival_times back = carry(*state, 4, 0, 500);

    assert_near(one.last_ns, 500 + 1000 + 1000);
    assert_near(other.last_ns, 500 + 2000 + 1000);
    assert_near(back.last_ns, 500 + 1000 + 1000);
}

/* How long the line of node 0 is busy with the second of two messages, from
 * these ranks. */
static double
second_ns(void **state, const uint32_t from[2], double bytes)
{
    const double first_ns = carry(*state, from[0], 0, bytes).last_ns;

    return carry(*state, from[1], 0, bytes).last_ns - first_ns;
}

static void
large_messages_of_two_nodes_meet_at_a_line(void **state)
{
    const double bytes = 1 << 20;

    assert_near(second_ns(state, (const uint32_t[]){2, 4}, bytes),
                2 * 1.25 * bytes);
}

static void
messages_of_one_node_do_not_meet(void **state)
{
    const double bytes = 1 << 20;

    assert_near(second_ns(state, (const uint32_t[]){2, 3}, bytes), 2 * bytes);
}

static void
small_messages_of_two_nodes_do_not_meet(void **state)
{
    const double bytes = 1 << 16;

    assert_near(second_ns(state, (const uint32_t[]){2, 4}, bytes), 2 * bytes);
}

/* In a reduced mapping of one node with six ranks, everything is done six
 * times. */
static void
vrank_works_for_those_behind_it(void **state)
{
    const struct plan_shape shape = {.size = 6, .granule = 1};
    const struct simulation_mapping mapping = {
        .shape = &shape,
        .n_vranks = 1,
        .n_nodes = 1,
        .n_represented_ranks = 6,
        .is_reduced = true,
    };
    struct fixture fixture;

    assert_ok(simulation_hosts_init(&fixture.hosts, &machine, &mapping));
    assert_near(work(&fixture, 0, 0, 100), 300);
    simulation_hosts_deinit(&fixture.hosts);
}

static const struct simulation_message_address address = {.from = 1,
                                                          .to = 2,
                                                          .message = 3};

static void
post(struct simulation_match_queue *match_queue,
     double first_ns,
     uint32_t expected)
{
    const struct simulation_arrival_times arrival = {first_ns, first_ns + 1};
    uint32_t step = 0;

    assert_ok(
        simulation_match_queue_post(match_queue, &address, &arrival, &step));
    assert_int_equal(step, expected);
}

static void
message_posted_first_is_there(void **state)
{
    struct simulation_match_queue match_queue = {0};
    struct simulation_arrival_times arrival;
    bool is_here = false;

    post(&match_queue, 5, SIMULATION_NO_STEP);
    assert_ok(simulation_match_queue_await(&match_queue, &address, 7, &arrival,
                                           &is_here));
    assert_true(is_here);
    assert_true(arrival.first_ns > 4.9 && arrival.last_ns < 6.1);
    assert_int_equal(match_queue.n_entries, 0);
    simulation_match_queue_deinit(&match_queue);
}

static void
message_awaited_first_finds_who_waits(void **state)
{
    struct simulation_match_queue match_queue = {0};
    struct simulation_arrival_times arrival;
    bool is_here = true;

    assert_ok(simulation_match_queue_await(&match_queue, &address, 7, &arrival,
                                           &is_here));
    assert_false(is_here);
    post(&match_queue, 5, 7);
    assert_int_equal(match_queue.n_entries, 0);
    simulation_match_queue_deinit(&match_queue);
}

static void
messages_of_one_address_are_taken_in_order(void **state)
{
    struct simulation_match_queue match_queue = {0};

    for (int i = 0; i < 1000; i++)
        post(&match_queue, i, SIMULATION_NO_STEP);
    for (int i = 0; i < 1000; i++) {
        struct simulation_arrival_times arrival;
        bool is_here = false;

        assert_ok(simulation_match_queue_await(&match_queue, &address, 7,
                                               &arrival, &is_here));
        assert_true(is_here);
        assert_int_equal((int)arrival.first_ns, i);
    }
    simulation_match_queue_deinit(&match_queue);
}

static void
messages_of_other_addresses_are_not_taken(void **state)
{
    const struct simulation_message_address others[] = {
        {.from = 2, .to = 1, .message = 3},
        {.from = 1, .to = 3, .message = 3},
        {.from = 1, .to = 2, .message = 4},
        {.from = 1, .to = 2, .message = 3, .crosses = true},
    };
    struct simulation_match_queue match_queue = {0};
    struct simulation_arrival_times arrival;
    bool is_here = false;

    post(&match_queue, 5, SIMULATION_NO_STEP);
    for (uint32_t i = 0; i < 4; i++) {
        assert_ok(simulation_match_queue_await(&match_queue, &others[i], i,
                                               &arrival, &is_here));
        assert_false(is_here);
    }
    assert_int_equal(match_queue.n_entries, 5);
    simulation_match_queue_deinit(&match_queue);
}

static void
release_gives_everybody_who_waits_once(void **state)
{
    struct simulation_match_queue match_queue = {0};
    struct simulation_arrival_times arrival;
    bool seen[600] = {0};
    bool is_here = false;

    for (uint32_t i = 0; i < 600; i++) {
        const struct simulation_message_address one = {.from = i};

        assert_ok(simulation_match_queue_await(&match_queue, &one, i, &arrival,
                                               &is_here));
    }
    post(&match_queue, 5, SIMULATION_NO_STEP);
    for (int i = 0; i < 600; i++) {
        const uint32_t step = simulation_match_queue_pop_waiter(&match_queue);

        assert_true(step < 600 && !seen[step]);
        seen[step] = true;
    }
    assert_int_equal(simulation_match_queue_pop_waiter(&match_queue),
                     SIMULATION_NO_STEP);
    assert_int_equal(match_queue.n_entries, 1);
    simulation_match_queue_deinit(&match_queue);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rank_alone_has_one_processor,
                                        fixture_init, fixture_deinit),
        cmocka_unit_test_setup_teardown(ranks_of_a_node_share_its_processors,
                                        fixture_init, fixture_deinit),
        cmocka_unit_test_setup_teardown(rank_that_waited_takes_time_from_others,
                                        fixture_init, fixture_deinit),
        cmocka_unit_test_setup_teardown(rank_at_work_is_not_woken, fixture_init,
                                        fixture_deinit),
        cmocka_unit_test_setup_teardown(
            rank_waits_for_free_where_there_is_a_processor_for_each,
            fixture_init, fixture_deinit),
        cmocka_unit_test_setup_teardown(small_work_passes_by_large,
                                        fixture_init, fixture_deinit),
        cmocka_unit_test_setup_teardown(
            message_inside_a_node_takes_the_short_way, fixture_init,
            fixture_deinit),
        cmocka_unit_test_setup_teardown(
            message_between_nodes_takes_the_long_way, fixture_init,
            fixture_deinit),
        cmocka_unit_test_setup_teardown(
            large_message_is_on_its_way_at_the_first_piece, fixture_init,
            fixture_deinit),
        cmocka_unit_test_setup_teardown(ranks_of_a_node_share_its_interface,
                                        fixture_init, fixture_deinit),
        cmocka_unit_test_setup_teardown(
            large_messages_of_two_nodes_meet_at_a_line, fixture_init_pairs,
            fixture_deinit),
        cmocka_unit_test_setup_teardown(messages_of_one_node_do_not_meet,
                                        fixture_init_pairs, fixture_deinit),
        cmocka_unit_test_setup_teardown(small_messages_of_two_nodes_do_not_meet,
                                        fixture_init_pairs, fixture_deinit),
        cmocka_unit_test(vrank_works_for_those_behind_it),
        cmocka_unit_test(message_posted_first_is_there),
        cmocka_unit_test(message_awaited_first_finds_who_waits),
        cmocka_unit_test(messages_of_one_address_are_taken_in_order),
        cmocka_unit_test(messages_of_other_addresses_are_not_taken),
        cmocka_unit_test(release_gives_everybody_who_waits_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
