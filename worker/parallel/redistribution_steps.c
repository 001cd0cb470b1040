/* parallel/redistribution_steps.c - the steps of a redistribution, found */

#include "parallel/redistribution_steps.h"

#include <stdlib.h>

#include "base/error.h"
#include "dtype/reduction.h"
#include "parallel/fare.h"
#include "parallel/route.h"

enum {
    /* What the stages of an operation have room for; and a fill. */
    LEGS_MAX = 12,
};

/* A search under way. */
struct trip {
    const struct redistribution_problem *problem;
    struct fares fares;
};

static void
trip_destroy(struct trip *trip)
{
    if (!trip)
        return;
    fares_deinit(&trip->fares);
    free(trip);
}
DEFINE_CLEANUP(struct trip *, trip_destroy)

struct exchange
problem_exchange(const struct redistribution_problem *problem,
                 const struct hoop_sharding *before,
                 const struct hoop_sharding *after)
{
    const struct redistribution_request *request = problem->request;
    struct exchange exchange = {
        .from = *problem->sides[REDISTRIBUTION_FROM],
        .to = *problem->sides[REDISTRIBUTION_TO],
        .replicas = problem->replicas,
    };

    tiling_init(&exchange.from.tiling, before, &request->from.mesh,
                &request->shape);
    tiling_init(&exchange.to.tiling, after, &request->to.mesh, &request->shape);
    exchange_init(&exchange);
    return exchange;
}

static const struct hoop_mesh_shape *
mesh_of(const struct redistribution_problem *problem,
        enum redistribution_mesh mesh)
{
    return mesh == REDISTRIBUTION_FROM ? &problem->request->from.mesh
                                       : &problem->request->to.mesh;
}

static size_t
part_elements(const struct redistribution_problem *problem,
              enum redistribution_mesh mesh,
              const struct hoop_sharding *sharding)
{
    struct tiling tiling;

    tiling_init(&tiling, sharding, mesh_of(problem, mesh),
                &problem->request->shape);
    return tiling_largest(&tiling);
}

static enum hoop_status
leg_fare(struct trip *trip, const struct route_leg *leg, struct fare *out_fare)
{
    const struct redistribution_problem *problem = trip->problem;
    enum hoop_status status;

    if (leg->hop.kind == HOOP_STEP_EXCHANGE) {
        const struct exchange exchange =
            problem_exchange(problem, &leg->before, &leg->hop.after);

        status = fare_of_exchange(&trip->fares, &exchange, out_fare);
    } else {
        const struct fare_hop hop = {
            .hop = &leg->hop,
            .mesh = leg->mesh,
            .n_before = part_elements(problem, leg->mesh, &leg->before),
            .n_after = part_elements(problem, leg->mesh, &leg->hop.after),
        };

        status = fare_of_hop(&trip->fares, &hop, out_fare);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
leg_cost(void *owner, const struct route_leg *leg, double *out_cost)
{
    struct fare fare;
    const enum hoop_status status = leg_fare(owner, leg, &fare);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_cost = fare.ns;
    return HOOP_OK;
}

/* Axes that are partial before and after, with one operator. */
static unsigned
kept_partial(const struct redistribution_problem *problem,
             const struct hoop_sharding *from,
             const struct hoop_sharding *to)
{
    if (problem->meshes == EXCHANGE_TWO_MESHES ||
        from->partial_op != to->partial_op)
        return 0;
    return axes_mask(&from->partial) & axes_mask(&to->partial);
}

unsigned
redistribution_reduced(const struct redistribution_problem *problem)
{
    return axes_mask(&problem->from.partial) &
           ~kept_partial(problem, &problem->from, &problem->to);
}

static unsigned
long_axes(const struct hoop_mesh_shape *mesh)
{
    unsigned mask = 0;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        if (mesh->sizes[axis] > 1)
            mask |= 1U << axis;
    }
    return mask;
}

/* Only a mean of integers is not the mean of means. */
static enum hop_reductions
reductions_of(const struct redistribution_problem *problem,
              const struct hoop_sharding *from)
{
    const bool is_cut_off = from->partial_op == HOOP_AVG &&
                            reduction_find(problem->request->dtype, HOOP_BAND);

    return is_cut_off ? HOP_REDUCTIONS_AT_ONCE : HOP_REDUCTIONS_ANY;
}

/* to: without addends that are made at the end. */
static struct route_request
route_request_of(struct trip *trip,
                 const struct hoop_sharding *from,
                 const struct hoop_sharding *to)
{
    const struct redistribution_request *request = trip->problem->request;
    const unsigned reduced =
        axes_mask(&from->partial) & ~axes_mask(&to->partial);
    const bool is_one = trip->problem->meshes == EXCHANGE_ONE_MESH;
    const unsigned gathered = replicas_shared_axes(
        trip->problem->replicas, trip->problem->sides[REDISTRIBUTION_TO]);
    const unsigned used =
        sharding_cutting(from) | sharding_cutting(to) | reduced;

    return (struct route_request){
        .kind = is_one ? ROUTE_ONE_MESH : ROUTE_TWO_MESHES,
        .from = *from,
        .to = *to,
        .from_rules = {.mesh = request->from.mesh,
                       .shape = request->shape,
                       .cutting =
                           is_one ? used : long_axes(&request->from.mesh),
                       .reduced = reduced,
                       .gathered = gathered,
                       .reductions = reductions_of(trip->problem, from),
                       .n_together = HOOP_MAX_AXES},
        .to_rules = {.mesh = request->to.mesh,
                     .shape = request->shape,
                     .cutting = is_one ? used : long_axes(&request->to.mesh),
                     .gathered = gathered,
                     .n_together = HOOP_MAX_AXES},
        .n_legs = LEGS_MAX,
        .cost = leg_cost,
        .owner = trip,
    };
}

static struct redistribution_step
step_of(const struct route_leg *leg)
{
    return (struct redistribution_step){
        .kind = leg->hop.kind,
        .mesh = leg->mesh,
        .axes = leg->hop.axes,
        .gather_dim = leg->hop.gather_dim,
        .shard_dim = leg->hop.shard_dim,
        .before = leg->before,
        .after = leg->hop.after,
    };
}

/* Two slices along one dimension are one. */
static bool
slices_join(struct redistribution_step *one,
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
fill_add(const struct redistribution_problem *problem,
         const struct hoop_sharding *before,
         unsigned kept,
         struct redistribution_steps *steps)
{
    struct redistribution_step step = {
        .kind = HOOP_STEP_FILL,
        .mesh = problem->meshes == EXCHANGE_ONE_MESH ? REDISTRIBUTION_FROM
                                                     : REDISTRIBUTION_TO,
        .axes = problem->to.partial,
        .before = *before,
        .after = problem->to,
    };

    axes_remove(&step.axes, kept | ~long_axes(&problem->request->to.mesh));
    if (step.axes.n_axes > 0)
        steps->steps[steps->n_steps++] = step;
}

static void
steps_collect(const struct route *route, struct redistribution_steps *steps)
{
    for (uint32_t i = 0; i < route->n_legs; i++) {
        const struct redistribution_step step = step_of(&route->legs[i]);

        if (steps->n_steps == 0 ||
            !slices_join(&steps->steps[steps->n_steps - 1], &step))
            steps->steps[steps->n_steps++] = step;
    }
}

/* Who does each, and how long it takes. */
static enum hoop_status
steps_price(struct trip *trip, struct redistribution_steps *steps)
{
    for (uint32_t i = 0; i < steps->n_steps; i++) {
        struct redistribution_step *step = &steps->steps[i];
        const struct route_leg leg = {
            .hop = {.kind = step->kind,
                    .axes = step->axes,
                    .gather_dim = step->gather_dim,
                    .shard_dim = step->shard_dim,
                    .after = step->after},
            .mesh = step->mesh,
            .before = step->before,
        };
        struct fare fare;
        const enum hoop_status status = leg_fare(trip, &leg, &fare);

        if (status != HOOP_OK)
            return error_pass(status);
        step->algorithm = fare.algorithm;
        step->time_ns = fare.ns;
    }
    return HOOP_OK;
}

static enum hoop_status
trip_make(const struct redistribution_problem *problem, struct trip **out_trip)
{
    CLEANUP(trip_destroy) struct trip *trip = calloc(1, sizeof(*trip));

    if (!trip)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look for a way");
    trip->problem = problem;
    const enum hoop_status status = fares_init(&trip->fares, problem->request);
    if (status != HOOP_OK)
        return error_pass(status);
    trip->fares.sides[REDISTRIBUTION_FROM] = problem->sides[0];
    trip->fares.sides[REDISTRIBUTION_TO] = problem->sides[1];
    *out_trip = STEAL(trip);
    return HOOP_OK;
}

enum hoop_status
redistribution_steps_find(const struct redistribution_problem *problem,
                          struct redistribution_steps *out_steps)
{
    const struct redistribution_request *request = problem->request;
    const struct hoop_sharding from =
        sharding_plain(&problem->from, &request->from.mesh, &request->shape);
    struct hoop_sharding to =
        sharding_plain(&problem->to, &request->to.mesh, &request->shape);
    CLEANUP(trip_destroy) struct trip *trip = NULL;
    struct route route;

    const unsigned kept = kept_partial(problem, &from, &to);
    axes_remove(&to.partial, ~kept);
    if (kept == 0)
        to.partial_op = HOOP_SUM;
    enum hoop_status status = trip_make(problem, &trip);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct route_request wanted = route_request_of(trip, &from, &to);
    status = route_find(&wanted, &route);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_steps = (struct redistribution_steps){0};
    steps_collect(&route, out_steps);
    fill_add(problem, &to, kept, out_steps);
    status = steps_price(trip, out_steps);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_steps->n_steps > 0)
        out_steps->steps[out_steps->n_steps - 1].after = problem->to;
    return HOOP_OK;
}
