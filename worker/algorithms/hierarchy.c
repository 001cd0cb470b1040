/*
 * algorithms/hierarchy.c - collectives in three parts: inside nodes, between, inside
 */

#include "algorithms/hierarchy.h"

#include <assert.h>
#include <string.h>

#include "plan/nodes.h"
#include "plan/topology.h"

/* A subset of a communicator's ranks, in an order of its own. */

uint32_t
team_n_nodes(const struct plan_shape *shape)
{
    return shape->nodes ? shape->nodes->n_nodes : 1;
}

uint32_t
team_node_of(const struct plan_shape *shape, uint32_t rank)
{
    return shape->nodes ? shape->nodes->node_of[rank] : 0;
}

static uint32_t
local_of(const struct plan_shape *shape, uint32_t rank)
{
    return shape->nodes ? shape->nodes->local_of[rank] : rank;
}

static uint32_t
node_first_index(const struct plan_shape *shape, uint32_t node)
{
    if (shape->nodes)
        return shape->nodes->begin[node];
    return node == 0 ? 0 : shape->size;
}

uint32_t
team_rank_in_node_order(const struct plan_shape *shape, uint32_t index)
{
    assert(index < shape->size);
    return shape->nodes ? shape->nodes->members[index] : index;
}

struct team
team_of_node(const struct plan_shape *shape)
{
    assert(!shape->nodes || shape->nodes->n_ranks == shape->size);

    return (struct team){
        .shape = shape,
        .kind = TEAM_NODE,
        .which = team_node_of(shape, shape->rank),
    };
}

struct team
team_of_local_rank(const struct plan_shape *shape)
{
    assert(team_nodes_have_equal_size(shape));

    return (struct team){
        .shape = shape,
        .kind = TEAM_SAME_LOCAL_RANK,
        .which = local_of(shape, shape->rank),
    };
}

struct team
team_of_leaders(const struct plan_shape *shape, uint32_t root)
{
    assert(root < shape->size);

    return (struct team){
        .shape = shape,
        .kind = TEAM_LEADERS,
        .which = root,
    };
}

uint32_t
team_size(const struct team *team)
{
    if (team->kind != TEAM_NODE)
        return team_n_nodes(team->shape);
    return node_first_index(team->shape, team->which + 1) -
           node_first_index(team->shape, team->which);
}

uint32_t
team_rank_at(const struct team *team, uint32_t place)
{
    const struct plan_shape *shape = team->shape;

    assert(place < team_size(team));
    switch (team->kind) {
    case TEAM_NODE:
        return team_rank_in_node_order(
            shape, node_first_index(shape, team->which) + place);
    case TEAM_SAME_LOCAL_RANK:
        return team_rank_in_node_order(shape, node_first_index(shape, place) +
                                                  team->which);
    case TEAM_LEADERS:
        if (place == team_node_of(shape, team->which))
            return team->which;
        return team_rank_in_node_order(shape, node_first_index(shape, place));
    }
    return shape->rank;
}

uint32_t
team_own_index(const struct team *team)
{
    const struct plan_shape *shape = team->shape;
    const uint32_t place = team->kind == TEAM_NODE
                               ? local_of(shape, shape->rank)
                               : team_node_of(shape, shape->rank);

    return team_rank_at(team, place) == shape->rank ? place : team_size(team);
}

uint32_t
team_leader_local_index(const struct plan_shape *shape, uint32_t root)
{
    const bool root_is_here =
        team_node_of(shape, root) == team_node_of(shape, shape->rank);

    return root_is_here ? local_of(shape, root) : 0;
}

bool
team_nodes_have_equal_size(const struct plan_shape *shape)
{
    return !shape->nodes || shape->nodes->is_even;
}

struct team_represented_ranks
team_represented_ranks(const struct team *team,
                       uint32_t place,
                       uint32_t n_places)
{
    const struct plan_shape *shape = team->shape;
    const uint32_t begin = node_first_index(shape, team->which);

    assert(team->kind != TEAM_SAME_LOCAL_RANK);
    if (team->kind == TEAM_LEADERS)
        return (struct team_represented_ranks){
            node_first_index(shape, place),
            node_first_index(shape, place + n_places)};
    return (struct team_represented_ranks){begin + place,
                                           begin + place + n_places};
}

/* A plan made of other plans, each run by a team of ranks. */

static bool
part_includes_this_rank(const struct composition_part *part)
{
    return part->shape.rank < part->shape.size;
}

void
composition_add_part(struct composition *composition,
                     const struct composition_part *given)
{
    assert(composition->n_parts < COMPOSITION_PARTS_MAX);

    struct composition_part *part = &composition->parts[composition->n_parts++];

    *part = *given;
    part->shape.size = team_size(&part->team);
    part->shape.rank = team_own_index(&part->team);

    const uint32_t n_rounds = part_includes_this_rank(part)
                                  ? part->algorithm->n_rounds(&part->shape)
                                  : 0;

    if (part->round_end > n_rounds)
        part->round_end = n_rounds;
    if (part->round_begin > part->round_end)
        part->round_begin = part->round_end;
}

uint32_t
composition_n_rounds(const struct composition *composition)
{
    uint32_t n_rounds = 0;

    for (uint32_t i = 0; i < composition->n_parts; i++)
        n_rounds +=
            composition->parts[i].round_end - composition->parts[i].round_begin;
    return n_rounds;
}

size_t
composition_n_scratch(const struct composition *composition)
{
    size_t n_max = 0;

    for (uint32_t i = 0; i < composition->n_parts; i++) {
        const struct composition_part *part = &composition->parts[i];
        const size_t n_scratch =
            part->round_begin < part->round_end && part->algorithm->n_scratch
                ? part->algorithm->n_scratch(&part->shape)
                : 0;

        n_max = n_scratch > n_max ? n_scratch : n_max;
    }
    return composition->n_reserved_scratch + n_max;
}

static struct plan_span
span_translate(const struct composition *composition,
               const struct composition_part *part,
               struct plan_span span)
{
    switch (span.buffer) {
    case PLAN_INPUT:
        return (struct plan_span){part->input.buffer,
                                  part->input.first + span.first, span.count};
    case PLAN_OUTPUT:
        return (struct plan_span){part->output.buffer,
                                  part->output.first + span.first, span.count};
    case PLAN_SCRATCH:
        span.first += composition->n_reserved_scratch;
        break;
    }
    return span;
}

/* Contiguous blocks, and the rank of the first. */
struct run {
    uint32_t rank;
    struct plan_span span;
};

/* Returns the first run of a share and removes it from the share. */
static struct run
represented_ranks_take_run(const struct plan_shape *shape,
                           struct team_represented_ranks *share)
{
    const uint32_t rank = team_rank_in_node_order(shape, share->first++);
    uint32_t n_blocks = 1;

    while (share->first < share->end &&
           team_rank_in_node_order(shape, share->first) == rank + n_blocks) {
        share->first++;
        n_blocks++;
    }
    return (struct run){
        .rank = rank,
        .span = caller_block_run_span(shape, PLAN_OUTPUT, rank, n_blocks),
    };
}

/* The message number includes the run's first rank, so that each run has its
 * own. */
static void
plan_add_block_run(struct plan *plan,
                   struct plan_step step,
                   struct run run,
                   uint32_t size)
{
    step.message = step.message * size + run.rank;
    if (step.kind == PLAN_SEND)
        step.from = run.span;
    else
        step.to = run.span;
    plan_add_step(plan, &step);
}

/* If the span is the input, it is the rank's own block; otherwise it is one or
 * more runs of blocks. */
static void
plan_add_block_runs(struct plan *plan,
                    const struct composition *composition,
                    const struct composition_part *part,
                    struct plan_step step)
{
    const struct plan_shape *shape = composition->shape;
    const bool is_send = step.kind == PLAN_SEND;
    const struct plan_span units = is_send ? step.from : step.to;

    assert(step.kind == PLAN_COPY || is_send || step.kind == PLAN_STORE);
    assert(units.buffer != PLAN_SCRATCH);
    if (step.kind == PLAN_COPY)
        step.from = part->input;
    if (units.buffer == PLAN_INPUT) {
        plan_add_block_run(plan, step, (struct run){shape->rank, part->input},
                           shape->size);
        return;
    }

    struct team_represented_ranks share = team_represented_ranks(
        &part->team, (uint32_t)units.first, (uint32_t)units.count);
    while (share.first < share.end)
        plan_add_block_run(
            plan, step, represented_ranks_take_run(shape, &share), shape->size);
}

static void
plan_add_translated_step(struct plan *plan,
                         const struct composition *composition,
                         const struct composition_part *part,
                         struct plan_step step)
{
    if (step.kind != PLAN_COPY && step.kind != PLAN_COMBINE)
        step.peer = team_rank_at(&part->team, step.peer);
    if (part->end == COMPOSITION_PARTIAL)
        step.is_final = false;
    if (part->unit == COMPOSITION_UNIT_RANK_BLOCKS) {
        plan_add_block_runs(plan, composition, part, step);
        return;
    }
    step.from = span_translate(composition, part, step.from);
    step.to = span_translate(composition, part, step.to);
    plan_add_step(plan, &step);
}

/* The part's steps are planned at the end of the plan. The translated steps are
 * appended behind them and then moved into their place, which needs no other
 * memory. */
static void
plan_add_part_round(struct plan *plan,
                    const struct composition *composition,
                    uint32_t number,
                    uint32_t round)
{
    const struct composition_part *part = &composition->parts[number];
    const size_t before = plan->n_steps;

    part->algorithm->plan_round(plan, &part->shape, round);

    const size_t n_planned = plan->n_steps - before;
    const size_t middle = plan->n_steps;

    for (size_t i = before; i < middle && plan->status == HOOP_OK; i++)
        plan_add_translated_step(plan, composition, part, plan->steps[i]);
    if (n_planned == 0)
        return;
    memmove(&plan->steps[before], &plan->steps[middle],
            (plan->n_steps - middle) * sizeof(*plan->steps));
    plan->n_steps -= n_planned;
    for (size_t i = before; i < plan->n_steps; i++)
        plan->steps[i].message =
            plan->steps[i].message * COMPOSITION_PARTS_MAX + number;
}

void
composition_plan_round(const struct composition *composition,
                       struct plan *plan,
                       uint32_t round)
{
    assert(round < composition_n_rounds(composition));

    for (uint32_t i = 0; i < composition->n_parts; i++) {
        const struct composition_part *part = &composition->parts[i];
        const uint32_t n_rounds = part->round_end - part->round_begin;

        if (round < n_rounds) {
            plan_add_part_round(plan, composition, i,
                                part->round_begin + round);
            return;
        }
        round -= n_rounds;
    }
}

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

    part.shape.root = team_leader_local_index(shape, root);
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
    struct composition_part first = composition_part_make(
        hierarchy->intra_node_first_algorithm, team_of_node(shape));
    struct composition_part between =
        composition_part_make(hierarchy->between, team_of_leaders(shape, 0));

    first.end = node_part_finality(shape);
    between.shape.is_in_place = true;
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
    add_node_broadcast_part(composition, hierarchy->intra_node_last_algorithm,
                            0, shape->count);
}

struct plan_shape
hierarchy_node_shape(const struct plan_shape *shape)
{
    const struct team node = team_of_node(shape);
    struct plan_shape inside = composition_part_make(NULL, node).shape;

    inside.size = team_size(&node);
    inside.rank = team_own_index(&node);
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
    struct composition_part first = composition_part_make(
        hierarchy->intra_node_first_algorithm, team_of_node(shape));
    struct composition_part between =
        composition_part_make(hierarchy->between, team_of_leaders(shape, 0));

    /* Only the leader's own block and the other blocks are in one buffer. */
    first.unit = COMPOSITION_UNIT_RANK_BLOCKS;
    first.shape.count = 1;
    first.shape.is_in_place =
        shape->is_in_place && team_own_index(&first.team) == 0;
    first.input =
        caller_block_span(shape, own_input_buffer(shape), shape->rank);
    if (!shape->is_in_place)
        first.input.first = 0;
    between.unit = COMPOSITION_UNIT_RANK_BLOCKS;
    between.shape.count = 1;
    between.shape.is_in_place = true;
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
    add_node_broadcast_part(composition, hierarchy->intra_node_last_algorithm,
                            0, all.count);
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
    add_node_broadcast_part(composition, hierarchy->intra_node_last_algorithm,
                            shape->root, shape->count);
}

void
hierarchy_compose_reduce(struct composition *composition,
                         const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    struct composition_part first = composition_part_make(
        hierarchy->intra_node_first_algorithm, team_of_node(shape));
    struct composition_part between = composition_part_make(
        hierarchy->between, team_of_leaders(shape, shape->root));

    first.end = node_part_finality(shape);
    first.shape.root = team_leader_local_index(shape, shape->root);
    between.shape.root = team_node_of(shape, shape->root);
    between.shape.is_in_place = true;
    if (shape->rank != shape->root) {
        first.shape.is_in_place = false;
        first.input.buffer = own_input_buffer(shape);
        first.output.buffer = PLAN_SCRATCH;
        between.shape.is_in_place = false;
        between.input.buffer = PLAN_SCRATCH;
        if (team_own_index(&between.team) < team_size(&between.team))
            composition->n_reserved_scratch = shape->count;
    }
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
}
