/*
 * algorithms/hierarchical.c - the algorithms made of others, inside nodes and between
 *
 * Each node has a leader: the root on its own node, the first rank on any other
 * node. First each node collects its data at its leader, then the leaders run
 * the collective among themselves, and last each leader distributes the result
 * in its node. Data therefore crosses the network once per node. "hierarchical"
 * uses chains and rings, for large buffers, "hierarchical_tree" uses trees, for
 * small ones.
 *
 * Order of a reduction: first the ranks of each node, in the order of the
 * algorithm used inside, then the nodes, by their lowest rank, in the order of
 * the algorithm used between. Lower ranks are thus on the left if the ranks of
 * each node are contiguous; otherwise they are ordered by node first. The order
 * is the same on all ranks.
 *
 * An all-reduce over nodes of equal sizes has no leaders. The first half of an
 * all-reduce runs inside each node; then the ranks that hold the same block, one
 * per node, all-reduce it; then the second half runs inside each node. All ranks
 * of a node use the network, each for its own part. Nodes of different sizes
 * would cut different blocks.
 *
 * Cost, with N nodes of m ranks, of a message between nodes alpha + bytes * beta
 * and of one inside alpha' + bytes * beta':
 *
 *     allreduce  hierarchical          2 (m-1) * (alpha' + bytes/m * beta')
 *                                    + 2 (N-1) * (alpha + bytes/(m N) * beta)
 *                hierarchical_halving  2 ceil(log2 m) * alpha' + 2 bytes * beta'
 *                                    + 2 ceil(log2 N) * alpha + 2 bytes/m * beta
 *                hierarchical_tree     2 ceil(log2 m) * (alpha' + bytes * beta')
 *                                    + ceil(log2 N) * (alpha + bytes * beta)
 *     allgather  hierarchical          bytes * beta'
 *                                    + (N-1) * (alpha + bytes/N * beta)
 *                hierarchical_tree     (m + ceil(log2 m)) * alpha'
 *                                    + ceil(log2 N) * alpha + bytes * beta
 *     broadcast, reduce
 *                hierarchical          as for a chain, with only the slow links
 *                                      that are unavoidable
 *                hierarchical_tree     ceil(log2 m) * (alpha' + bytes * beta')
 *                                    + ceil(log2 N) * (alpha + bytes * beta)
 */

#include "algorithms/algorithms.h"
#include "algorithms/allreduce_rabenseifner.h"
#include "plan/composition.h"
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

    part.shape.root = team_leader_local_index(shape, root);
    part.shape.count = count;
    part.shape.is_in_place = true;
    composition_add_part(composition, &part);
}

/*
 * A rank that is alone on its node has no halves; out of place, its input has
 * not been copied yet when the part between the nodes begins.
 */
static void
add_halved_allreduce_parts(struct composition *composition,
                           const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    const struct halved_allreduce *halves = hierarchy->halves;
    struct composition_part first =
        composition_part_make(halves->algorithm, team_of_node(shape));
    struct composition_part between =
        composition_part_make(hierarchy->between, team_of_local_rank(shape));

    first.shape.size = team_size(&first.team);
    first.shape.rank = team_own_index(&first.team);

    const bool is_alone = first.shape.size == 1;
    const uint32_t middle = halves->middle_round(&first.shape);
    const struct plan_span block = halves->own_block(&first.shape);
    struct composition_part last = first;

    first.end = node_part_finality(shape);
    first.round_end = middle;
    last.round_begin = middle;
    last.round_end = is_alone ? middle : UINT32_MAX;
    between.shape.count = block.count;
    between.shape.is_in_place = !is_alone || shape->is_in_place;
    between.input.first = block.first;
    between.output.first = block.first;
    composition_add_part(composition, &first);
    composition_add_part(composition, &between);
    composition_add_part(composition, &last);
}

/* The parts are a reduce, an all-reduce and a broadcast. */
static void
add_allreduce_parts(struct composition *composition,
                    const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;

    if (hierarchy->single_node && team_n_nodes(shape) == 1) {
        const struct composition_part all =
            composition_part_make(hierarchy->single_node, team_of_node(shape));

        composition_add_part(composition, &all);
        return;
    }
    if (hierarchy->halves && team_nodes_have_equal_size(shape)) {
        add_halved_allreduce_parts(composition, hierarchy);
        return;
    }

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

static uint32_t
allreduce_ring_middle_round(const struct plan_shape *shape)
{
    return shape->size - 1;
}

static struct plan_span
allreduce_ring_own_block(const struct plan_shape *shape)
{
    return partition_block_span(shape, PLAN_OUTPUT, shape->rank);
}

const struct algorithm algorithm_allreduce_hierarchical = {
    .name = "hierarchical",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_allreduce_parts,
            .inside_first = &algorithm_reduce_chain,
            .between = &algorithm_allreduce_ring,
            .inside_last = &algorithm_broadcast_chain,
            .halves =
                &(const struct halved_allreduce){
                    .algorithm = &algorithm_allreduce_ring,
                    .middle_round = allreduce_ring_middle_round,
                    .own_block = allreduce_ring_own_block,
                },
        },
};

const struct algorithm algorithm_allreduce_hierarchical_halving = {
    .name = "hierarchical_halving",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_allreduce_parts,
            .inside_first = &algorithm_reduce_binomial,
            .between = &algorithm_allreduce_rabenseifner,
            .inside_last = &algorithm_broadcast_binomial,
            .halves =
                &(const struct halved_allreduce){
                    .algorithm = &algorithm_allreduce_rabenseifner,
                    .middle_round = allreduce_rabenseifner_middle_round,
                    .own_block = allreduce_rabenseifner_own_block,
                },
        },
};

/* On a single node, the exchange happens at the top of the tree itself. */
const struct algorithm algorithm_allreduce_hierarchical_tree = {
    .name = "hierarchical_tree",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_allreduce_parts,
            .inside_first = &algorithm_reduce_binomial,
            .between = &algorithm_allreduce_recursive_doubling,
            .inside_last = &algorithm_broadcast_binomial,
            .single_node = &algorithm_allreduce_tree,
        },
};

/* The parts are a gather, an all-gather and a broadcast. The first two must
 * take even blocks, send them from their final positions and use no scratch. A
 * node's blocks are one message if they are contiguous. */
static void
add_allgather_parts(struct composition *composition,
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
    add_node_broadcast_part(composition, hierarchy->inside_last, 0, all.count);
}

const struct algorithm algorithm_allgather_hierarchical = {
    .name = "hierarchical",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_allgather_parts,
            .inside_first = &algorithm_gather_linear,
            .between = &algorithm_allgather_ring,
            .inside_last = &algorithm_broadcast_chain,
        },
};

const struct algorithm algorithm_allgather_hierarchical_tree = {
    .name = "hierarchical_tree",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_allgather_parts,
            .inside_first = &algorithm_gather_linear,
            .between = &algorithm_allgather_bruck,
            .inside_last = &algorithm_broadcast_binomial,
        },
};

/* There is no first part; the others are broadcasts. */
static void
add_broadcast_parts(struct composition *composition,
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

const struct algorithm algorithm_broadcast_hierarchical = {
    .name = "hierarchical",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_broadcast_parts,
            .between = &algorithm_broadcast_chain,
            .inside_last = &algorithm_broadcast_chain,
        },
};

const struct algorithm algorithm_broadcast_hierarchical_tree = {
    .name = "hierarchical_tree",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_broadcast_parts,
            .between = &algorithm_broadcast_binomial,
            .inside_last = &algorithm_broadcast_binomial,
        },
};

/* The first two parts are reduces; there is no last part. A leader that is not
 * the root keeps its node's sum in scratch, so that only the root's buffer
 * changes. */
static void
add_reduce_parts(struct composition *composition,
                 const struct hierarchy *hierarchy)
{
    const struct plan_shape *shape = composition->shape;
    struct composition_part first =
        composition_part_make(hierarchy->inside_first, team_of_node(shape));
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

const struct algorithm algorithm_reduce_hierarchical = {
    .name = "hierarchical",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_reduce_parts,
            .inside_first = &algorithm_reduce_chain,
            .between = &algorithm_reduce_chain,
        },
};

const struct algorithm algorithm_reduce_hierarchical_tree = {
    .name = "hierarchical_tree",
    .compose =
        &(const struct hierarchy){
            .add_parts = add_reduce_parts,
            .inside_first = &algorithm_reduce_binomial,
            .between = &algorithm_reduce_binomial,
        },
};
