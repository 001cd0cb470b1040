/* tests/unit/worker/select/link_probe_test.c - select/link_probe.c */

#include <string.h>

#include "engine_pair_fixture.h"
#include "select/link.h"
#include "select/link_probe.h"

/* A message of 10 us, and 0.2 ns for each byte. */
static const struct link_probe_times near = {
    .small_ns = 20e3,
    .medium_ns = 20e3 + 2 * 0.2 * LINK_PROBE_MEDIUM_BYTES,
    .large_ns = 20e3 + 2 * 0.2 * LINK_PROBE_LARGE_BYTES,
};

/* One of 40 us, and 1 ns for each byte, which goes one way. */
static const struct link_probe_times far = {
    .small_ns = 80e3,
    .medium_ns = 80e3 + 1.0 * LINK_PROBE_MEDIUM_BYTES,
    .large_ns = 80e3 + 1.0 * LINK_PROBE_LARGE_BYTES,
};

static void
assert_about(double value, double expected)
{
    if (value < expected / 1.2 || value > expected * 1.2)
        fail_msg("%f is not about %f", value, expected);
}

static double
way_inside(const struct simulation_machine *machine)
{
    return machine->send_ns + machine->latency_inside_ns + machine->receive_ns;
}

static void
times_inside_and_between_say_their_parts(void **state)
{
    struct simulation_machine machine = link_typical_machine();

    link_probe_apply_times(&near, &far, 2, &machine);
    assert_about(way_inside(&machine), 10e3);
    assert_about(machine.send_byte_ns, 0.2);
    assert_about(machine.receive_byte_ns, 0.2);
    assert_about(machine.send_ns + machine.latency_between_ns +
                     machine.receive_ns,
                 40e3);
    assert_about(machine.link_between_ns, 1);
}

/* The same way, of which less is work, for the time to wake up is none. */
static void
crowded_node_wakes_more_than_it_works(void **state)
{
    struct simulation_machine alone = {.n_processors = 4};
    struct simulation_machine crowded = {.n_processors = 4};

    link_probe_apply_times(&near, NULL, 4, &alone);
    link_probe_apply_times(&near, NULL, 5, &crowded);
    assert_about(way_inside(&alone), way_inside(&crowded));
    assert_true(crowded.send_ns < alone.send_ns);
    assert_true(crowded.latency_inside_ns > alone.latency_inside_ns);
    assert_true(crowded.wait_ns > 0 && crowded.wait_ns < 10e3);
}

/* Half a microsecond: nobody sleeps, as long as two have two processors. */
static void
message_through_memory_wakes_whom_a_crowd_lets_sleep(void **state)
{
    const struct link_probe_times memory = {1e3, 30e3, 120e3, true};
    struct simulation_machine alone = {.n_processors = 2};
    struct simulation_machine crowded = {.n_processors = 2};

    link_probe_apply_times(&memory, NULL, 2, &alone);
    assert_about(way_inside(&alone), 500);
    link_probe_apply_times(&memory, NULL, 3, &crowded);
    assert_true(crowded.send_ns == alone.send_ns);
    assert_true(crowded.latency_inside_ns > 10 * alone.latency_inside_ns);
    assert_true(crowded.receive_ns > crowded.send_ns);
    assert_true(crowded.wait_ns > alone.wait_ns);
}

/* Where both slept, most of the way is waking up. */
static void
message_through_memory_is_little_work(void **state)
{
    struct link_probe_times memory = near;
    struct simulation_machine crowded = {.n_processors = 2};
    struct simulation_machine shared = {.n_processors = 2};

    memory.is_memory = true;
    link_probe_apply_times(&near, NULL, 3, &crowded);
    link_probe_apply_times(&memory, NULL, 3, &shared);
    assert_about(way_inside(&shared), way_inside(&crowded));
    assert_true(2 * shared.send_ns < crowded.send_ns);
    assert_true(2 * shared.wait_ns < crowded.wait_ns);
}

static void
without_a_partner_the_usual_stands(void **state)
{
    const struct simulation_machine usual = link_typical_machine();
    struct simulation_machine machine = usual;

    link_probe_apply_times(NULL, NULL, 2, &machine);
    assert_true(machine.latency_inside_ns == usual.latency_inside_ns);
    link_probe_apply_times(NULL, &far, 2, &machine);
    assert_true(machine.latency_inside_ns == usual.latency_inside_ns);
    assert_true(machine.send_byte_ns == usual.send_byte_ns);
    assert_about(machine.link_between_ns, 1);
}

static void
few_per_cent_change_nothing_and_nonsense_is_bounded(void **state)
{
    const struct link_probe_times again = {near.small_ns * 1.02,
                                           near.medium_ns * 1.02,
                                           near.large_ns * 1.02, false};
    const struct link_probe_times silly = {1e12, 2e12, 1e12, false};
    const struct link_probe_times none = {0, 0, 0, false};
    struct simulation_machine one = link_typical_machine();
    struct simulation_machine other = link_typical_machine();

    link_probe_apply_times(&near, NULL, 2, &one);
    link_probe_apply_times(&again, NULL, 2, &other);
    assert_true(one.latency_inside_ns == other.latency_inside_ns);
    assert_true(one.send_byte_ns == other.send_byte_ns);
    link_probe_apply_times(&silly, &silly, 2, &one);
    assert_in_range(way_inside(&one), 100, 75e3);
    assert_true(one.send_byte_ns > 0);
    link_probe_apply_times(&none, &none, 2, &one);
    assert_in_range(way_inside(&one), 100, 10e3);
    assert_true(one.send_byte_ns > 0 && one.link_between_ns > 0);
}

/* What messages take in a row on a line that lets n_saved bytes pass at
 * once. */
static double
settled_behind(double byte_ns, size_t n_saved, unsigned *out_n_times)
{
    double times_ns[LINK_PROBE_LARGE_MESSAGES_MAX];
    unsigned n_times = 0;

    while (link_probe_needs_more(times_ns, n_times)) {
        const size_t n_free =
            n_saved < LINK_PROBE_LARGE_BYTES ? n_saved : LINK_PROBE_LARGE_BYTES;

        times_ns[n_times++] =
            80e3 + byte_ns * (double)(LINK_PROBE_LARGE_BYTES - n_free);
        n_saved -= n_free;
    }
    *out_n_times = n_times;
    return link_probe_best_ns(times_ns, n_times);
}

static void
row_outlasts_what_a_line_has_saved(void **state)
{
    unsigned n_times;

    /* 1 Gbit/s and 256 KiB, 10 Gbit/s and 1 MiB */
    assert_about(settled_behind(8, 256 << 10, &n_times),
                 80e3 + 8.0 * LINK_PROBE_LARGE_BYTES);
    assert_in_range(n_times, 2, 4);
    assert_about(settled_behind(0.8, 1 << 20, &n_times),
                 80e3 + 0.8 * LINK_PROBE_LARGE_BYTES);
    assert_int_equal(n_times, LINK_PROBE_LARGE_MESSAGES_MAX);
}

static void
row_on_a_slow_line_is_short(void **state)
{
    unsigned n_times;

    assert_about(settled_behind(80, 256 << 10, &n_times),
                 80e3 + 80.0 * LINK_PROBE_LARGE_BYTES);
    assert_int_equal(n_times, 2);
}

/* Windows that have not opened yet: each message is faster than the one
 * before, however long it takes. */
static void
row_goes_on_while_messages_become_faster(void **state)
{
    const double opening_ns[] = {120e6, 40e6, 24e6, 23e6};

    assert_true(link_probe_needs_more(opening_ns, 1));
    assert_true(link_probe_needs_more(opening_ns, 2));
    assert_true(link_probe_needs_more(opening_ns, 3));
    assert_false(link_probe_needs_more(opening_ns, 4));
    assert_true(link_probe_best_ns(opening_ns, 4) == 23e6);
}

static int
side_measures(struct side *side, uint32_t n_names, enum link_probe_role part)
{
    struct comm_context *context = side->comms[n_names].context;
    const uint32_t names[2] = {0, n_names - 1};
    struct simulation_machine machine = link_typical_machine();
    const struct simulation_machine usual = machine;
    struct plan_nodes *nodes = NULL;
    struct engine_stats stats;

    SIDE_CHECK(plan_nodes_create(names, 2, &nodes) == HOOP_OK);
    SIDE_CHECK(link_probe_run(context, nodes, part, &machine) == HOOP_OK);
    plan_nodes_destroy(nodes);
    const bool is_measured = part == LINK_PROBE_MEASURES && side->rank == 0;
    SIDE_CHECK((memcmp(&machine, &usual, sizeof(usual)) != 0) == is_measured);
    engine_stats(side->engine, &stats);
    SIDE_CHECK(stats.operations == 0);
    return 0;
}

static int
side_inside(struct side *side)
{
    return side_measures(side, 1, LINK_PROBE_MEASURES);
}

static int
side_between(struct side *side)
{
    return side_measures(side, 2, LINK_PROBE_MEASURES);
}

static int
rank_0_may_decline(struct side *side)
{
    return side_measures(side, 1, LINK_PROBE_SKIPS);
}

static void
partners_measure_inside_a_node_and_between(void **state)
{
    engine_pair_run(&engine_pair, side_inside);
    engine_pair_run(&engine_pair, side_between);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_inside_and_between_say_their_parts),
        cmocka_unit_test(crowded_node_wakes_more_than_it_works),
        cmocka_unit_test(message_through_memory_wakes_whom_a_crowd_lets_sleep),
        cmocka_unit_test(message_through_memory_is_little_work),
        cmocka_unit_test(without_a_partner_the_usual_stands),
        cmocka_unit_test(few_per_cent_change_nothing_and_nonsense_is_bounded),
        cmocka_unit_test(row_outlasts_what_a_line_has_saved),
        cmocka_unit_test(row_on_a_slow_line_is_short),
        cmocka_unit_test(row_goes_on_while_messages_become_faster),
        ENGINE_PAIR_TEST(partners_measure_inside_a_node_and_between),
        SIDES_TEST(rank_0_may_decline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
