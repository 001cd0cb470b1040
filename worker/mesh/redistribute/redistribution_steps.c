/* mesh/redistribute/redistribution_steps.c - finds the steps of a
 * redistribution */

#include "mesh/redistribute/redistribution_steps.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/reduction.h"
#include "mesh/redistribute/shortest_path.h"
#include "mesh/redistribute/step_cost.h"
#include "mesh/sharding.h"

enum {
    /* As many as an operation has stages (STAGES_MAX). A fill may follow. */
    PATH_STEPS_MAX = 12,
};

static enum hoop_status
step_estimate_cost(void *owner, struct redistribution_step *step)
{
    const enum hoop_status status = step_costs_estimate(owner, step);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Returns the axes that are partial before and after, with one operator. */
static unsigned
kept_partial_axes_mask(const struct redistribution_problem *problem,
                       const struct hoop_sharding *from,
                       const struct hoop_sharding *to)
{
    if (problem->meshes == EXCHANGE_TWO_MESHES ||
        from->partial_op != to->partial_op)
        return 0;
    return axes_mask(&from->partial) & axes_mask(&to->partial);
}

unsigned
redistribution_reduced_axes(const struct redistribution_problem *problem)
{
    return axes_mask(&problem->from.partial) &
           ~kept_partial_axes_mask(problem, &problem->from, &problem->to);
}

static unsigned
mesh_axes_above_one_mask(const struct hoop_mesh_shape *mesh)
{
    unsigned mask = 0;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        if (mesh->sizes[axis] > 1)
            mask |= 1U << axis;
    }
    return mask;
}

/* Only a mean of integers differs from a mean of means. */
static enum mesh_step_reductions
problem_reductions_mode(const struct redistribution_problem *problem,
                        const struct hoop_sharding *from)
{
    const bool is_cut_off = from->partial_op == HOOP_AVG &&
                            reduction_find(problem->request->dtype, HOOP_BAND);

    return is_cut_off ? MESH_STEP_REDUCTIONS_AT_ONCE : MESH_STEP_REDUCTIONS_ANY;
}

/* to has no partial axes that only a fill makes. */
static struct shortest_path_request
problem_path_request(const struct redistribution_problem *problem,
                     struct step_costs *step_costs,
                     const struct hoop_sharding *from,
                     const struct hoop_sharding *to)
{
    const struct redistribution_request *request = problem->request;
    const bool is_one = problem->meshes == EXCHANGE_ONE_MESH;
    const unsigned gathered = replicas_shared_axes(
        problem->replicas, problem->sides[REDISTRIBUTION_MESH_TO]);
    const unsigned reduced =
        axes_mask(&from->partial) & ~axes_mask(&to->partial);
    const unsigned used =
        sharding_cut_axes_mask(from) | sharding_cut_axes_mask(to) | reduced;

    return (struct shortest_path_request){
        .kind = is_one ? SHORTEST_PATH_ONE_MESH : SHORTEST_PATH_TWO_MESHES,
        .from = *from,
        .to = *to,
        .from_rules = {.mesh = request->from.mesh,
                       .shape = request->shape,
                       .cutting = is_one ? used : 0,
                       .reduced = reduced,
                       .gathered = is_one ? gathered : 0,
                       .reductions = problem_reductions_mode(problem, from),
                       .n_axes_per_step_max = HOOP_MAX_AXES},
        .to_rules = {.mesh = request->to.mesh,
                     .shape = request->shape,
                     .cutting =
                         is_one ? used
                                : mesh_axes_above_one_mask(&request->to.mesh),
                     .gathered = gathered},
        .n_steps_max = PATH_STEPS_MAX,
        .cost = step_estimate_cost,
        .owner = step_costs,
    };
}

/* Merges slices along one dimension that follow each other. The time of a slice
 * is that of a copy of what is left, so the last one's counts. */
static void
steps_merge_slices(struct redistribution_steps *steps)
{
    uint32_t n_steps = 0;

    for (uint32_t i = 0; i < steps->n_steps; i++) {
        struct redistribution_step *step = &steps->steps[i];
        const struct redistribution_step *before =
            n_steps > 0 ? &steps->steps[n_steps - 1] : NULL;

        if (before && before->kind == HOOP_STEP_SLICE &&
            step->kind == HOOP_STEP_SLICE &&
            before->shard_dim == step->shard_dim) {
            struct hoop_axes axes = before->axes;

            axes_append(&axes, step->axes.axes[0]);
            step->axes = axes;
            step->before = before->before;
            n_steps--;
        }
        steps->steps[n_steps++] = *step;
    }
    steps->n_steps = n_steps;
}

/* Appends a fill for the partial axes of the target that are not kept. */
static enum hoop_status
steps_append_fill(const struct redistribution_problem *problem,
                  struct step_costs *step_costs,
                  const struct hoop_sharding *before,
                  unsigned kept,
                  struct redistribution_steps *steps)
{
    struct redistribution_step step = {
        .kind = HOOP_STEP_FILL,
        .mesh = problem->meshes == EXCHANGE_ONE_MESH ? REDISTRIBUTION_MESH_FROM
                                                     : REDISTRIBUTION_MESH_TO,
        .axes = problem->to.partial,
        .before = *before,
        .after = problem->to,
    };

    axes_remove(&step.axes,
                kept | ~mesh_axes_above_one_mask(&problem->request->to.mesh));
    if (step.axes.n_axes == 0)
        return HOOP_OK;
    const enum hoop_status status = step_costs_estimate(step_costs, &step);
    if (status != HOOP_OK)
        return error_pass(status);
    steps->steps[steps->n_steps++] = step;
    return HOOP_OK;
}

enum hoop_status
redistribution_steps_find(const struct redistribution_problem *problem,
                          struct redistribution_steps *out_steps)
{
    const struct redistribution_request *request = problem->request;
    const struct hoop_sharding from = sharding_canonical(
        &problem->from, &request->from.mesh, &request->shape);
    struct hoop_sharding to =
        sharding_canonical(&problem->to, &request->to.mesh, &request->shape);
    const unsigned kept = kept_partial_axes_mask(problem, &from, &to);
    CLEANUP(step_costs_destroy) struct step_costs *step_costs = NULL;

    axes_remove(&to.partial, ~kept);
    if (kept == 0)
        to.partial_op = HOOP_SUM;
    enum hoop_status status = step_costs_create(problem, &step_costs);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct shortest_path_request wanted =
        problem_path_request(problem, step_costs, &from, &to);
    status = shortest_path_find(&wanted, out_steps);
    if (status != HOOP_OK)
        return error_pass(status);
    steps_merge_slices(out_steps);
    status = steps_append_fill(problem, step_costs, &to, kept, out_steps);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_steps->n_steps > 0)
        out_steps->steps[out_steps->n_steps - 1].after = problem->to;
    return HOOP_OK;
}
