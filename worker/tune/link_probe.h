/*
 * tune/link_probe.h - what messages cost here: a few are sent, at join
 *
 * Rank 0 exchanges messages with the first other rank of its node, and then
 * with the first rank of another node. The best of a few times counts, rounded
 * coarsely: a busy machine makes messages late, never early, and a table must
 * not depend on a few per cent.
 *
 * A line between nodes may let pass a few hundred kilobytes at once after it
 * has rested (a token bucket, the buffers of a switch), and only then show what
 * it carries. So large messages follow each other, one way, for some
 * milliseconds, and the last of them count.
 */

#ifndef TUNE_LINK_PROBE_H
#define TUNE_LINK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "plan/nodes.h"
#include "plan/simulation.h"

enum {
    LINK_PROBE_MEDIUM_BYTES = 128 * 1024,
    LINK_PROBE_LARGE_BYTES = 512 * 1024,
    LINK_PROBE_BURST_MAX = 8,
};

/* Best times of a message and its answer, which is as large as the message
 * inside a node, and small between nodes. */
struct link_probe_times {
    double small_ns;
    double medium_ns; /* LINK_PROBE_MEDIUM_BYTES */
    double large_ns;
    bool is_memory; /* ranks of a node share some */
};

/* Of messages in a row: the best of the later half, when whatever the line had
 * saved is used up. n_times is at least 1. */
double
link_probe_best_ns(const double *times_ns, unsigned n_times);

/* Whether one more is to follow: bounded in time, unless they become faster. */
bool
link_probe_continues(const double *times_ns, unsigned n_times);

/* Change in machine what the times tell; NULL: there was no such partner.
 * n_inside is how many ranks share the node that was measured. */
void
link_probe_apply(const struct link_probe_times *inside,
                 const struct link_probe_times *between,
                 uint32_t n_inside,
                 struct simulation_machine *machine);

enum link_probe_role {
    LINK_PROBE_MEASURES,
    LINK_PROBE_MEASURES_MEMORY, /* ranks of a node may share some, and so do */
    LINK_PROBE_DECLINES,        /* on rank 0: it knows already */
};

/*
 * All ranks of the context call it; those who are no partners return at once.
 * On rank 0, machine becomes what was measured; a few milliseconds.
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST.
 */
enum hoop_status
link_probe_run(struct comm_context *context,
               const struct plan_nodes *nodes,
               enum link_probe_role part,
               struct simulation_machine *machine);

#endif
