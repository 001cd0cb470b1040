/*
 * select/link_probe.h - measures the cost of messages at join, by sending a few
 *
 * Rank 0 exchanges messages with the first other rank of its node, and then
 * with the first rank of another node. The best of a few times is used, rounded
 * coarsely: a busy machine delays messages but never speeds them up, and a
 * table must not depend on a few per cent.
 *
 * After a pause, a link between nodes may pass a few hundred kilobytes at once
 * (a token bucket, the buffers of a switch) before it shows its real bandwidth.
 * Large messages are therefore sent one after another in one direction for some
 * milliseconds, and only the last of them are used.
 */

#ifndef SELECT_LINK_PROBE_H
#define SELECT_LINK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "model/machine.h"
#include "plan/nodes.h"

enum {
    LINK_PROBE_MEDIUM_BYTES = 128 * 1024,
    LINK_PROBE_LARGE_BYTES = 512 * 1024,
    LINK_PROBE_LARGE_MESSAGES_MAX = 8,
};

/* The best times of a message and its answer. The answer has the size of the
 * message inside a node, and is small between nodes. */
struct link_probe_times {
    double small_ns;
    double medium_ns; /* with LINK_PROBE_MEDIUM_BYTES */
    double large_ns;
    /* The ranks of a node exchange messages through shared memory. */
    bool is_memory;
};

/* The best time among the later half of consecutive messages, when the link has
 * used up its burst allowance. n_times is at least 1. */
double
link_probe_best_ns(const double *times_ns, unsigned n_times);

/* Should another message follow? The total time is bounded, unless messages
 * still get faster. */
bool
link_probe_needs_more(const double *times_ns, unsigned n_times);

/* Set in machine what the times show. A NULL argument means that there was
 * no such partner. n_inside is the number of ranks on the node that was
 * measured. */
void
link_probe_apply_times(const struct link_probe_times *inside,
                       const struct link_probe_times *between,
                       uint32_t n_inside,
                       struct simulation_machine *machine);

enum link_probe_role {
    LINK_PROBE_MEASURES,
    /* The ranks of a node may share memory, and do. */
    LINK_PROBE_MEASURES_SHM,
    /* For rank 0, when it knows the costs already. */
    LINK_PROBE_SKIPS,
};

/*
 * All ranks of the context call this; ranks that are not partners return at
 * once. On rank 0, machine is set to the measured costs. Takes a few
 * milliseconds.
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST.
 */
enum hoop_status
link_probe_run(struct comm_context *context,
               const struct plan_nodes *nodes,
               enum link_probe_role part,
               struct simulation_machine *machine);

#endif
