/*
 * algorithms/hierarchy.c - collectives in three parts: inside nodes, between, inside
 */

#include "algorithms/hierarchy.h"

#include "plan/topology.h"

/* A part whose input and output are those of the whole plan. */
static struct composition_part
composition_part_make(const struct algorithm *algorithm, struct team team)
{
    const struct plan_shape *shape = team.shape;

    return (struct composition_part){
        .algorithm = algorithm,
        .team = team,
        .shape =
            {
                .count = shape->count,
                .granule = shape->granule,
                .is_in_place = shape->is_in_place,
            },
        .input = {.buffer = PLAN_INPUT},
        .output = {.buffer = PLAN_OUTPUT},
        .end = COMPOSITION_FINAL,
        .round_end = UINT32_MAX,
    };
}

static enum plan_buffer
own_input_buffer(const struct plan_shape *shape)
{
    return shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
}

/* Must the node's sum still be combined with those of other nodes? */
static enum composition_finality
node_part_finality(const struct plan_shape *shape)
{
    return team_n_nodes(shape) > 1 ? COMPOSITION_PARTIAL : COMPOSITION_FINAL;
}

/* Broadcast the leader's output to the other ranks of its node. */
static void
add_node_broadcast_part(struct composition *composition,
                        const struct algorithm *algorithm,
                        uint32_t root,
                        size_t count)
{
    const struct plan_shape *shape = composition->shape;
    struct composition_part part =
        composition_part_make(algorithm, team_of_node(shape));

    part.shape.root = team_leader_place(shape, root);
    part.shape.count = count;
    part.shape.is_in_place = true;
    composition_add_part(composition, &part);
}

void
hierarchy_compose_single_node(struct composition *composition,
                              const struct algorithm *algorithm)
{
    const struct composition_part all =
        composition_part_make(algorithm, team_of_node(composition->shape));

    composition_add_part(composition, &all);
}

void
hierarchy_compose_allreduce(struct composition *composition,
                            const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    struct composition_part first =
        composition_part_make(hierarchy->inside_first, team_of_node(shape));
    struct composition_part between =
        composition_part_make(hierarchy->between, team_of_leaders(shape, 0));

    first.end = node_part_finality(shape);
    between.shape.is_in_place = true;
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
    add_node_broadcast_part(composition, hierarchy->inside_last, 0,
                            shape->count);
}

struct plan_shape
hierarchy_node_shape(const struct plan_shape *shape)
{
    const struct team node = team_of_node(shape);
    struct plan_shape inside = composition_part_make(NULL, node).shape;

    inside.size = team_size(&node);
    inside.rank = team_own_place(&node);
    return inside;
}

/* A rank that is alone on its node has no halves; out of place, its input has
 * not been copied yet when the part between the nodes begins. */
void
hierarchy_compose_halves(struct composition *composition,
                         const struct hierarchy_halved_allreduce *halves)
{
    const struct plan_shape *shape = composition->shape;
    const struct team node = team_of_node(shape);
    const bool is_alone = team_size(&node) == 1;
    struct composition_part first = composition_part_make(halves->inside, node);
    struct composition_part last = first;
    struct composition_part between =
        composition_part_make(halves->between, team_of_local_rank(shape));

    first.end = node_part_finality(shape);
    first.round_end = halves->middle;
    last.round_begin = halves->middle;
    last.round_end = is_alone ? halves->middle : UINT32_MAX;
    between.shape.count = halves->block.count;
    between.shape.is_in_place = !is_alone || shape->is_in_place;
    between.input.first = halves->block.first;
    between.output.first = halves->block.first;
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
    composition_add_part(composition, &last);
}

void
hierarchy_compose_allgather(struct composition *composition,
                            const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    const struct plan_span all =
        caller_block_run_span(shape, PLAN_OUTPUT, 0, shape->size);
    struct composition_part first =
        composition_part_make(hierarchy->inside_first, team_of_node(shape));
    struct composition_part between =
        composition_part_make(hierarchy->between, team_of_leaders(shape, 0));

    /* Only the leader's own block and the other blocks are in one buffer. */
    first.unit = COMPOSITION_BLOCKS;
    first.shape.count = 1;
    first.shape.is_in_place =
        shape->is_in_place && team_own_place(&first.team) == 0;
    first.input =
        caller_block_span(shape, own_input_buffer(shape), shape->rank);
    if (!shape->is_in_place)
        first.input.first = 0;
    between.unit = COMPOSITION_BLOCKS;
    between.shape.count = 1;
    between.shape.is_in_place = true;
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
    add_node_broadcast_part(composition, hierarchy->inside_last, 0, all.count);
}

void
hierarchy_compose_broadcast(struct composition *composition,
                            const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    struct composition_part between = composition_part_make(
        hierarchy->between, team_of_leaders(shape, shape->root));

    between.shape.root = team_node_of(shape, shape->root);
    composition_add_part(composition, &between);
    add_node_broadcast_part(composition, hierarchy->inside_last, shape->root,
                            shape->count);
}

void
hierarchy_compose_reduce(struct composition *composition,
                         const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    struct composition_part first =
        composition_part_make(hierarchy->inside_first, team_of_node(shape));
    struct composition_part between = composition_part_make(
        hierarchy->between, team_of_leaders(shape, shape->root));

    first.end = node_part_finality(shape);
    first.shape.root = team_leader_place(shape, shape->root);
    between.shape.root = team_node_of(shape, shape->root);
    between.shape.is_in_place = true;
    if (shape->rank != shape->root) {
        first.shape.is_in_place = false;
        first.input.buffer = own_input_buffer(shape);
        first.output.buffer = PLAN_SCRATCH;
        between.shape.is_in_place = false;
        between.input.buffer = PLAN_SCRATCH;
        if (team_own_place(&between.team) < team_size(&between.team))
            composition->n_kept = shape->count;
    }
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
}
