/* tests/unit/worker/model/simulate_test.c - the simulator as users call it */

#include <math.h>
#include <string.h>

#include "hoop/simulate.h"

#include "check.h"

static const struct hoop_machine machine = {
    .send_us = 1,
    .receive_us = 2,
    .latency_us = 100,
    .latency_inside_us = 10,
    .link_gbs = 1,
    .n_processors = 8,
};

static struct hoop_simulation
broadcast_to(uint32_t n_ranks, uint32_t n_per_node)
{
    return (struct hoop_simulation){
        .collective = "broadcast",
        .algorithm = "chain",
        .n_ranks = n_ranks,
        .n_per_node = n_per_node,
        .n_bytes = 4000,
        .element_size = 4,
    };
}

static void
every_algorithm_that_is_named_is_run(void **state)
{
    const char *collective;
    size_t n_run = 0;

    for (size_t i = 0; (collective = hoop_simulate_collective(i)); i++) {
        const char *algorithm;

        for (size_t j = 0; (algorithm = hoop_simulate_algorithm(collective, j));
             j++) {
            struct hoop_simulation simulation = broadcast_to(12, 4);
            struct hoop_simulated simulated;

            simulation.collective = collective;
            simulation.algorithm = algorithm;
            if (strncmp(algorithm, "flat", 4) == 0 ||
                strcmp(algorithm, "direct") == 0) {
                assert_int_equal(
                    hoop_simulate(&simulation, &machine, &simulated),
                    HOOP_E_PRECONDITION);
                simulation.n_per_node = simulation.n_ranks;
            }
            assert_ok(hoop_simulate(&simulation, &machine, &simulated));
            assert_true(simulated.time_us > 0);
            assert_true(simulated.n_messages >= 11);
            assert_false(simulated.is_extrapolated);
            n_run++;
        }
    }
    assert_true(n_run >= 11);
}

/* 1 us, 4,000 bytes at 1 GB/s, 100 us, 2 us. */
static void
time_is_of_the_machine_that_was_described(void **state)
{
    const struct hoop_simulation apart = broadcast_to(2, 1);
    const struct hoop_simulation together = broadcast_to(2, 2);
    struct hoop_simulated simulated;

    assert_ok(hoop_simulate(&apart, &machine, &simulated));
    assert_true(fabs(simulated.time_us - 107) < 1e-6);
    assert_int_equal(simulated.n_sent, 4000);
    assert_int_equal(simulated.n_messages, 1);
    assert_int_equal(simulated.n_bytes, 4000);
    /* Within a node the link is endless here. */
    assert_ok(hoop_simulate(&together, &machine, &simulated));
    assert_true(fabs(simulated.time_us - 13) < 1e-6);
}

static void
buffer_is_cut_down_to_equal_blocks(void **state)
{
    struct hoop_simulation simulation = broadcast_to(3, 1);
    struct hoop_simulated simulated;

    simulation.collective = "allgather";
    simulation.algorithm = "ring";
    assert_ok(hoop_simulate(&simulation, &machine, &simulated));
    assert_int_equal(simulated.n_bytes, 3996);
    assert_int_equal(simulated.n_sent, 2 * 3996);
    simulation.n_bytes = 1;
    assert_ok(hoop_simulate(&simulation, &machine, &simulated));
    assert_int_equal(simulated.n_bytes, 12);
}

static void
refuse(const struct hoop_simulation *simulation,
       const struct hoop_machine *on,
       const char *text)
{
    struct hoop_simulated simulated = {.time_us = 7};

    assert_int_equal(hoop_simulate(simulation, on, &simulated), HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), text));
    assert_true(simulated.time_us > 6);
}

static void
names_that_are_none_are_refused(void **state)
{
    struct hoop_simulation simulation = broadcast_to(2, 1);

    assert_null(hoop_simulate_collective(1000));
    assert_null(hoop_simulate_algorithm("nothing", 0));
    assert_null(hoop_simulate_algorithm(NULL, 0));
    assert_null(hoop_simulate_algorithm("broadcast", 1000));
    assert_int_equal(hoop_simulate(&simulation, &machine, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_simulate(NULL, NULL, NULL), HOOP_E_INVALID);
    simulation.algorithm = "dissemination";
    refuse(&simulation, &machine, "broadcast has no algorithm dissemination");
    simulation.algorithm = NULL;
    refuse(&simulation, &machine, "without a name");
    simulation.collective = "allgatherv";
    refuse(&simulation, &machine, "no collective allgatherv");
    simulation.collective = NULL;
    refuse(&simulation, &machine, "without a name");
}

static void
numbers_that_are_none_are_refused(void **state)
{
    const struct hoop_simulation good = broadcast_to(2, 1);
    const struct hoop_simulation nobody = broadcast_to(0, 1);
    const struct hoop_simulation many = broadcast_to(UINT32_MAX, 1);
    const struct hoop_simulation empty = broadcast_to(2, 0);
    struct hoop_simulation flat = good;
    struct hoop_machine idle = machine;
    struct hoop_machine odd = machine;

    refuse(&nobody, &machine, "cannot simulate 0 ranks");
    refuse(&many, &machine, "cannot simulate 4294967295 ranks");
    refuse(&empty, &machine, "node with no ranks");
    flat.element_size = 0;
    refuse(&flat, &machine, "elements of 0 bytes");
    idle.n_processors = 0;
    refuse(&good, &idle, "without a processor");
    odd.latency_us = NAN;
    refuse(&good, &odd, "numbers from 0 on");
    odd.latency_us = -1;
    refuse(&good, &odd, "-1.0");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_that_is_named_is_run),
        cmocka_unit_test(time_is_of_the_machine_that_was_described),
        cmocka_unit_test(buffer_is_cut_down_to_equal_blocks),
        cmocka_unit_test(names_that_are_none_are_refused),
        cmocka_unit_test(numbers_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
