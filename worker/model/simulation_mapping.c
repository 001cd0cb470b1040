/*
 * model/simulation_mapping.c - which ranks a simulation follows
 *
 * A virtual rank may stand for other ranks only if they do the same. This is
 * checked on the second node, the one in the middle, the last and the root's,
 * where differences due to roots and powers of two would show: do their ranks
 * send as many messages and elements, and receive as many messages? The order
 * and the peers may differ: the k-th message between two places is matched with
 * the k-th receive. Sizes may differ by a granule per message, because a buffer
 * cannot always be cut into equal blocks.
 */

#include "model/simulation_mapping.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "plan/nodes.h"

struct simulation_mapping
simulation_mapping_make_full(const struct plan_shape *shape)
{
    return (struct simulation_mapping){
        .shape = shape,
        .n_vranks = shape->size,
        .n_nodes = shape->nodes ? shape->nodes->n_nodes : 1,
        .n_represented_ranks = 1,
    };
}

static bool
has_one_node(const struct plan_shape *shape)
{
    return !shape->nodes || shape->nodes->n_nodes == 1;
}

/* The rank that vrank stands for on the node place; if there is only one
 * virtual rank, the rank place. */
static uint32_t
rank_on_node(const struct simulation_mapping *mapping,
             uint32_t place,
             uint32_t vrank)
{
    if (mapping->n_vranks == 1)
        return place;
    return plan_nodes_member_rank(mapping->shape->nodes, place, vrank);
}

/* The number of nodes, or of ranks, that the followed one stands for, itself
 * included. */
static uint32_t
nodes_or_ranks_per_followed(const struct simulation_mapping *mapping)
{
    return mapping->n_vranks == 1 ? mapping->shape->size
                                  : mapping->shape->nodes->n_nodes;
}

uint32_t
simulation_mapping_rank_of(const struct simulation_mapping *mapping,
                           uint32_t vrank)
{
    assert(vrank < mapping->n_vranks);
    return mapping->is_reduced ? rank_on_node(mapping, 0, vrank) : vrank;
}

uint32_t
simulation_mapping_vrank_of(const struct simulation_mapping *mapping,
                            uint32_t rank)
{
    assert(rank < mapping->shape->size);
    if (!mapping->is_reduced)
        return rank;
    return mapping->n_vranks == 1 ? 0 : mapping->shape->nodes->local_of[rank];
}

uint32_t
simulation_mapping_node_of(const struct simulation_mapping *mapping,
                           uint32_t vrank)
{
    if (mapping->is_reduced || !mapping->shape->nodes)
        return 0;
    return mapping->shape->nodes->node_of[vrank];
}

static bool
are_on_different_nodes(const struct plan_shape *shape,
                       uint32_t one,
                       uint32_t other)
{
    return shape->nodes &&
           shape->nodes->node_of[one] != shape->nodes->node_of[other];
}

uint32_t
simulation_mapping_node_size(const struct simulation_mapping *mapping,
                             uint32_t vrank)
{
    const struct plan_nodes *nodes = mapping->shape->nodes;

    if (!nodes)
        return mapping->shape->size;
    return plan_nodes_node_size(
        nodes, nodes->node_of[simulation_mapping_rank_of(mapping, vrank)]);
}

bool
simulation_mapping_crosses_nodes(const struct simulation_mapping *mapping,
                                 uint32_t vrank,
                                 uint32_t peer)
{
    return are_on_different_nodes(
        mapping->shape, simulation_mapping_rank_of(mapping, vrank), peer);
}

struct simulation_message_address
simulation_mapping_address_of(const struct simulation_mapping *mapping,
                              uint32_t vrank,
                              const struct plan_step *step)
{
    const uint32_t peer = simulation_mapping_vrank_of(mapping, step->peer);
    const bool is_send = step->kind == PLAN_SEND;

    return (struct simulation_message_address){
        .from = is_send ? vrank : peer,
        .to = is_send ? peer : vrank,
        .message = step->message,
        .crosses = simulation_mapping_crosses_nodes(mapping, vrank, step->peer),
    };
}

/* The messages of one rank, for comparison: index 0 counts those within its
 * node, index 1 those to or from other nodes. Copies do not matter. */
struct rank_traffic {
    uint64_t n_sends[2];
    uint64_t n_receives[2];
    uint64_t n_sent[2]; /* elements */
};

static void
rank_traffic_add_step(struct rank_traffic *rank_traffic,
                      const struct plan_shape *shape,
                      const struct plan_step *step)
{
    switch (step->kind) {
    case PLAN_SEND:
        rank_traffic
            ->n_sends[are_on_different_nodes(shape, shape->rank, step->peer)]++;
        rank_traffic
            ->n_sent[are_on_different_nodes(shape, shape->rank, step->peer)] +=
            step->from.count;
        break;
    case PLAN_STORE:
    case PLAN_REDUCE:
        rank_traffic->n_receives[are_on_different_nodes(shape, shape->rank,
                                                        step->peer)]++;
        break;
    case PLAN_COPY:
    case PLAN_COMBINE:
    case PLAN_POST_TO_SLOT:
    case PLAN_EXPOSE:
    case PLAN_FETCH:
    case PLAN_FETCH_REDUCE:
        break;
    }
}

static enum hoop_status
rank_traffic_count(const struct algorithm *algorithm,
                   const struct plan_shape *shape,
                   struct rank_traffic *out_part)
{
    const uint32_t n_rounds = algorithm_n_rounds(algorithm, shape);
    struct plan plan = {0};

    *out_part = (struct rank_traffic){0};
    for (uint32_t round = 0; round < n_rounds; round++) {
        plan_clear(&plan);
        algorithm_plan_round(algorithm, &plan, shape, round);
        for (size_t i = 0; i < plan.n_steps; i++)
            rank_traffic_add_step(out_part, shape, &plan.steps[i]);
    }

    const enum hoop_status status = plan_status(&plan);
    plan_deinit(&plan);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
is_equal_within_slack(uint64_t one, uint64_t other, uint64_t slack)
{
    return one > other ? one - other <= slack : other - one <= slack;
}

static bool
rank_traffic_is_similar(const struct rank_traffic *one,
                        const struct rank_traffic *other,
                        size_t granule)
{
    for (int i = 0; i < 2; i++)
        if (one->n_sends[i] != other->n_sends[i] ||
            one->n_receives[i] != other->n_receives[i] ||
            !is_equal_within_slack(one->n_sent[i], other->n_sent[i],
                                   one->n_sends[i] * granule))
            return false;
    return true;
}

static enum hoop_status
node_compare_traffic(const struct simulation_mapping *mapping,
                     const struct algorithm *algorithm,
                     uint32_t place,
                     bool *out_is_fair)
{
    struct plan_shape shape = *mapping->shape;
    struct rank_traffic here;
    struct rank_traffic there;
    bool is_fair = true;

    for (uint32_t vrank = 0; is_fair && vrank < mapping->n_vranks; vrank++) {
        shape.rank = rank_on_node(mapping, 0, vrank);
        enum hoop_status status = rank_traffic_count(algorithm, &shape, &here);
        if (status != HOOP_OK)
            return error_pass(status);
        shape.rank = rank_on_node(mapping, place, vrank);
        status = rank_traffic_count(algorithm, &shape, &there);
        if (status != HOOP_OK)
            return error_pass(status);
        is_fair = rank_traffic_is_similar(&here, &there, shape.granule);
    }
    *out_is_fair = is_fair;
    return HOOP_OK;
}

static uint32_t
root_node_or_rank(const struct simulation_mapping *mapping)
{
    const uint32_t root = mapping->shape->root;

    return mapping->n_vranks == 1 ? root : mapping->shape->nodes->node_of[root];
}

enum hoop_status
simulation_mapping_make_reduced(const struct plan_shape *shape,
                                const struct algorithm *algorithm,
                                struct simulation_mapping *out_mapping,
                                bool *out_is_fair)
{
    const bool is_one_node = has_one_node(shape);
    struct simulation_mapping mapping = {
        .shape = shape,
        .n_vranks = is_one_node ? 1 : plan_nodes_node_size(shape->nodes, 0),
        .n_nodes = 1,
        .n_represented_ranks = is_one_node ? shape->size : 1,
        .is_reduced = true,
    };
    bool is_fair = is_one_node || shape->nodes->is_even;
    const uint32_t n = is_fair ? nodes_or_ranks_per_followed(&mapping) : 1;
    const uint32_t samples[] = {1, n / 2, n - 1, root_node_or_rank(&mapping)};

    for (size_t i = 0; is_fair && n > 1 && i < COUNT_OF(samples); i++) {
        const enum hoop_status status =
            node_compare_traffic(&mapping, algorithm, samples[i], &is_fair);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (is_fair)
        *out_mapping = mapping;
    *out_is_fair = is_fair;
    return HOOP_OK;
}
