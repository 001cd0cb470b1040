/*
 * plan/simulation_cast.c - who plays which rank
 *
 * Who stands for others must do what they do. That is looked at on the nodes
 * beside the first, in the middle and at the end, where roots and leftovers of
 * powers of two would show: do they send as much and as often, and take as
 * often? In which order, and to whom, may differ: the k-th message between two
 * places is taken for the k-th. Blocks may differ by a granule: whoever cuts a
 * buffer cannot make all of them the same.
 */

#include "plan/simulation_cast.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "plan/nodes.h"

struct simulation_cast
simulation_cast_full(const struct plan_shape *shape)
{
    return (struct simulation_cast){
        .shape = shape,
        .n_actors = shape->size,
        .n_nodes = shape->nodes ? shape->nodes->n_nodes : 1,
        .n_behind = 1,
    };
}

static bool
has_one_node(const struct plan_shape *shape)
{
    return !shape->nodes || shape->nodes->n_nodes == 1;
}

/* The rank that plays actor on some node; with one actor, any rank. */
static uint32_t
rank_at(const struct simulation_cast *cast, uint32_t place, uint32_t actor)
{
    if (cast->n_actors == 1)
        return place;
    return plan_nodes_rank(cast->shape->nodes, place, actor);
}

/* How many there are that the followed one stands for, itself included. */
static uint32_t
n_places(const struct simulation_cast *cast)
{
    return cast->n_actors == 1 ? cast->shape->size
                               : cast->shape->nodes->n_nodes;
}

uint32_t
simulation_cast_rank(const struct simulation_cast *cast, uint32_t actor)
{
    assert(actor < cast->n_actors);
    return cast->is_small ? rank_at(cast, 0, actor) : actor;
}

uint32_t
simulation_cast_actor(const struct simulation_cast *cast, uint32_t rank)
{
    assert(rank < cast->shape->size);
    if (!cast->is_small)
        return rank;
    return cast->n_actors == 1 ? 0 : cast->shape->nodes->local_of[rank];
}

uint32_t
simulation_cast_node(const struct simulation_cast *cast, uint32_t actor)
{
    if (cast->is_small || !cast->shape->nodes)
        return 0;
    return cast->shape->nodes->node_of[actor];
}

static bool
are_apart(const struct plan_shape *shape, uint32_t one, uint32_t other)
{
    return shape->nodes &&
           shape->nodes->node_of[one] != shape->nodes->node_of[other];
}

uint32_t
simulation_cast_mates(const struct simulation_cast *cast, uint32_t actor)
{
    const struct plan_nodes *nodes = cast->shape->nodes;

    if (!nodes)
        return cast->shape->size;
    return plan_nodes_size(nodes,
                           nodes->node_of[simulation_cast_rank(cast, actor)]);
}

bool
simulation_cast_crosses(const struct simulation_cast *cast,
                        uint32_t actor,
                        uint32_t peer)
{
    return are_apart(cast->shape, simulation_cast_rank(cast, actor), peer);
}

struct simulation_address
simulation_cast_address(const struct simulation_cast *cast,
                        uint32_t actor,
                        const struct plan_step *step)
{
    const uint32_t peer = simulation_cast_actor(cast, step->peer);
    const bool is_send = step->kind == PLAN_SEND;

    return (struct simulation_address){
        .from = is_send ? actor : peer,
        .to = is_send ? peer : actor,
        .message = step->message,
        .crosses = simulation_cast_crosses(cast, actor, step->peer),
    };
}

/* What one rank does, for comparison: messages there and back, first those
 * within its node, then those to others. Copies are its own matter. */
struct part {
    uint64_t n_sends[2];
    uint64_t n_receives[2];
    uint64_t n_sent[2]; /* elements */
};

static void
part_add(struct part *part,
         const struct plan_shape *shape,
         const struct plan_step *step)
{
    switch (step->kind) {
    case PLAN_SEND:
        part->n_sends[are_apart(shape, shape->rank, step->peer)]++;
        part->n_sent[are_apart(shape, shape->rank, step->peer)] +=
            step->from.count;
        break;
    case PLAN_STORE:
    case PLAN_REDUCE:
        part->n_receives[are_apart(shape, shape->rank, step->peer)]++;
        break;
    case PLAN_COPY:
    case PLAN_COMBINE:
    case PLAN_POST:
    case PLAN_SHOW:
    case PLAN_FETCH:
    case PLAN_FETCH_REDUCE:
        break;
    }
}

static enum hoop_status
part_read(const struct algorithm *algorithm,
          const struct plan_shape *shape,
          struct part *out_part)
{
    const uint32_t n_rounds = algorithm->n_rounds(shape);
    struct plan plan = {0};

    *out_part = (struct part){0};
    for (uint32_t round = 0; round < n_rounds; round++) {
        plan_clear(&plan);
        algorithm->plan_round(&plan, shape, round);
        for (size_t i = 0; i < plan.n_steps; i++)
            part_add(out_part, shape, &plan.steps[i]);
    }

    const enum hoop_status status = plan_status(&plan);
    plan_deinit(&plan);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
is_close(uint64_t one, uint64_t other, uint64_t slack)
{
    return one > other ? one - other <= slack : other - one <= slack;
}

static bool
parts_are_alike(const struct part *one,
                const struct part *other,
                size_t granule)
{
    for (int i = 0; i < 2; i++)
        if (one->n_sends[i] != other->n_sends[i] ||
            one->n_receives[i] != other->n_receives[i] ||
            !is_close(one->n_sent[i], other->n_sent[i],
                      one->n_sends[i] * granule))
            return false;
    return true;
}

static enum hoop_status
place_compare(const struct simulation_cast *cast,
              const struct algorithm *algorithm,
              uint32_t place,
              bool *out_is_fair)
{
    struct plan_shape shape = *cast->shape;
    struct part here;
    struct part there;
    bool is_fair = true;

    for (uint32_t actor = 0; is_fair && actor < cast->n_actors; actor++) {
        shape.rank = rank_at(cast, 0, actor);
        enum hoop_status status = part_read(algorithm, &shape, &here);
        if (status != HOOP_OK)
            return error_pass(status);
        shape.rank = rank_at(cast, place, actor);
        status = part_read(algorithm, &shape, &there);
        if (status != HOOP_OK)
            return error_pass(status);
        is_fair = parts_are_alike(&here, &there, shape.granule);
    }
    *out_is_fair = is_fair;
    return HOOP_OK;
}

static uint32_t
root_place(const struct simulation_cast *cast)
{
    const uint32_t root = cast->shape->root;

    return cast->n_actors == 1 ? root : cast->shape->nodes->node_of[root];
}

enum hoop_status
simulation_cast_small(const struct plan_shape *shape,
                      const struct algorithm *algorithm,
                      struct simulation_cast *out_cast,
                      bool *out_is_fair)
{
    const bool is_one_node = has_one_node(shape);
    struct simulation_cast cast = {
        .shape = shape,
        .n_actors = is_one_node ? 1 : plan_nodes_size(shape->nodes, 0),
        .n_nodes = 1,
        .n_behind = is_one_node ? shape->size : 1,
        .is_small = true,
    };
    bool is_fair = is_one_node || shape->nodes->is_even;
    const uint32_t n = is_fair ? n_places(&cast) : 1;
    const uint32_t samples[] = {1, n / 2, n - 1, root_place(&cast)};

    for (size_t i = 0; is_fair && n > 1 && i < COUNT_OF(samples); i++) {
        const enum hoop_status status =
            place_compare(&cast, algorithm, samples[i], &is_fair);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (is_fair)
        *out_cast = cast;
    *out_is_fair = is_fair;
    return HOOP_OK;
}
