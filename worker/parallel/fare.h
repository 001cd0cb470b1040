/*
 * parallel/fare.h - what a step of a redistribution costs
 *
 * Pure: from what all ranks know alike, the machine and who shares a node. A
 * line's collective is simulated with the plans that would run (tune/estimate.h)
 * on its share of what the lines of a node have together; an exchange is what
 * the busiest rank, processor or interface has to do.
 */

#ifndef PARALLEL_FARE_H
#define PARALLEL_FARE_H

#include "parallel/exchange.h"
#include "parallel/hop.h"
#include "plan/nodes.h"
#include "plan/registry.h"
#include "tune/overrides.h"

/* The lines along some axes, by the one on most nodes. */
struct fare_line {
    struct plan_nodes *nodes; /* NULL: not looked at yet */
    uint32_t n_lines;         /* that share its first rank's node */
};

enum {
    FARE_LINES = 1 << HOOP_MAX_AXES,
    FARE_KEPT = 128,
};

/* What was asked for before. */
struct fare_kept {
    enum collective_kind collective;
    uint64_t n_bytes;
    const struct fare_line *line;
    const struct algorithm *algorithm;
    double ns;
};

struct fares {
    struct simulation_machine machine;
    struct overrides overrides;
    uint32_t *node_of; /* [rank of the channel] */
    uint32_t n_ranks;
    size_t element_size;
    const struct exchange_side *sides[2];  /* borrowed; by mesh: their places */
    struct fare_line lines[2][FARE_LINES]; /* by mesh and mask of axes */
    uint32_t n_kept;
    struct fare_kept kept[FARE_KEPT];
};

struct fare {
    double ns;
    const struct algorithm *algorithm; /* NULL: nothing is sent */
};

/* world_ranks as in the request; tuner NULL: a machine that is usual.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
fares_init(struct fares *fares, const struct redistribution_request *request);
/* Zeroed is fine. */
void
fares_deinit(struct fares *fares);

/* A hop of a rank that has n_before elements and then n_after. Exchanges are
 * none. Handle: HOOP_E_EXHAUSTED. */
struct fare_hop {
    const struct hop *hop;
    enum redistribution_mesh mesh;
    size_t n_before;
    size_t n_after;
};

enum hoop_status
fare_of_hop(struct fares *fares,
            const struct fare_hop *hop,
            struct fare *out_fare);
enum hoop_status
fare_of_exchange(const struct fares *fares,
                 const struct exchange *exchange,
                 struct fare *out_fare);

#endif
