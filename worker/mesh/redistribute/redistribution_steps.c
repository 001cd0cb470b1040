/* mesh/redistribute/redistribution_steps.c - finds the steps of a redistribution */

#include "mesh/redistribute/redistribution_steps.h"

#include <stdlib.h>

#include "base/error.h"
#include "dtype/reduction.h"
#include "mesh/redistribute/shortest_path.h"
#include "mesh/redistribute/step_cost.h"

enum {
    /* As many as an operation has stages (STAGES_MAX). A fill may follow. */
    PATH_STEPS_MAX = 12,
};

/* A search in progress. */
struct redistribution_search {
    const struct redistribution_problem *problem;
    struct step_costs step_costs;
};

static void
redistribution_search_destroy(
    struct redistribution_search *redistribution_search)
{
    if (!redistribution_search)
        return;
    step_costs_deinit(&redistribution_search->step_costs);
    free(redistribution_search);
}
DEFINE_CLEANUP(struct redistribution_search *, redistribution_search_destroy)

struct exchange
problem_build_exchange(const struct redistribution_problem *problem,
                       const struct hoop_sharding *before,
                       const struct hoop_sharding *after)
{
    const struct redistribution_request *request = problem->request;
    struct exchange exchange = {
        .from = *problem->sides[REDISTRIBUTION_MESH_FROM],
        .to = *problem->sides[REDISTRIBUTION_MESH_TO],
        .replicas = problem->replicas,
    };

    tiling_init(&exchange.from.tiling, before, &request->from.mesh,
                &request->shape);
    tiling_init(&exchange.to.tiling, after, &request->to.mesh, &request->shape);
    exchange_find_copy_axes(&exchange);
    return exchange;
}

static const struct hoop_mesh_shape *
problem_mesh_shape(const struct redistribution_problem *problem,
                   enum redistribution_mesh mesh)
{
    return mesh == REDISTRIBUTION_MESH_FROM ? &problem->request->from.mesh
                                            : &problem->request->to.mesh;
}

static size_t
largest_part_n_elements(const struct redistribution_problem *problem,
                        enum redistribution_mesh mesh,
                        const struct hoop_sharding *sharding)
{
    struct tiling tiling;

    tiling_init(&tiling, sharding, problem_mesh_shape(problem, mesh),
                &problem->request->shape);
    return tiling_largest_tile(&tiling);
}

static enum hoop_status
path_step_estimate_cost(struct redistribution_search *redistribution_search,
                        const struct path_step *path_step,
                        struct step_cost *out_step_cost)
{
    const struct redistribution_problem *problem =
        redistribution_search->problem;
    enum hoop_status status;

    if (path_step->mesh_step.kind == HOOP_STEP_EXCHANGE) {
        const struct exchange exchange = problem_build_exchange(
            problem, &path_step->before, &path_step->mesh_step.after);

        status = step_cost_of_exchange(&redistribution_search->step_costs,
                                       &exchange, out_step_cost);
    } else {
        const struct step_cost_request mesh_step = {
            .mesh_step = &path_step->mesh_step,
            .mesh = path_step->mesh,
            .elements_before = largest_part_n_elements(problem, path_step->mesh,
                                                       &path_step->before),
            .elements_after = largest_part_n_elements(
                problem, path_step->mesh, &path_step->mesh_step.after),
        };

        status = step_cost_of_mesh_step(&redistribution_search->step_costs,
                                        &mesh_step, out_step_cost);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
path_step_time_ns(void *owner,
                  const struct path_step *path_step,
                  double *out_cost)
{
    struct step_cost step_cost;
    const enum hoop_status status =
        path_step_estimate_cost(owner, path_step, &step_cost);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_cost = step_cost.ns;
    return HOOP_OK;
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
redistribution_search_path_request(
    struct redistribution_search *redistribution_search,
    const struct hoop_sharding *from,
    const struct hoop_sharding *to)
{
    const struct redistribution_request *request =
        redistribution_search->problem->request;
    const unsigned reduced =
        axes_mask(&from->partial) & ~axes_mask(&to->partial);
    const bool is_one =
        redistribution_search->problem->meshes == EXCHANGE_ONE_MESH;
    const unsigned gathered = replicas_shared_axes(
        redistribution_search->problem->replicas,
        redistribution_search->problem->sides[REDISTRIBUTION_MESH_TO]);
    const unsigned used =
        sharding_cut_axes_mask(from) | sharding_cut_axes_mask(to) | reduced;

    return (struct shortest_path_request){
        .kind = is_one ? SHORTEST_PATH_ONE_MESH : SHORTEST_PATH_TWO_MESHES,
        .from = *from,
        .to = *to,
        .from_rules = {.mesh = request->from.mesh,
                       .shape = request->shape,
                       .cutting = is_one ? used
                                         : mesh_axes_above_one_mask(
                                               &request->from.mesh),
                       .reduced = reduced,
                       .gathered = gathered,
                       .reductions = problem_reductions_mode(
                           redistribution_search->problem, from),
                       .n_axes_per_step_max = HOOP_MAX_AXES},
        .to_rules = {.mesh = request->to.mesh,
                     .shape = request->shape,
                     .cutting =
                         is_one ? used
                                : mesh_axes_above_one_mask(&request->to.mesh),
                     .gathered = gathered,
                     .n_axes_per_step_max = HOOP_MAX_AXES},
        .n_path_steps = PATH_STEPS_MAX,
        .cost = path_step_time_ns,
        .owner = redistribution_search,
    };
}

static struct redistribution_step
path_step_to_redistribution(const struct path_step *path_step)
{
    return (struct redistribution_step){
        .kind = path_step->mesh_step.kind,
        .mesh = path_step->mesh,
        .axes = path_step->mesh_step.axes,
        .gather_dim = path_step->mesh_step.gather_dim,
        .shard_dim = path_step->mesh_step.shard_dim,
        .before = path_step->before,
        .after = path_step->mesh_step.after,
    };
}

/* Merges other into one if both are slices along one dimension. */
static bool
slice_steps_merge(struct redistribution_step *one,
                  const struct redistribution_step *other)
{
    if (one->kind != HOOP_STEP_SLICE || other->kind != HOOP_STEP_SLICE ||
        one->shard_dim != other->shard_dim)
        return false;
    for (uint32_t i = 0; i < other->axes.n_axes; i++)
        axes_append(&one->axes, other->axes.axes[i]);
    one->after = other->after;
    return true;
}

static void
fill_step_append(const struct redistribution_problem *problem,
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
    if (step.axes.n_axes > 0)
        steps->steps[steps->n_steps++] = step;
}

static void
shortest_path_to_steps(const struct shortest_path *shortest_path,
                       struct redistribution_steps *steps)
{
    for (uint32_t i = 0; i < shortest_path->n_path_steps; i++) {
        const struct redistribution_step step =
            path_step_to_redistribution(&shortest_path->path_steps[i]);

        if (steps->n_steps == 0 ||
            !slice_steps_merge(&steps->steps[steps->n_steps - 1], &step))
            steps->steps[steps->n_steps++] = step;
    }
}

/* Sets the algorithm and the estimated time of each step. */
static enum hoop_status
steps_estimate_costs(struct redistribution_search *redistribution_search,
                     struct redistribution_steps *steps)
{
    for (uint32_t i = 0; i < steps->n_steps; i++) {
        struct redistribution_step *step = &steps->steps[i];
        const struct path_step path_step = {
            .mesh_step = {.kind = step->kind,
                          .axes = step->axes,
                          .gather_dim = step->gather_dim,
                          .shard_dim = step->shard_dim,
                          .after = step->after},
            .mesh = step->mesh,
            .before = step->before,
        };
        struct step_cost step_cost;
        const enum hoop_status status = path_step_estimate_cost(
            redistribution_search, &path_step, &step_cost);

        if (status != HOOP_OK)
            return error_pass(status);
        step->algorithm = step_cost.algorithm;
        step->time_ns = step_cost.ns;
    }
    return HOOP_OK;
}

static enum hoop_status
redistribution_search_create(const struct redistribution_problem *problem,
                             struct redistribution_search **out_step_search)
{
    CLEANUP(redistribution_search_destroy)
    struct redistribution_search *redistribution_search =
        calloc(1, sizeof(*redistribution_search));

    if (!redistribution_search)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look for a way");
    redistribution_search->problem = problem;
    const enum hoop_status status =
        step_costs_init(&redistribution_search->step_costs, problem->request);
    if (status != HOOP_OK)
        return error_pass(status);
    redistribution_search->step_costs.sides[REDISTRIBUTION_MESH_FROM] =
        problem->sides[0];
    redistribution_search->step_costs.sides[REDISTRIBUTION_MESH_TO] =
        problem->sides[1];
    *out_step_search = STEAL(redistribution_search);
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
    CLEANUP(redistribution_search_destroy)
    struct redistribution_search *redistribution_search = NULL;
    struct shortest_path shortest_path;

    const unsigned kept = kept_partial_axes_mask(problem, &from, &to);
    axes_remove(&to.partial, ~kept);
    if (kept == 0)
        to.partial_op = HOOP_SUM;
    enum hoop_status status =
        redistribution_search_create(problem, &redistribution_search);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct shortest_path_request wanted =
        redistribution_search_path_request(redistribution_search, &from, &to);
    status = shortest_path_find(&wanted, &shortest_path);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_steps = (struct redistribution_steps){0};
    shortest_path_to_steps(&shortest_path, out_steps);
    fill_step_append(problem, &to, kept, out_steps);
    status = steps_estimate_costs(redistribution_search, out_steps);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_steps->n_steps > 0)
        out_steps->steps[out_steps->n_steps - 1].after = problem->to;
    return HOOP_OK;
}
