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

#include "plan/plan.h"

/* Times are in ns; those of bytes are in ns per byte. */
struct simulation_machine {
    /* Per message, however small: time on the sender's processor, time on the
     * receiver's processor, and time between the two. */
    double send_ns;
    double receive_ns;
    double latency_inside_ns;  /* both ranks are on one node */
    double latency_between_ns; /* they are on two nodes */
    /* The wire. Between nodes it is the node's one interface, in each
     * direction. */
    double link_inside_ns;
    double link_between_ns;
    /* Processor time to hand bytes to the kernel, to take them from the kernel,
     * to copy them and to combine them. */
    double send_byte_ns;
    double receive_byte_ns;
    double copy_byte_ns;
    double reduce_byte_ns;
    /* If ranks outnumber the processors of their node: the processor time that
     * a waiting rank takes from the others before it sleeps, each time that a
     * message wakes it. */
    double wait_ns;
    /* Additional time for a byte that is combined in scratch which does not fit
     * the cache that the ranks of a node share. */
    double memory_byte_ns;
    uint64_t cache_bytes;  /* 0: everything fits */
    uint32_t n_processors; /* of one node; at least 1 */
};

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
