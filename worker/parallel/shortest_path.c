/*
 * parallel/shortest_path.c - the cheapest sequence of steps between shardings
 *
 * Each sharding is a node once in each phase: while only reductions have been
 * done, after other steps along lines, and after an exchange. There are few
 * nodes, so the nearest one is found by a linear scan. A hash table finds the
 * node of a key.
 */

#include "parallel/shortest_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "parallel/tiling.h"

enum phase {
    PHASE_REDUCE,
    PHASE_LINES,
    PHASE_EXCHANGED,
};

enum {
    /* twice LIMIT_PATH_SHARDINGS, a power of two */
    N_SLOTS = 2 * LIMIT_PATH_SHARDINGS,
    PHASE_SHIFT = 60,
};

struct node {
    uint64_t key;
    enum phase phase;
    double cost;
    uint32_t from; /* index of the previous node */
    uint32_t n_path_steps;
    bool is_settled;
    struct path_step
        path_step; /* leads here; mesh_step.after is this node's sharding */
};

struct search {
    const struct shortest_path_request *request;
    size_t largest; /* largest part allowed on the way */
    /* the nearest node that is the target; NO_NODE: none yet */
    uint32_t goal;
    uint32_t n_nodes;
    uint32_t slots[N_SLOTS]; /* index of the node plus 1; 0: free */
    struct node nodes[LIMIT_PATH_SHARDINGS];
};

static const uint32_t NO_NODE = UINT32_MAX;

static const struct mesh_step_rules *
rules_at(const struct search *search, enum phase phase)
{
    return phase == PHASE_EXCHANGED ? &search->request->to_rules
                                    : &search->request->from_rules;
}

static const struct hoop_sharding *
sharding_at(const struct node *node)
{
    return &node->path_step.mesh_step.after;
}

static size_t
largest_part(const struct mesh_step_rules *rules,
             const struct hoop_sharding *sharding)
{
    struct tiling tiling;

    tiling_init(&tiling, sharding, &rules->mesh, &rules->shape);
    return tiling_largest(&tiling);
}

/* Returns the slot of a key, or the free slot where it belongs. */
static uint32_t
slot_find(const struct search *search, uint64_t key)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;

    for (hash >>= 32;; hash++) {
        const uint32_t slot = (uint32_t)(hash % N_SLOTS);
        const uint32_t entry = search->slots[slot];

        if (entry == 0 || search->nodes[entry - 1].key == key)
            return slot;
    }
}

static bool
is_goal(const struct search *search, const struct node *node)
{
    if (search->request->kind == SHORTEST_PATH_TWO_MESHES &&
        node->phase != PHASE_EXCHANGED)
        return false;
    return sharding_key(sharding_at(node)) ==
           sharding_key(&search->request->to);
}

/* Returns the node of a key, new or not, if cost is lower than known. Returns
 * NULL otherwise, or if there is no room. */
static struct node *
node_reach(struct search *search, uint64_t key, double cost)
{
    const uint32_t slot = slot_find(search, key);

    if (search->slots[slot] > 0) {
        struct node *known = &search->nodes[search->slots[slot] - 1];

        return known->is_settled || known->cost <= cost ? NULL : known;
    }
    if (search->n_nodes >= LIMIT_PATH_SHARDINGS)
        return NULL;
    struct node *node = &search->nodes[search->n_nodes++];
    search->slots[slot] = search->n_nodes;
    node->key = key;
    return node;
}

static uint32_t
index_of(const struct search *search, const struct node *node)
{
    return (uint32_t)(node - search->nodes);
}

/* Takes a step from a node. *out_node is the node reached, or NO_NODE if the
 * step is no improvement. */
static enum hoop_status
path_step_try(struct search *search,
              uint32_t from,
              const struct path_step *path_step,
              enum phase phase,
              uint32_t *out_node)
{
    const struct shortest_path_request *request = search->request;
    const uint32_t n_path_steps = search->nodes[from].n_path_steps + 1;
    const uint64_t key = sharding_key(&path_step->mesh_step.after) |
                         (uint64_t)phase << PHASE_SHIFT;
    double cost = 0;

    *out_node = NO_NODE;
    if (n_path_steps > request->n_path_steps)
        return HOOP_OK;
    const enum hoop_status status =
        request->cost(request->owner, path_step, &cost);
    if (status != HOOP_OK)
        return error_pass(status);
    cost += search->nodes[from].cost;
    if (search->goal != NO_NODE && cost >= search->nodes[search->goal].cost)
        return HOOP_OK;
    struct node *node = node_reach(search, key, cost);
    if (!node)
        return HOOP_OK;
    node->phase = phase;
    node->cost = cost;
    node->from = from;
    node->n_path_steps = n_path_steps;
    node->path_step = *path_step;
    *out_node = index_of(search, node);
    if (is_goal(search, node))
        search->goal = *out_node;
    return HOOP_OK;
}

static bool
is_reduction(const struct mesh_step *mesh_step)
{
    return mesh_step->kind == HOOP_STEP_ALLREDUCE ||
           mesh_step->kind == HOOP_STEP_REDUCE_SCATTER;
}

/* Returns whether a step may be taken from a node in its phase. */
static bool
is_allowed(const struct search *search,
           const struct node *node,
           const struct mesh_step *mesh_step)
{
    const struct shortest_path_request *request = search->request;

    if (node->phase == PHASE_EXCHANGED)
        return mesh_step->kind == HOOP_STEP_ALLGATHER &&
               sharding_key(&mesh_step->after) == sharding_key(&request->to);
    if (request->kind == SHORTEST_PATH_TWO_MESHES && !is_reduction(mesh_step))
        return false;
    return largest_part(rules_at(search, node->phase), &mesh_step->after) <=
           search->largest;
}

static enum phase
phase_after(const struct node *node, const struct mesh_step *mesh_step)
{
    return node->phase == PHASE_REDUCE && !is_reduction(mesh_step)
               ? PHASE_LINES
               : node->phase;
}

static enum hoop_status
mesh_steps_try(struct search *search, uint32_t from)
{
    const struct node *node = &search->nodes[from];
    struct mesh_step mesh_steps[MESH_STEPS_MAX];
    uint32_t reached;
    const uint32_t n_mesh_steps = mesh_step_list(rules_at(search, node->phase),
                                                 sharding_at(node), mesh_steps);

    for (uint32_t i = 0; i < n_mesh_steps; i++) {
        if (!is_allowed(search, node, &mesh_steps[i]))
            continue;
        const struct path_step path_step = {
            .mesh_step = mesh_steps[i],
            .mesh = node->phase == PHASE_EXCHANGED ? node->path_step.mesh
                                                   : REDISTRIBUTION_FROM,
            .before = *sharding_at(node),
        };
        const enum hoop_status status =
            path_step_try(search, from, &path_step,
                          phase_after(node, &mesh_steps[i]), &reached);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Returns whether nothing is left to reduce and no other step has been
 * taken. */
static bool
can_exchange(const struct search *search, const struct node *node)
{
    const unsigned partial = axes_mask(&sharding_at(node)->partial);

    return search->request->kind != SHORTEST_PATH_MESH_STEPS &&
           node->phase == PHASE_REDUCE &&
           !(partial & search->request->from_rules.reduced);
}

static enum hoop_status
exchange_try(struct search *search,
             uint32_t from,
             const struct hoop_sharding *to)
{
    const struct path_step path_step = {
        .mesh_step = {.kind = HOOP_STEP_EXCHANGE, .after = *to},
        .mesh = search->request->kind == SHORTEST_PATH_ONE_MESH
                    ? REDISTRIBUTION_FROM
                    : REDISTRIBUTION_TO,
        .before = *sharding_at(&search->nodes[from]),
    };
    uint32_t reached;
    const enum hoop_status status =
        path_step_try(search, from, &path_step, PHASE_EXCHANGED, &reached);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Tries an exchange to sharding if an allgather along dim can turn it into the
 * target. */
static enum hoop_status
detour_try(struct search *search,
           uint32_t from,
           const struct hoop_sharding *sharding,
           uint32_t dim)
{
    const struct mesh_step_rules *rules = &search->request->to_rules;
    const uint32_t n = axes_count(&sharding->dims[dim], &rules->mesh);

    if (rules->shape.dims[dim] % n != 0)
        return HOOP_OK;
    return exchange_try(search, from, sharding);
}

/* Tries exchanges to shardings where axes that the target does not use cut dim
 * as well: each of them alone, and together with those before it. */
static enum hoop_status
detours_try(struct search *search, uint32_t from, uint32_t dim)
{
    const struct mesh_step_rules *rules = &search->request->to_rules;
    const struct hoop_sharding *to = &search->request->to;
    const unsigned used = sharding_cutting(to) | axes_mask(&to->partial);
    struct hoop_sharding together = *to;

    for (uint32_t axis = 0; axis < rules->mesh.n_axes; axis++) {
        struct hoop_sharding alone = *to;

        if (!(rules->cutting & rules->gathered & ~used & 1U << axis))
            continue;
        axes_append(&alone.dims[dim], axis);
        axes_append(&together.dims[dim], axis);
        enum hoop_status status = detour_try(search, from, &alone, dim);
        if (status == HOOP_OK)
            status = detour_try(search, from, &together, dim);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
exchanges_try(struct search *search, uint32_t from)
{
    enum hoop_status status = exchange_try(search, from, &search->request->to);
    const uint32_t n_dims = search->request->to_rules.shape.n_dims;

    for (uint32_t dim = 0; dim < n_dims && status == HOOP_OK; dim++)
        status = detours_try(search, from, dim);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static uint32_t
nearest(const struct search *search)
{
    uint32_t best = NO_NODE;

    for (uint32_t i = 0; i < search->n_nodes; i++) {
        const struct node *node = &search->nodes[i];

        if (!node->is_settled &&
            (best == NO_NODE || node->cost < search->nodes[best].cost))
            best = i;
    }
    return best;
}

/* Returns whether axes is a prefix of whole. */
static bool
is_begun(const struct hoop_axes *axes, const struct hoop_axes *whole)
{
    return axes->n_axes <= whole->n_axes &&
           memcmp(axes->axes, whole->axes,
                  axes->n_axes * sizeof(*axes->axes)) == 0;
}

/* Returns whether a step of one axis is on the plain path: reduce all, gather
 * what does not remain, slice. */
static bool
is_plain(const struct hoop_sharding *at,
         const struct hoop_sharding *to,
         const struct mesh_step *mesh_step)
{
    const struct hoop_axes *begun = &at->dims[mesh_step->shard_dim];
    const struct hoop_axes *cut = &to->dims[mesh_step->shard_dim];

    if (mesh_step->axes.n_axes != 1)
        return false;
    if (mesh_step->kind == HOOP_STEP_ALLGATHER)
        return !is_begun(&at->dims[mesh_step->gather_dim],
                         &to->dims[mesh_step->gather_dim]);
    if (mesh_step->kind == HOOP_STEP_SLICE)
        return is_begun(begun, cut) && begun->n_axes < cut->n_axes &&
               cut->axes[begun->n_axes] == mesh_step->axes.axes[0];
    return mesh_step->kind == HOOP_STEP_ALLREDUCE;
}

/* Finds the plain path of steps along lines. It always exists, but may have too
 * many steps. */
static enum hoop_status
plain_way(struct search *search)
{
    uint32_t at = 0;

    while (at != NO_NODE && !is_goal(search, &search->nodes[at])) {
        const struct hoop_sharding before = *sharding_at(&search->nodes[at]);
        struct mesh_step mesh_steps[MESH_STEPS_MAX];
        uint32_t i = 0;
        const uint32_t n_mesh_steps =
            mesh_step_list(&search->request->from_rules, &before, mesh_steps);

        while (i < n_mesh_steps &&
               !is_plain(&before, &search->request->to, &mesh_steps[i]))
            i++;
        if (i == n_mesh_steps)
            return HOOP_OK;
        const struct path_step path_step = {.mesh_step = mesh_steps[i],
                                            .before = before};
        const enum hoop_status status =
            path_step_try(search, at, &path_step, PHASE_LINES, &at);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Finds the direct path: reduce all, then exchange. */
static enum hoop_status
direct_way(struct search *search)
{
    const struct shortest_path_request *request = search->request;
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
        const enum hoop_status status =
            path_step_try(search, 0, &path_step, PHASE_REDUCE, &at);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    const enum hoop_status status =
        at == NO_NODE || is_goal(search, &search->nodes[at])
            ? HOOP_OK
            : exchange_try(search, at, &request->to);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
begin(struct search *search)
{
    const struct shortest_path_request *request = search->request;
    const bool is_mesh_steps_only = request->kind == SHORTEST_PATH_MESH_STEPS;
    struct node *first = &search->nodes[search->n_nodes++];

    first->phase = is_mesh_steps_only ? PHASE_LINES : PHASE_REDUCE;
    first->path_step.mesh_step.after = request->from;
    first->from = NO_NODE;
    first->key = sharding_key(&request->from) | (uint64_t)first->phase
                                                    << PHASE_SHIFT;
    search->slots[slot_find(search, first->key)] = search->n_nodes;
    search->goal = is_goal(search, first) ? 0 : NO_NODE;
    search->largest = largest_part(&request->from_rules, &request->from);
    const size_t in_the_end = largest_part(
        is_mesh_steps_only ? &request->from_rules : &request->to_rules,
        &request->to);
    if (is_mesh_steps_only)
        search->largest = SIZE_MAX;
    else if (in_the_end > search->largest)
        search->largest = in_the_end;
}

static enum hoop_status
search_run(struct search *search)
{
    enum hoop_status status = search->request->kind == SHORTEST_PATH_MESH_STEPS
                                  ? plain_way(search)
                                  : direct_way(search);
    uint32_t at;

    while (status == HOOP_OK && (at = nearest(search)) != search->goal &&
           at != NO_NODE) {
        search->nodes[at].is_settled = true;
        if (can_exchange(search, &search->nodes[at]))
            status = exchanges_try(search, at);
        if (status == HOOP_OK)
            status = mesh_steps_try(search, at);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
shortest_path_find(const struct shortest_path_request *request,
                   struct shortest_path *out_shortest_path)
{
    CLEANUP(free) struct search *search = calloc(1, sizeof(*search));

    assert(request->n_path_steps <= HOOP_MAX_STEPS);
    if (!search)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to look for a way");
    search->request = request;
    begin(search);
    const enum hoop_status status = search_run(search);
    if (status != HOOP_OK)
        return error_pass(status);
    if (search->goal == NO_NODE)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no way of %u steps was found among %d shardings",
                           request->n_path_steps, LIMIT_PATH_SHARDINGS);
    const struct node *node = &search->nodes[search->goal];
    out_shortest_path->cost = node->cost;
    out_shortest_path->n_path_steps = node->n_path_steps;
    for (uint32_t i = node->n_path_steps; i > 0; i--) {
        out_shortest_path->path_steps[i - 1] = node->path_step;
        node = &search->nodes[node->from];
    }
    return HOOP_OK;
}
