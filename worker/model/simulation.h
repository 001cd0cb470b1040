/*
 * model/simulation.h - estimates what a collective costs on a machine
 *
 * The simulation runs the plans of all ranks on a model of the machine: it uses
 * no socket, clock or thread and always gives the same answer. Steps are
 * ordered as they are at run time (plan/tracker.h): by data, byte range by byte
 * range, and by messages. Bytes flow cut-through: a dependent step starts at
 * the earliest one piece after the step before it and ends one piece after it.
 * The time to simulate therefore grows with steps and not with bytes.
 *
 * The ranks of a node (shape->nodes; NULL: all ranks are on one node) share its
 * processors and its network interface.
 */

#ifndef MODEL_SIMULATION_H
#define MODEL_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "model/machine.h"
#include "plan/plan.h"

struct simulation_result {
    double time_ns;       /* when the last rank is done */
    uint64_t bytes;       /* sum of all sends */
    uint64_t messages;    /* number of sends */
    bool is_extrapolated; /* not all ranks or rounds were simulated */
};

/*
 * shape->rank is ignored; counts and nodes are borrowed for the call. The
 * counts of an alltoallv are assumed to be the same on every rank.
 *
 * Simulates every step of every rank, about 0.2 us each, up to
 * LIMIT_SIMULATION_STEPS. Beyond that it simulates one node for all if the
 * nodes are alike (ring, pairwise), and otherwise some of the rounds for all.
 *
 * Handle: none (HOOP_E_EXHAUSTED: no memory; HOOP_E_INTERNAL: ranks would wait
 * for each other for ever, the text says which).
 */
enum hoop_status
simulation_run(const struct algorithm *algorithm,
               const struct plan_shape *shape,
               size_t element_size,
               const struct simulation_machine *machine,
               struct simulation_result *out_result);

/* Like simulation_run(), but faster: simulates one node for all wherever that
 * is possible. Takes about 0.1 ms for 64 ranks. */
enum hoop_status
simulation_run_fast(const struct algorithm *algorithm,
                    const struct plan_shape *shape,
                    size_t element_size,
                    const struct simulation_machine *machine,
                    struct simulation_result *out_result);

#endif
