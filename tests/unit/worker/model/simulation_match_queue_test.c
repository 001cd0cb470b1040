/* tests/unit/worker/model/simulation_match_queue_test.c - senders and takers meet */

#include "check.h"
#include "model/simulation_host.h"

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

    assert_int_equal(
        simulation_match_queue_post(match_queue, &address, &arrival, &step),
        HOOP_OK);
    assert_int_equal(step, expected);
}

static void
message_posted_first_is_there(void **state)
{
    struct simulation_match_queue match_queue = {0};
    struct simulation_arrival_times arrival;
    bool is_here = false;

    (void)state;
    post(&match_queue, 5, SIMULATION_NO_STEP);
    assert_int_equal(simulation_match_queue_await(&match_queue, &address, 7,
                                                  &arrival, &is_here),
                     HOOP_OK);
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

    (void)state;
    assert_int_equal(simulation_match_queue_await(&match_queue, &address, 7,
                                                  &arrival, &is_here),
                     HOOP_OK);
    assert_false(is_here);
    post(&match_queue, 5, 7);
    assert_int_equal(match_queue.n_entries, 0);
    simulation_match_queue_deinit(&match_queue);
}

static void
messages_of_one_address_are_taken_in_order(void **state)
{
    struct simulation_match_queue match_queue = {0};

    (void)state;
    for (int i = 0; i < 1000; i++)
        post(&match_queue, i, SIMULATION_NO_STEP);
    for (int i = 0; i < 1000; i++) {
        struct simulation_arrival_times arrival;
        bool is_here = false;

        assert_int_equal(simulation_match_queue_await(&match_queue, &address, 7,
                                                      &arrival, &is_here),
                         HOOP_OK);
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

    (void)state;
    post(&match_queue, 5, SIMULATION_NO_STEP);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(simulation_match_queue_await(&match_queue, &others[i],
                                                      i, &arrival, &is_here),
                         HOOP_OK);
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

    (void)state;
    for (uint32_t i = 0; i < 600; i++) {
        const struct simulation_message_address one = {.from = i};

        assert_int_equal(simulation_match_queue_await(&match_queue, &one, i,
                                                      &arrival, &is_here),
                         HOOP_OK);
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
        cmocka_unit_test(message_posted_first_is_there),
        cmocka_unit_test(message_awaited_first_finds_who_waits),
        cmocka_unit_test(messages_of_one_address_are_taken_in_order),
        cmocka_unit_test(messages_of_other_addresses_are_not_taken),
        cmocka_unit_test(release_gives_everybody_who_waits_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
