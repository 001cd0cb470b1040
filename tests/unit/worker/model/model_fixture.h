/* tests/unit/worker/model/model_fixture.h - fixture of simulation tests */

#ifndef TESTS_UNIT_WORKER_MODEL_MODEL_FIXTURE_H
#define TESTS_UNIT_WORKER_MODEL_MODEL_FIXTURE_H

#include "check.h"
#include "model/simulation_graph.h"

static inline void
assert_near(double value, double expected)
{
    if (value < expected - 1e-3 || value > expected + 1e-3)
        fail_msg("%f is not %f", value, expected);
}

/* Returns a setup of all rounds with elements of 4 bytes. */
static inline struct simulation_setup
setup_of(const struct simulation_mapping *mapping,
         const struct algorithm *algorithm,
         const struct simulation_machine *machine)
{
    return (struct simulation_setup){
        .mapping = mapping,
        .algorithm = algorithm,
        .machine = machine,
        .element_size = 4,
        .rounds = {.end = UINT32_MAX},
    };
}

#endif
