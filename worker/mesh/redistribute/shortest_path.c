/*
 * mesh/redistribute/shortest_path.c - the cheapest sequence of steps between
 * shardings
 *
 * Each sharding that steps along lines reach is a node. There are few, so the
 * nearest one and the one of a key are found by a linear scan. An exchange and
 * the allgather behind it lead to no node: they end a path.
 */

#include "mesh/redistribute/shortest_path.h"

#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "mesh/sharding.h"

static const uint32_t NO_NODE = UINT32_MAX;

struct search_node {
    uint64_t key; /* of its sharding */
    double cost;
    uint32_t from; /* index of the previous node */
    uint32_t n_steps;
    bool is_settled;
};

struct path_search {
    const struct shortest_path_request *request;
    size_t largest; /* largest part allowed on the way */
    uint64_t goal;  /* key of the target; the start of TWO_MESHES is none */
    /* The cheapest path known: the steps to a node, and those behind it. */
    double best_cost;
    uint32_t best_node; /* NO_NODE: none yet */
    struct redistribution_steps best_end;
    uint32_t n_nodes;
    /* A settled node does not change, and only settled ones have successors. */
    struct search_node nodes[LIMIT_PATH_SHARDINGS];
    /* [node]: the step that leads there; after is the node's sharding */
    struct redistribution_step steps[LIMIT_PATH_SHARDINGS];
};

/* Returns the node of a key, or n_nodes. */
static uint32_t
search_node_find(const struct path_search *search, uint64_t key)
{
    uint32_t i = 0;

    while (i < search->n_nodes && search->nodes[i].key != key)
        i++;
    return i;
}

static bool
search_node_is_goal(const struct path_search *search, uint32_t node)
{
    return search->request->kind != SHORTEST_PATH_TWO_MESHES &&
           search->nodes[node].key == search->goal;
}

static enum hoop_status
path_search_try_step(struct path_search *search,
                     uint32_t from,
                     struct redistribution_step *step)
{
    const struct shortest_path_request *request = search->request;
    const struct search_node *before = &search->nodes[from];
    const uint64_t key = sharding_key(&step->after);
    const uint32_t node = search_node_find(search, key);
    const bool is_known = node < search->n_nodes;

    if (before->n_steps == request->n_steps_max ||
        node == LIMIT_PATH_SHARDINGS ||
        (is_known && search->nodes[node].is_settled))
        return HOOP_OK;
    const enum hoop_status status = request->cost(request->owner, step);
    if (status != HOOP_OK)
        return error_pass(status);
    const double cost = before->cost + step->time_ns;
    if (cost >= search->best_cost ||
        (is_known && cost >= search->nodes[node].cost))
        return HOOP_OK;
    search->n_nodes += is_known ? 0 : 1;
    search->nodes[node] = (struct search_node){
        .key = key, .cost = cost, .from = from, .n_steps = before->n_steps + 1};
    search->steps[node] = *step;
    if (search_node_is_goal(search, node)) {
        search->best_cost = cost;
        search->best_node = node;
        search->best_end.n_steps = 0;
    }
    return HOOP_OK;
}

static enum hoop_status
path_search_try_mesh_steps(struct path_search *search, uint32_t from)
{
    const struct mesh_step_rules *rules = &search->request->from_rules;
    struct redistribution_step steps[MESH_STEPS_MAX];
    const uint32_t n_steps =
        mesh_steps_enumerate(rules, &search->steps[from].after, steps);

    for (uint32_t i = 0; i < n_steps; i++) {
        if (sharding_largest_part(&steps[i].after, &rules->mesh,
                                  &rules->shape) > search->largest)
            continue;
        const enum hoop_status status =
            path_search_try_step(search, from, &steps[i]);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Returns whether axes is a prefix of whole. */
static bool
axes_is_prefix(const struct hoop_axes *axes, const struct hoop_axes *whole)
{
    return axes->n_axes <= whole->n_axes &&
           memcmp(axes->axes, whole->axes,
                  axes->n_axes * sizeof(*axes->axes)) == 0;
}

/* Returns whether a sharding has nothing left to reduce and differs from the
 * source only by reductions. */
static bool
sharding_can_exchange(const struct shortest_path_request *request,
                      const struct hoop_sharding *sharding)
{
    const struct hoop_sharding *from = &request->from;
    const unsigned reduced = request->from_rules.reduced;

    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        if (!axes_is_prefix(&from->dims[dim], &sharding->dims[dim]))
            return false;
    }
    return request->kind != SHORTEST_PATH_MESH_STEPS &&
           !(axes_mask(&sharding->partial) & reduced) &&
           !(sharding_cut_axes_mask(sharding) & ~sharding_cut_axes_mask(from) &
             ~reduced);
}

/* Tries the path over a node, an exchange to the sharding landing, and an
 * allgather along dim unless landing is the target. */
static enum hoop_status
path_search_try_exchange(struct path_search *search,
                         uint32_t from,
                         const struct hoop_sharding *landing,
                         uint32_t dim)
{
    const struct shortest_path_request *request = search->request;
    const enum redistribution_mesh mesh =
        request->kind == SHORTEST_PATH_ONE_MESH ? REDISTRIBUTION_MESH_FROM
                                                : REDISTRIBUTION_MESH_TO;
    struct redistribution_steps end = {
        .n_steps = sharding_key(landing) == search->goal ? 1 : 2,
        .steps = {{.kind = HOOP_STEP_EXCHANGE,
                   .mesh = mesh,
                   .before = search->steps[from].after,
                   .after = *landing},
                  {.kind = HOOP_STEP_ALLGATHER,
                   .mesh = mesh,
                   .axes = landing->dims[dim],
                   .gather_dim = dim,
                   .before = *landing,
                   .after = request->to}},
    };
    double cost = search->nodes[from].cost;

    axes_remove(&end.steps[1].axes, axes_mask(&request->to.dims[dim]));
    if (search->nodes[from].n_steps + end.n_steps > request->n_steps_max)
        return HOOP_OK;
    for (uint32_t i = 0; i < end.n_steps && cost < search->best_cost; i++) {
        const enum hoop_status status =
            request->cost(request->owner, &end.steps[i]);

        if (status != HOOP_OK)
            return error_pass(status);
        cost += end.steps[i].time_ns;
    }
    if (cost < search->best_cost) {
        search->best_cost = cost;
        search->best_node = from;
        search->best_end = end;
    }
    return HOOP_OK;
}

/* Tries exchanges to shardings where axes that the target does not use cut dim
 * as well: each of them alone, and together with those before it. */
static enum hoop_status
path_search_try_exchange_gathers(struct path_search *search,
                                 uint32_t from,
                                 uint32_t dim)
{
    const struct mesh_step_rules *rules = &search->request->to_rules;
    const struct hoop_sharding *to = &search->request->to;
    const unsigned used = sharding_cut_axes_mask(to) | axes_mask(&to->partial);
    struct hoop_sharding landings[2] = {*to, *to};

    for (uint32_t axis = 0; axis < rules->mesh.n_axes; axis++) {
        if (!(rules->cutting & rules->gathered & ~used & 1U << axis))
            continue;
        landings[0].dims[dim] = to->dims[dim];
        for (uint32_t i = 0; i < 2; i++) {
            struct hoop_axes *cuts = &landings[i].dims[dim];
            enum hoop_status status = HOOP_OK;

            axes_append(cuts, axis);
            if (rules->shape.dims[dim] % axes_n_ranks(cuts, &rules->mesh) == 0)
                status =
                    path_search_try_exchange(search, from, &landings[i], dim);
            if (status != HOOP_OK)
                return error_pass(status);
        }
    }
    return HOOP_OK;
}

static enum hoop_status
path_search_try_exchanges(struct path_search *search, uint32_t from)
{
    const struct shortest_path_request *request = search->request;
    enum hoop_status status =
        path_search_try_exchange(search, from, &request->to, 0);

    for (uint32_t dim = 0;
         dim < request->to_rules.shape.n_dims && status == HOOP_OK; dim++)
        status = path_search_try_exchange_gathers(search, from, dim);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static uint32_t
path_search_nearest_node(const struct path_search *search)
{
    uint32_t nearest = NO_NODE;
    double cost = search->best_cost;

    for (uint32_t i = 0; i < search->n_nodes; i++) {
        if (!search->nodes[i].is_settled && search->nodes[i].cost < cost) {
            nearest = i;
            cost = search->nodes[i].cost;
        }
    }
    return nearest;
}

/* Returns whether a step of one axis is on the plain path: reduce all, gather
 * what does not remain, slice. */
static bool
step_is_on_plain_path(const struct redistribution_step *step,
                      const struct hoop_sharding *to)
{
    const struct hoop_axes *begun = &step->before.dims[step->shard_dim];
    const struct hoop_axes *cut = &to->dims[step->shard_dim];

    if (step->axes.n_axes != 1)
        return false;
    if (step->kind == HOOP_STEP_ALLGATHER)
        return !axes_is_prefix(&step->before.dims[step->gather_dim],
                               &to->dims[step->gather_dim]);
    if (step->kind == HOOP_STEP_SLICE)
        return axes_is_prefix(begun, cut) && begun->n_axes < cut->n_axes &&
               cut->axes[begun->n_axes] == step->axes.axes[0];
    return step->kind == HOOP_STEP_ALLREDUCE;
}

/* Finds the plain path of steps along lines. It always exists, but may have too
 * many steps. */
static enum hoop_status
path_search_add_plain_path(struct path_search *search)
{
    const struct shortest_path_request *request = search->request;
    struct redistribution_steps plain = {0};
    struct hoop_sharding at = request->from;
    double cost = 0;

    while (sharding_key(&at) != search->goal) {
        struct redistribution_step steps[MESH_STEPS_MAX];
        const uint32_t n_steps =
            mesh_steps_enumerate(&request->from_rules, &at, steps);
        uint32_t i = 0;

        while (i < n_steps && !step_is_on_plain_path(&steps[i], &request->to))
            i++;
        if (i == n_steps || plain.n_steps == request->n_steps_max)
            return HOOP_OK;
        const enum hoop_status status =
            request->cost(request->owner, &steps[i]);
        if (status != HOOP_OK)
            return error_pass(status);
        cost += steps[i].time_ns;
        at = steps[i].after;
        plain.steps[plain.n_steps++] = steps[i];
    }
    search->best_cost = cost;
    search->best_node = 0;
    search->best_end = plain;
    return HOOP_OK;
}

static void
path_search_init(struct path_search *search,
                 const struct shortest_path_request *request)
{
    const struct mesh_step_rules *rules = &request->from_rules;
    size_t at_end;

    search->request = request;
    search->goal = sharding_key(&request->to);
    search->best_cost = DBL_MAX;
    search->best_node = NO_NODE;
    search->n_nodes = 1;
    search->nodes[0] = (struct search_node){.key = sharding_key(&request->from),
                                            .from = NO_NODE};
    search->steps[0].after = request->from;
    if (search_node_is_goal(search, 0)) {
        search->best_cost = 0;
        search->best_node = 0;
    }
    search->largest = SIZE_MAX;
    if (request->kind == SHORTEST_PATH_MESH_STEPS)
        return;
    search->largest =
        sharding_largest_part(&request->from, &rules->mesh, &rules->shape);
    at_end = sharding_largest_part(&request->to, &request->to_rules.mesh,
                                   &rules->shape);
    if (at_end > search->largest)
        search->largest = at_end;
}

static enum hoop_status
path_search_run(struct path_search *search)
{
    const struct shortest_path_request *request = search->request;
    enum hoop_status status = HOOP_OK;
    uint32_t at;

    if (request->kind == SHORTEST_PATH_MESH_STEPS)
        status = path_search_add_plain_path(search);
    while (status == HOOP_OK &&
           (at = path_search_nearest_node(search)) != NO_NODE) {
        search->nodes[at].is_settled = true;
        if (sharding_can_exchange(request, &search->steps[at].after))
            status = path_search_try_exchanges(search, at);
        if (status == HOOP_OK)
            status = path_search_try_mesh_steps(search, at);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Writes the steps to the best node, and those behind it. */
static void
path_search_write_path(const struct path_search *search,
                       struct redistribution_steps *out_path)
{
    const uint32_t n_before = search->nodes[search->best_node].n_steps;
    uint32_t node = search->best_node;

    out_path->n_steps = n_before + search->best_end.n_steps;
    for (uint32_t i = n_before; i > 0; i--) {
        out_path->steps[i - 1] = search->steps[node];
        node = search->nodes[node].from;
    }
    for (uint32_t i = 0; i < search->best_end.n_steps; i++)
        out_path->steps[n_before + i] = search->best_end.steps[i];
}

enum hoop_status
shortest_path_find(const struct shortest_path_request *request,
                   struct redistribution_steps *out_path)
{
    CLEANUP(free)
    struct path_search *search = calloc(1, sizeof(*search));

    assert(request->n_steps_max <= HOOP_MAX_STEPS);
    if (!search)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look for a way");
    path_search_init(search, request);
    const enum hoop_status status = path_search_run(search);
    if (status != HOOP_OK)
        return error_pass(status);
    if (search->best_node == NO_NODE)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no way of %u steps was found among %d shardings",
                           request->n_steps_max, LIMIT_PATH_SHARDINGS);
    path_search_write_path(search, out_path);
    return HOOP_OK;
}
