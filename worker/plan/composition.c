/*
 * plan/composition.c - a plan made of other plans, each run by a team of ranks
 */

#include "plan/composition.h"

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

/* The queries of any algorithm. */

static struct composition
composition_of(const struct algorithm *algorithm,
               const struct plan_shape *shape)
{
    struct composition composition = {.shape = shape};

    algorithm->compose->add_parts(&composition, algorithm->compose);
    return composition;
}

uint32_t
algorithm_n_rounds(const struct algorithm *algorithm,
                   const struct plan_shape *shape)
{
    if (!algorithm->compose)
        return algorithm->n_rounds(shape);

    const struct composition composition = composition_of(algorithm, shape);

    return composition_n_rounds(&composition);
}

size_t
algorithm_n_scratch(const struct algorithm *algorithm,
                    const struct plan_shape *shape)
{
    if (!algorithm->compose)
        return algorithm->n_scratch ? algorithm->n_scratch(shape) : 0;

    const struct composition composition = composition_of(algorithm, shape);

    return composition_n_scratch(&composition);
}

void
algorithm_plan_round(const struct algorithm *algorithm,
                     struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t round)
{
    if (!algorithm->compose) {
        algorithm->plan_round(plan, shape, round);
        return;
    }

    const struct composition composition = composition_of(algorithm, shape);

    composition_plan_round(&composition, plan, round);
}
