/*
 * parallel/step_cost.h - what a step of a redistribution costs
 *
 * Pure: from what all ranks know alike, the machine and who shares a node. A
 * line's collective is simulated with the plans that would run (tune/estimate.h)
 * on its share of what the lines of a node have together; an exchange is what
 * the busiest rank, processor or interface has to do.
 */

#ifndef PARALLEL_STEP_COST_H
#define PARALLEL_STEP_COST_H

#include "parallel/exchange.h"
#include "parallel/mesh_step.h"
#include "plan/nodes.h"
#include "plan/registry.h"
#include "tune/overrides.h"

/* The lines along some axes, by the one on most nodes. */
struct step_cost_line {
    struct plan_nodes *nodes; /* NULL: not looked at yet */
    uint32_t n_lines;         /* that share its first rank's node */
};

enum {
    STEP_COST_LINES = 1 << HOOP_MAX_AXES,
    STEP_COST_KEPT = 128,
};

/* What was asked for before. */
struct step_cost_kept {
    enum collective_kind collective;
    uint64_t n_bytes;
    const struct step_cost_line *line;
    const struct algorithm *algorithm;
    double ns;
};

struct step_costs {
    struct simulation_machine machine;
    struct overrides overrides;
    uint32_t *node_of; /* [rank of the context] */
    uint32_t n_ranks;
    size_t element_size;
    const struct exchange_side *sides[2]; /* borrowed; by mesh: their places */
    struct step_cost_line lines[2]
                               [STEP_COST_LINES]; /* by mesh and mask of axes */
    uint32_t n_kept;
    struct step_cost_kept kept[STEP_COST_KEPT];
};

struct step_cost {
    double ns;
    const struct algorithm *algorithm; /* NULL: nothing is sent */
};

/* world_ranks as in the request; tuner NULL: a machine that is usual.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
step_costs_init(struct step_costs *step_costs,
                const struct redistribution_request *request);
/* Zeroed is fine. */
void
step_costs_deinit(struct step_costs *step_costs);

/* A mesh_step of a rank that has n_before elements and then n_after. Exchanges are
 * none. Handle: HOOP_E_EXHAUSTED. */
struct step_cost_request {
    const struct mesh_step *mesh_step;
    enum redistribution_mesh mesh;
    size_t n_before;
    size_t n_after;
};

enum hoop_status
step_cost_of_mesh_step(struct step_costs *step_costs,
                       const struct step_cost_request *mesh_step,
                       struct step_cost *out_step_cost);
enum hoop_status
step_cost_of_exchange(const struct step_costs *step_costs,
                      const struct exchange *exchange,
                      struct step_cost *out_step_cost);

#endif
