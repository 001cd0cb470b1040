/*
 * plan/simulation.h - what a collective would cost on a machine
 *
 * Runs the plans of all ranks on a model of the machine: no socket, no clock,
 * no thread, and the same answer every time. What orders steps is what orders
 * them at run time (plan/tracker.h): data, byte range by byte range, and
 * messages. Bytes flow cut-through, so a dependent step starts a piece after
 * the one before it and ends a piece after it, at the earliest; the cost of
 * simulating hence grows with steps and not with bytes.
 *
 * Ranks of a node (shape->nodes; NULL: all are on one) share its processors and
 * its network interface.
 */

#ifndef PLAN_SIMULATION_H
#define PLAN_SIMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/plan.h"

/* Times in ns; those of bytes are ns per byte. */
struct simulation_machine {
    /* A message, however small, on the sender's and on the receiver's
     * processor, and from the end of the one to the begin of the other. */
    double send_ns;
    double receive_ns;
    double latency_inside_ns;  /* both ranks on one node */
    double latency_between_ns; /* on two */
    /* The wire. Between nodes it is the node's one interface, each way. */
    double link_inside_ns;
    double link_between_ns;
    /* The processors: handing bytes to the kernel and taking them from there,
     * copying, combining what came. */
    double send_byte_ns;
    double receive_byte_ns;
    double copy_byte_ns;
    double reduce_byte_ns;
    /* Where ranks outnumber the processors of their node: what one that waits
     * takes from the others before it sleeps, each time that a message wakes
     * it. */
    double wait_ns;
    /* What is combined in scratch that does not fit the cache, which the ranks
     * of a node share, comes from memory: so much more for a byte. */
    double memory_byte_ns;
    uint64_t cache_bytes;  /* 0: all fits */
    uint32_t n_processors; /* of one node; at least 1 */
};

struct simulation_result {
    double time_ns;       /* until the last rank is done */
    uint64_t bytes;       /* of all sends */
    uint64_t messages;    /* all sends */
    bool is_extrapolated; /* from a part of the rounds */
};

/*
 * shape->rank plays no part; counts and nodes are borrowed for the call. The
 * counts of an alltoallv are taken to be the same on every rank.
 *
 * Follows every step of every rank up to LIMIT_SIMULATION_STEPS, about 0.2 us
 * each. Beyond that one node stands for all where they are alike (ring,
 * pairwise), and where they are not, a part of the rounds for all.
 *
 * Handle: none (HOOP_E_EXHAUSTED: no memory; HOOP_E_INTERNAL: ranks would wait
 * for each other for ever, the text says who).
 */
enum hoop_status
simulation_run(const struct algorithm *algorithm,
               const struct plan_shape *shape,
               size_t element_size,
               const struct simulation_machine *machine,
               struct simulation_result *out_result);

/* The same, in a hurry: one node stands for all wherever it can. For 64 ranks,
 * some 0.1 ms. */
enum hoop_status
simulation_estimate(const struct algorithm *algorithm,
                    const struct plan_shape *shape,
                    size_t element_size,
                    const struct simulation_machine *machine,
                    struct simulation_result *out_result);

#endif
