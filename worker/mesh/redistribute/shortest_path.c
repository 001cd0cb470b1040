/*
 * mesh/redistribute/shortest_path.c - the cheapest sequence of steps between shardings
 *
 * Each sharding is a node once in each phase: while only reductions have been
 * done, after other steps along lines, and after an exchange. There are few
 * nodes, so the nearest one is found by a linear scan. A hash table finds the
 * node of a key.
 */

#include "mesh/redistribute/shortest_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "mesh/grid.h"

enum search_phase {
    SEARCH_PHASE_REDUCE,
    SEARCH_PHASE_LINE_STEPS,
    SEARCH_PHASE_EXCHANGED,
};

enum {
    /* twice LIMIT_PATH_SHARDINGS, a power of two */
    PATH_SEARCH_HASH_SLOTS = 2 * LIMIT_PATH_SHARDINGS,
    SEARCH_PHASE_KEY_SHIFT = 60,
};

struct search_node {
    uint64_t key;
    enum search_phase search_phase;
    double cost;
    uint32_t from; /* index of the previous node */
    uint32_t n_path_steps;
    bool is_settled;
    struct path_step
        path_step; /* leads here; mesh_step.after is this node's sharding */
};

struct path_search {
    const struct shortest_path_request *request;
    size_t largest; /* largest part allowed on the way */
    /* the nearest node that is the target; NO_NODE: none yet */
    uint32_t goal;
    uint32_t n_nodes;
    uint32_t
        slots[PATH_SEARCH_HASH_SLOTS]; /* index of the node plus 1; 0: free */
    struct search_node nodes[LIMIT_PATH_SHARDINGS];
};

static const uint32_t NO_NODE = UINT32_MAX;

static const struct mesh_step_rules *
search_phase_step_rules(const struct path_search *path_search,
                        enum search_phase search_phase)
{
    return search_phase == SEARCH_PHASE_EXCHANGED
               ? &path_search->request->to_rules
               : &path_search->request->from_rules;
}

static const struct hoop_sharding *
search_node_sharding(const struct search_node *search_node)
{
    return &search_node->path_step.mesh_step.after;
}

static size_t
sharding_largest_part(const struct mesh_step_rules *rules,
                      const struct hoop_sharding *sharding)
{
    struct tiling tiling;

    tiling_init(&tiling, sharding, &rules->mesh, &rules->shape);
    return tiling_largest_tile(&tiling);
}

/* Returns the slot of a key, or the free slot where it belongs. */
static uint32_t
search_node_slot_find(const struct path_search *path_search, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;

    for (hash >>= 32;; hash++) {
        const uint32_t slot = (uint32_t)(hash % PATH_SEARCH_HASH_SLOTS);
        const uint32_t entry = path_search->slots[slot];

        if (entry == 0 || path_search->nodes[entry - 1].key == key)
            return slot;
    }
}

static bool
search_node_is_goal(const struct path_search *path_search,
                    const struct search_node *search_node)
{
    if (path_search->request->kind == SHORTEST_PATH_TWO_MESHES &&
        search_node->search_phase != SEARCH_PHASE_EXCHANGED)
        return false;
    return sharding_key(search_node_sharding(search_node)) ==
           sharding_key(&path_search->request->to);
}

/* Returns the node of a key, new or not, if cost is lower than known. Returns
 * NULL otherwise, or if there is no room. */
static struct search_node *
search_node_add_if_cheaper(struct path_search *path_search,
                           uint64_t key,
                           double cost)
{
    const uint32_t slot = search_node_slot_find(path_search, key);

    if (path_search->slots[slot] > 0) {
        struct search_node *known =
            &path_search->nodes[path_search->slots[slot] - 1];

        return known->is_settled || known->cost <= cost ? NULL : known;
    }
    if (path_search->n_nodes >= LIMIT_PATH_SHARDINGS)
        return NULL;
    struct search_node *search_node =
        &path_search->nodes[path_search->n_nodes++];
    path_search->slots[slot] = path_search->n_nodes;
    search_node->key = key;
    return search_node;
}

static uint32_t
search_node_index(const struct path_search *path_search,
                  const struct search_node *search_node)
{
    return (uint32_t)(search_node - path_search->nodes);
}

/* Takes a step from a node. *out_node is the node reached, or NO_NODE if the
 * step is no improvement. */
static enum hoop_status
path_search_try_step(struct path_search *path_search,
                     uint32_t from,
                     const struct path_step *path_step,
                     enum search_phase search_phase,
                     uint32_t *out_node)
{
    const struct shortest_path_request *request = path_search->request;
    const uint32_t n_path_steps = path_search->nodes[from].n_path_steps + 1;
    const uint64_t key = sharding_key(&path_step->mesh_step.after) |
                         (uint64_t)search_phase << SEARCH_PHASE_KEY_SHIFT;
    double cost = 0;

    *out_node = NO_NODE;
    if (n_path_steps > request->n_path_steps)
        return HOOP_OK;
    const enum hoop_status status =
        request->cost(request->owner, path_step, &cost);
    if (status != HOOP_OK)
        return error_pass(status);
    cost += path_search->nodes[from].cost;
    if (path_search->goal != NO_NODE &&
        cost >= path_search->nodes[path_search->goal].cost)
        return HOOP_OK;
    struct search_node *search_node =
        search_node_add_if_cheaper(path_search, key, cost);
    if (!search_node)
        return HOOP_OK;
    search_node->search_phase = search_phase;
    search_node->cost = cost;
    search_node->from = from;
    search_node->n_path_steps = n_path_steps;
    search_node->path_step = *path_step;
    *out_node = search_node_index(path_search, search_node);
    if (search_node_is_goal(path_search, search_node))
        path_search->goal = *out_node;
    return HOOP_OK;
}

static bool
mesh_step_is_reduction(const struct mesh_step *mesh_step)
{
    return mesh_step->kind == HOOP_STEP_ALLREDUCE ||
           mesh_step->kind == HOOP_STEP_REDUCE_SCATTER;
}

/* Returns whether a step may be taken from a node in its phase. */
static bool
mesh_step_is_allowed(const struct path_search *path_search,
                     const struct search_node *search_node,
                     const struct mesh_step *mesh_step)
{
    const struct shortest_path_request *request = path_search->request;

    if (search_node->search_phase == SEARCH_PHASE_EXCHANGED)
        return mesh_step->kind == HOOP_STEP_ALLGATHER &&
               sharding_key(&mesh_step->after) == sharding_key(&request->to);
    if (request->kind == SHORTEST_PATH_TWO_MESHES &&
        !mesh_step_is_reduction(mesh_step))
        return false;
    return sharding_largest_part(
               search_phase_step_rules(path_search, search_node->search_phase),
               &mesh_step->after) <= path_search->largest;
}

static enum search_phase
search_phase_after_step(const struct search_node *search_node,
                        const struct mesh_step *mesh_step)
{
    return search_node->search_phase == SEARCH_PHASE_REDUCE &&
                   !mesh_step_is_reduction(mesh_step)
               ? SEARCH_PHASE_LINE_STEPS
               : search_node->search_phase;
}

static enum hoop_status
path_search_try_mesh_steps(struct path_search *path_search, uint32_t from)
{
    const struct search_node *search_node = &path_search->nodes[from];
    struct mesh_step mesh_steps[MESH_STEPS_MAX];
    uint32_t reached;
    const uint32_t n_mesh_steps = mesh_steps_enumerate(
        search_phase_step_rules(path_search, search_node->search_phase),
        search_node_sharding(search_node), mesh_steps);

    for (uint32_t i = 0; i < n_mesh_steps; i++) {
        if (!mesh_step_is_allowed(path_search, search_node, &mesh_steps[i]))
            continue;
        const struct path_step path_step = {
            .mesh_step = mesh_steps[i],
            .mesh = search_node->search_phase == SEARCH_PHASE_EXCHANGED
                        ? search_node->path_step.mesh
                        : REDISTRIBUTION_MESH_FROM,
            .before = *search_node_sharding(search_node),
        };
        const enum hoop_status status = path_search_try_step(
            path_search, from, &path_step,
            search_phase_after_step(search_node, &mesh_steps[i]), &reached);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Returns whether nothing is left to reduce and no other step has been
 * taken. */
static bool
search_node_can_exchange(const struct path_search *path_search,
                         const struct search_node *search_node)
{
    const unsigned partial =
        axes_mask(&search_node_sharding(search_node)->partial);

    return path_search->request->kind != SHORTEST_PATH_MESH_STEPS &&
           search_node->search_phase == SEARCH_PHASE_REDUCE &&
           !(partial & path_search->request->from_rules.reduced);
}

static enum hoop_status
path_search_try_exchange(struct path_search *path_search,
                         uint32_t from,
                         const struct hoop_sharding *to)
{
    const struct path_step path_step = {
        .mesh_step = {.kind = HOOP_STEP_EXCHANGE, .after = *to},
        .mesh = path_search->request->kind == SHORTEST_PATH_ONE_MESH
                    ? REDISTRIBUTION_MESH_FROM
                    : REDISTRIBUTION_MESH_TO,
        .before = *search_node_sharding(&path_search->nodes[from]),
    };
    uint32_t reached;
    const enum hoop_status status = path_search_try_step(
        path_search, from, &path_step, SEARCH_PHASE_EXCHANGED, &reached);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Tries an exchange to sharding if an allgather along dim can turn it into the
 * target. */
static enum hoop_status
path_search_try_exchange_gather(struct path_search *path_search,
                                uint32_t from,
                                const struct hoop_sharding *sharding,
                                uint32_t dim)
{
    const struct mesh_step_rules *rules = &path_search->request->to_rules;
    const uint32_t n = axes_n_ranks(&sharding->dims[dim], &rules->mesh);

    if (rules->shape.dims[dim] % n != 0)
        return HOOP_OK;
    return path_search_try_exchange(path_search, from, sharding);
}

/* Tries exchanges to shardings where axes that the target does not use cut dim
 * as well: each of them alone, and together with those before it. */
static enum hoop_status
path_search_try_exchange_gathers(struct path_search *path_search,
                                 uint32_t from,
                                 uint32_t dim)
{
    const struct mesh_step_rules *rules = &path_search->request->to_rules;
    const struct hoop_sharding *to = &path_search->request->to;
    const unsigned used = sharding_cut_axes_mask(to) | axes_mask(&to->partial);
    struct hoop_sharding together = *to;

    for (uint32_t axis = 0; axis < rules->mesh.n_axes; axis++) {
        struct hoop_sharding alone = *to;

        if (!(rules->cutting & rules->gathered & ~used & 1U << axis))
            continue;
        axes_append(&alone.dims[dim], axis);
        axes_append(&together.dims[dim], axis);
        enum hoop_status status =
            path_search_try_exchange_gather(path_search, from, &alone, dim);
        if (status == HOOP_OK)
            status = path_search_try_exchange_gather(path_search, from,
                                                     &together, dim);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
path_search_try_exchanges(struct path_search *path_search, uint32_t from)
{
    enum hoop_status status =
        path_search_try_exchange(path_search, from, &path_search->request->to);
    const uint32_t n_dims = path_search->request->to_rules.shape.n_dims;

    for (uint32_t dim = 0; dim < n_dims && status == HOOP_OK; dim++)
        status = path_search_try_exchange_gathers(path_search, from, dim);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static uint32_t
path_search_nearest_node(const struct path_search *path_search)
{
    uint32_t best = NO_NODE;

    for (uint32_t i = 0; i < path_search->n_nodes; i++) {
        const struct search_node *search_node = &path_search->nodes[i];

        if (!search_node->is_settled &&
            (best == NO_NODE ||
             search_node->cost < path_search->nodes[best].cost))
            best = i;
    }
    return best;
}

/* Returns whether axes is a prefix of whole. */
static bool
axes_is_prefix(const struct hoop_axes *axes, const struct hoop_axes *whole)
{
    return axes->n_axes <= whole->n_axes &&
           memcmp(axes->axes, whole->axes,
                  axes->n_axes * sizeof(*axes->axes)) == 0;
}

/* Returns whether a step of one axis is on the plain path: reduce all, gather
 * what does not remain, slice. */
static bool
mesh_step_is_on_greedy_path(const struct hoop_sharding *at,
                            const struct hoop_sharding *to,
                            const struct mesh_step *mesh_step)
{
    const struct hoop_axes *begun = &at->dims[mesh_step->shard_dim];
    const struct hoop_axes *cut = &to->dims[mesh_step->shard_dim];

    if (mesh_step->axes.n_axes != 1)
        return false;
    if (mesh_step->kind == HOOP_STEP_ALLGATHER)
        return !axes_is_prefix(&at->dims[mesh_step->gather_dim],
                               &to->dims[mesh_step->gather_dim]);
    if (mesh_step->kind == HOOP_STEP_SLICE)
        return axes_is_prefix(begun, cut) && begun->n_axes < cut->n_axes &&
               cut->axes[begun->n_axes] == mesh_step->axes.axes[0];
    return mesh_step->kind == HOOP_STEP_ALLREDUCE;
}

/* Finds the plain path of steps along lines. It always exists, but may have too
 * many steps. */
static enum hoop_status
path_search_add_greedy_path(struct path_search *path_search)
{
    uint32_t at = 0;

    while (at != NO_NODE &&
           !search_node_is_goal(path_search, &path_search->nodes[at])) {
        const struct hoop_sharding before =
            *search_node_sharding(&path_search->nodes[at]);
        struct mesh_step mesh_steps[MESH_STEPS_MAX];
        uint32_t i = 0;
        const uint32_t n_mesh_steps = mesh_steps_enumerate(
            &path_search->request->from_rules, &before, mesh_steps);

        while (i < n_mesh_steps &&
               !mesh_step_is_on_greedy_path(&before, &path_search->request->to,
                                            &mesh_steps[i]))
            i++;
        if (i == n_mesh_steps)
            return HOOP_OK;
        const struct path_step path_step = {.mesh_step = mesh_steps[i],
                                            .before = before};
        const enum hoop_status status = path_search_try_step(
            path_search, at, &path_step, SEARCH_PHASE_LINE_STEPS, &at);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Finds the direct path: reduce all, then exchange. */
static enum hoop_status
path_search_add_direct_path(struct path_search *path_search)
{
    const struct shortest_path_request *request = path_search->request;
    struct hoop_axes summed = request->from.partial;
    uint32_t at = 0;

    axes_remove(&summed, ~request->from_rules.reduced);
    if (summed.n_axes > 0) {
        struct path_step path_step = {
            .mesh_step = {.kind = HOOP_STEP_ALLREDUCE,
                          .axes = summed,
                          .after = request->from},
            .before = request->from,
        };

        axes_remove(&path_step.mesh_step.after.partial, axes_mask(&summed));
        if (path_step.mesh_step.after.partial.n_axes == 0)
            path_step.mesh_step.after.partial_op = HOOP_SUM;
        const enum hoop_status status = path_search_try_step(
            path_search, 0, &path_step, SEARCH_PHASE_REDUCE, &at);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    const enum hoop_status status =
        at == NO_NODE ||
                search_node_is_goal(path_search, &path_search->nodes[at])
            ? HOOP_OK
            : path_search_try_exchange(path_search, at, &request->to);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
path_search_add_start_node(struct path_search *path_search)
{
    const struct shortest_path_request *request = path_search->request;
    const bool is_mesh_steps_only = request->kind == SHORTEST_PATH_MESH_STEPS;
    struct search_node *first = &path_search->nodes[path_search->n_nodes++];

    first->search_phase =
        is_mesh_steps_only ? SEARCH_PHASE_LINE_STEPS : SEARCH_PHASE_REDUCE;
    first->path_step.mesh_step.after = request->from;
    first->from = NO_NODE;
    first->key = sharding_key(&request->from) | (uint64_t)first->search_phase
                                                    << SEARCH_PHASE_KEY_SHIFT;
    path_search->slots[search_node_slot_find(path_search, first->key)] =
        path_search->n_nodes;
    path_search->goal = search_node_is_goal(path_search, first) ? 0 : NO_NODE;
    path_search->largest =
        sharding_largest_part(&request->from_rules, &request->from);
    const size_t in_the_end = sharding_largest_part(
        is_mesh_steps_only ? &request->from_rules : &request->to_rules,
        &request->to);
    if (is_mesh_steps_only)
        path_search->largest = SIZE_MAX;
    else if (in_the_end > path_search->largest)
        path_search->largest = in_the_end;
}

static enum hoop_status
path_search_run(struct path_search *path_search)
{
    enum hoop_status status =
        path_search->request->kind == SHORTEST_PATH_MESH_STEPS
            ? path_search_add_greedy_path(path_search)
            : path_search_add_direct_path(path_search);
    uint32_t at;

    while (status == HOOP_OK &&
           (at = path_search_nearest_node(path_search)) != path_search->goal &&
           at != NO_NODE) {
        path_search->nodes[at].is_settled = true;
        if (search_node_can_exchange(path_search, &path_search->nodes[at]))
            status = path_search_try_exchanges(path_search, at);
        if (status == HOOP_OK)
            status = path_search_try_mesh_steps(path_search, at);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
shortest_path_find(const struct shortest_path_request *request,
                   struct shortest_path *out_shortest_path)
{
    CLEANUP(free)
    struct path_search *path_search = calloc(1, sizeof(*path_search));

    assert(request->n_path_steps <= HOOP_MAX_STEPS);
    if (!path_search)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look for a way");
    path_search->request = request;
    path_search_add_start_node(path_search);
    const enum hoop_status status = path_search_run(path_search);
    if (status != HOOP_OK)
        return error_pass(status);
    if (path_search->goal == NO_NODE)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no way of %u steps was found among %d shardings",
                           request->n_path_steps, LIMIT_PATH_SHARDINGS);
    const struct search_node *search_node =
        &path_search->nodes[path_search->goal];
    out_shortest_path->cost = search_node->cost;
    out_shortest_path->n_path_steps = search_node->n_path_steps;
    for (uint32_t i = search_node->n_path_steps; i > 0; i--) {
        out_shortest_path->path_steps[i - 1] = search_node->path_step;
        search_node = &path_search->nodes[search_node->from];
    }
    return HOOP_OK;
}
