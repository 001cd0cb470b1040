/* tests/unit/worker/model/simulation_test.c - times that can be told by hand */

#include <string.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "check.h"
#include "model/simulation.h"
#include "model/simulation_graph.h"
#include "model/simulation_shm.h"
#include "plan/nodes.h"
#include "unit/worker/model/model_fixture.h"

enum {
    RANKS_MAX = 4096,
    ELEMENT = 4,
};

/* Nothing shared: enough processors. */
static const struct simulation_machine machine = {
    .send_ns = 10,
    .receive_ns = 20,
    .latency_inside_ns = 100,
    .latency_between_ns = 1000,
    .link_inside_ns = 1,
    .link_between_ns = 2,
    .send_byte_ns = 0.25,
    .receive_byte_ns = 0.5,
    .copy_byte_ns = 0.125,
    .reduce_byte_ns = 0.25,
    .n_processors = 64,
};

static void
assert_within(double value, double expected, double part)
{
    if (value < expected * (1 - part) || value > expected * (1 + part))
        fail_msg("%f is not within %f of %f", value, part, expected);
}

static struct simulation_result
run_on(const struct simulation_machine *on,
       const struct algorithm *algorithm,
       const struct plan_shape *shape)
{
    struct simulation_result result;

    assert_ok(simulation_run(algorithm, shape, ELEMENT, on, &result));
    return result;
}

static struct simulation_result
run(const struct algorithm *algorithm, const struct plan_shape *shape)
{
    return run_on(&machine, algorithm, shape);
}

static struct plan_nodes *
nodes_of(uint32_t n_ranks, uint32_t per_node)
{
    static uint32_t names[RANKS_MAX];
    struct plan_nodes *nodes = NULL;

    for (uint32_t rank = 0; rank < n_ranks; rank++)
        names[rank] = rank / per_node;
    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    return nodes;
}

/* Overhead, copying out, the wire, latency, overhead, copying in. */
static void
message_of_one_piece_takes_the_sum_of_its_way(void **state)
{
    const double bytes = 4000;
    const struct plan_shape shape = {
        .size = 2, .granule = 1, .count = 1000, .is_in_place = true};
    const struct simulation_result result =
        run(&algorithm_broadcast_chain, &shape);

    assert_near(result.time_ns, 10 + bytes / 4 + bytes + 100 + 20 + bytes / 2);
    assert_int_equal(result.bytes, 4000);
    assert_int_equal(result.messages, 1);
    assert_false(result.is_extrapolated);
}

static void
message_between_nodes_takes_the_other_way(void **state)
{
    struct plan_nodes *nodes = nodes_of(2, 1);
    const double bytes = 4000;
    const struct plan_shape shape = {.size = 2,
                                     .granule = 1,
                                     .count = 1000,
                                     .is_in_place = true,
                                     .nodes = nodes};

    assert_near(run(&algorithm_broadcast_chain, &shape).time_ns,
                10 + bytes / 4 + bytes * 2 + 1000 + 20 + bytes / 2);
    plan_nodes_destroy(nodes);
}

/* The slowest part of the way takes all bytes, the others one piece; the grant
 * costs the sender a message, and one that it receives. */
static void
large_message_takes_its_slowest_part(void **state)
{
    const double piece = SIMULATION_PIECE_BYTES;
    const double bytes = 1024 * piece;
    const struct plan_shape shape = {.size = 2,
                                     .granule = 1,
                                     .count = (size_t)bytes / ELEMENT,
                                     .is_in_place = true};

    assert_near(run(&algorithm_broadcast_chain, &shape).time_ns,
                10 + 30 + piece / 4 + bytes + 100 + piece / 2);
}

/* A rank in the middle takes and sends: its thread has both to do. */
static void
chain_moves_large_messages_on_while_they_come(void **state)
{
    const double bytes = 4096.0 * SIMULATION_PIECE_BYTES;
    const struct simulation_machine wire = {
        .latency_inside_ns = 100, .link_inside_ns = 1, .n_processors = 8};
    const struct simulation_machine copies = {
        .send_byte_ns = 1, .receive_byte_ns = 2, .n_processors = 8};
    const struct plan_shape shape = {.size = 8,
                                     .granule = 1,
                                     .count = (size_t)bytes / ELEMENT,
                                     .is_in_place = true};

    assert_near(run_on(&wire, &algorithm_broadcast_chain, &shape).time_ns,
                bytes + 7 * 100 + 6.0 * SIMULATION_PIECE_BYTES);
    assert_within(run_on(&copies, &algorithm_broadcast_chain, &shape).time_ns,
                  3 * bytes, 0.01);
}

static void
ring_sends_what_its_formula_says(void **state)
{
    for (uint32_t size = 2; size <= 16; size++) {
        const struct plan_shape shape = {
            .size = size, .granule = 1, .count = (size_t)size * 100};
        const struct simulation_result result =
            run(&algorithm_allreduce_ring, &shape);
        const double block = 400;
        const double round_ns = 10 + block / 4 + block + 100 + 20 + block / 2;

        assert_int_equal(result.messages, 2 * (size - 1) * size);
        assert_int_equal(result.bytes, 2 * (size - 1) * size * 400);
        assert_near(result.time_ns,
                    2 * (size - 1) * round_ns + (size - 1) * block / 4);
    }
}

static void
recursive_doubling_takes_log_rounds(void **state)
{
    const double round_ns = 10 + 1 + 4 + 100 + 20 + 2 + 1;

    for (uint32_t levels = 1; levels <= 6; levels++) {
        const struct plan_shape shape = {.size = UINT32_C(1) << levels,
                                         .granule = 1,
                                         .count = 1,
                                         .is_in_place = true};
        const struct simulation_result result =
            run(&algorithm_allreduce_recursive_doubling, &shape);

        assert_within(result.time_ns, levels * round_ns, 0.05);
        assert_int_equal(result.messages, shape.size * levels);
    }
}

/* Who has the deepest tree behind it is served first: nobody then waits for
 * more than one message on each level. */
static void
binomial_takes_log_rounds(void **state)
{
    const double hop_ns = 10 + 1 + 4 + 100 + 20 + 2;

    for (uint32_t levels = 1; levels <= 6; levels++) {
        const struct plan_shape shape = {.size = UINT32_C(1) << levels,
                                         .granule = 1,
                                         .count = 1,
                                         .is_in_place = true};

        assert_near(run(&algorithm_broadcast_binomial, &shape).time_ns,
                    levels * hop_ns);
    }
}

static void
dissemination_takes_a_latency_for_each_round(void **state)
{
    const struct simulation_machine wire = {.latency_inside_ns = 100,
                                            .n_processors = 64};
    const uint32_t rounds[] = {[2] = 1, [3] = 2, [4] = 2, [5] = 3, [9] = 4};

    for (uint32_t size = 2; size <= 9; size++) {
        const struct plan_shape shape = {.size = size, .granule = 1};

        if (rounds[size] > 0)
            assert_near(
                run_on(&wire, &algorithm_barrier_dissemination, &shape).time_ns,
                rounds[size] * 100.0);
    }
}

/* Eight ranks, two processors: four times as long as on eight. */
static void
ranks_share_the_processors_of_their_node(void **state)
{
    struct simulation_machine copies = {
        .send_byte_ns = 1, .receive_byte_ns = 1, .n_processors = 8};
    struct plan_nodes *apart = nodes_of(8, 2);
    struct plan_shape shape = {
        .size = 8, .granule = 1, .count = 8 * 1000, .is_in_place = true};

    const double alone_ns =
        run_on(&copies, &algorithm_allreduce_ring, &shape).time_ns;

    copies.n_processors = 2;
    const double shared_ns =
        run_on(&copies, &algorithm_allreduce_ring, &shape).time_ns;

    shape.nodes = apart;
    const double spread_ns =
        run_on(&copies, &algorithm_allreduce_ring, &shape).time_ns;

    assert_near(alone_ns, 14 * 2 * 4000.0);
    assert_within(shared_ns, 4 * alone_ns, 0.05);
    assert_near(spread_ns, alone_ns);
    plan_nodes_destroy(apart);
}

/* Four ranks of a node send to another one at the same time. */
static void
ranks_share_the_network_interface_of_their_node(void **state)
{
    const struct simulation_machine wire = {.link_between_ns = 1,
                                            .n_processors = 64};
    struct plan_nodes *apart = nodes_of(8, 1);
    struct plan_nodes *pairs = nodes_of(8, 4);
    struct plan_shape shape = {.size = 8, .granule = 1, .count = 1000};

    shape.nodes = apart;
    assert_near(run_on(&wire, &algorithm_alltoall_pairwise, &shape).time_ns,
                7 * 4000.0);
    shape.nodes = pairs;
    assert_within(run_on(&wire, &algorithm_alltoall_pairwise, &shape).time_ns,
                  4 * 4 * 4000.0, 0.1);
    plan_nodes_destroy(apart);
    plan_nodes_destroy(pairs);
}

static void
same_question_has_the_same_answer(void **state)
{
    size_t n = 0;
    const struct registry_algorithm *entries = registry_all_entries(&n);
    struct plan_nodes *nodes = nodes_of(13, 3);
    const struct plan_shape shape = {.size = 13,
                                     .granule = 16,
                                     .count = 1001,
                                     .nodes = nodes,
                                     .slot_capacity = 50};

    for (size_t i = 0; i < n; i++) {
        const struct simulation_result one = run(entries[i].algorithm, &shape);
        const struct simulation_result other =
            run(entries[i].algorithm, &shape);

        assert_memory_equal(&one.time_ns, &other.time_ns, sizeof(one.time_ns));
        assert_true(one.time_ns > 0);
        assert_int_equal(one.bytes, other.bytes);
        assert_int_equal(one.messages, other.messages);
    }
    plan_nodes_destroy(nodes);
}

static void
estimate_agrees(const struct plan_shape *shape,
                const struct simulation_machine *on)
{
    size_t n = 0;
    const struct registry_algorithm *entries = registry_all_entries(&n);

    for (size_t i = 0; i < n; i++) {
        /* Ranks exchange with some that are ahead and some that are behind;
         * one that stands for all is neither. So it is with ranks of a node
         * whose equals on other nodes are met in between. */
        const double slack =
            entries[i].collective == COLLECTIVE_ALLTOALL ||
                    entries[i].collective == COLLECTIVE_REDUCE_SCATTER ||
                    entries[i].needs_nodes
                ? 0.2
                : 0.1;

        if (entries[i].algorithm->is_shm)
            continue;

        const struct simulation_result exact =
            run_on(on, entries[i].algorithm, shape);
        struct simulation_result estimate;

        assert_ok(simulation_run_fast(entries[i].algorithm, shape, ELEMENT, on,
                                      &estimate));
        assert_false(exact.is_extrapolated);
        assert_within(estimate.time_ns, exact.time_ns, slack);
        assert_within((double)estimate.bytes, (double)exact.bytes, 0.02);
        assert_int_equal(estimate.messages, exact.messages);
    }
}

static void
estimate_agrees_with_the_whole(void **state)
{
    static const struct {
        uint32_t n_ranks;
        uint32_t per_node;
    } crowds[] = {{64, 1}, {64, 64}, {64, 8}, {60, 4}};
    struct simulation_machine few = machine;

    few.n_processors = 2;
    for (size_t i = 0; i < 4; i++) {
        struct plan_nodes *nodes =
            nodes_of(crowds[i].n_ranks, crowds[i].per_node);
        struct plan_shape shape = {
            .size = crowds[i].n_ranks, .granule = 16, .nodes = nodes};

        for (shape.count = 1; shape.count < 1 << 18; shape.count *= 64) {
            estimate_agrees(&shape, &machine);
            estimate_agrees(&shape, &few);
        }
        plan_nodes_destroy(nodes);
    }
}

/* 3,000 ranks in a ring are too many steps; one element for all of them makes
 * them unlike each other. So neither the whole is followed nor one for all.
 * The message goes around twice. */
static void
part_of_the_rounds_stands_for_all(void **state)
{
    struct plan_nodes *nodes = nodes_of(3000, 1);
    const struct plan_shape shape = {.size = 3000,
                                     .granule = 16,
                                     .count = 1,
                                     .is_in_place = true,
                                     .nodes = nodes};
    const struct simulation_result result =
        run(&algorithm_allreduce_ring, &shape);
    const double hop_ns = 10 + 1 + 8 + 1000 + 20 + 2;

    assert_true(result.is_extrapolated);
    assert_within(result.time_ns, 2 * 2999 * hop_ns, 0.02);
    assert_within((double)result.messages, 2 * 2999, 0.01);
    plan_nodes_destroy(nodes);
}

static void
one_node_stands_for_all_where_ranks_are_many(void **state)
{
    struct plan_nodes *nodes = nodes_of(4096, 8);
    const struct plan_shape shape = {
        .size = 4096, .granule = 1, .count = 4096, .nodes = nodes};
    const struct simulation_result result =
        run(&algorithm_allreduce_ring, &shape);
    const double hop_ns = 10 + 1 + 8 + 1000 + 20 + 2;

    assert_true(result.is_extrapolated);
    assert_int_equal(result.messages, UINT64_C(2) * 4095 * 4096);
    /* Seven hops of eight are short. */
    assert_within(result.time_ns, 2 * 4095 / 8.0 * (hop_ns + 7 * 137), 0.02);
    plan_nodes_destroy(nodes);
}

static void
rank_alone_takes_no_time_in_place(void **state)
{
    const struct plan_shape shape = {
        .size = 1, .granule = 1, .count = 10, .is_in_place = true};
    const struct simulation_result result =
        run(&algorithm_allreduce_ring, &shape);

    assert_near(result.time_ns, 0);
    assert_int_equal(result.messages, 0);
}

/* Halving sums up in scratch, pairwise where the result is. */
static void
sums_that_the_cache_cannot_hold_take_longer(void **state)
{
    const struct plan_shape shape = {
        .size = 4, .count = 1 << 20, .granule = 16};
    struct simulation_machine small = machine;

    small.memory_byte_ns = 0.5;
    small.cache_bytes = (uint64_t)64 << 20;
    assert_near(
        run_on(&small, &algorithm_reduce_scatter_halving, &shape).time_ns,
        run(&algorithm_reduce_scatter_halving, &shape).time_ns);
    small.cache_bytes--;
    small.cache_bytes /= 2;
    assert_true(
        run_on(&small, &algorithm_reduce_scatter_halving, &shape).time_ns >
        run(&algorithm_reduce_scatter_halving, &shape).time_ns + 1e6);
    assert_near(
        run_on(&small, &algorithm_reduce_scatter_pairwise, &shape).time_ns,
        run(&algorithm_reduce_scatter_pairwise, &shape).time_ns);
}

static const struct simulation_machine simulation_shm_machine = {
    .copy_byte_ns = 0.1,
    .reduce_byte_ns = 0.2,
    .memory_byte_ns = 1,
    .n_processors = 8,
};

static struct simulation_result
simulation_shm_run_on(const struct simulation_machine *on,
                      const struct algorithm *algorithm,
                      uint32_t size,
                      size_t count)
{
    const struct plan_shape shape = {
        .size = size, .count = count, .granule = 16, .slot_capacity = 1 << 14};
    struct simulation_result result = {0};

    assert_ok(simulation_shm_run(algorithm, &shape, 4, on, &result));
    return result;
}

static void
few_bytes_cost_a_round(void **state)
{
    const double ns = simulation_shm_run_on(&simulation_shm_machine,
                                            &algorithm_allreduce_flat, 2, 1)
                          .time_ns;

    assert_true(ns > 50 && ns < 500);
}

static void
bytes_are_copied_and_combined(void **state)
{
    const size_t count = 1 << 14;
    const double bytes = 4.0 * (double)count;
    const double ns = simulation_shm_run_on(&simulation_shm_machine,
                                            &algorithm_allreduce_flat, 2, count)
                          .time_ns;

    /* A post and a combination, out of a cache. */
    assert_true(ns > bytes * 0.19 && ns < bytes * 0.21 + 1000);
}

/* Rounds that are left out are as long as the others. */
static void
many_rounds_cost_in_proportion(void **state)
{
    const struct simulation_result few = simulation_shm_run_on(
        &simulation_shm_machine, &algorithm_allreduce_flat_blocks, 4,
        (size_t)1 << 18);
    const struct simulation_result many = simulation_shm_run_on(
        &simulation_shm_machine, &algorithm_allreduce_flat_blocks, 4,
        (size_t)1 << 22);

    assert_true(many.time_ns > 15 * few.time_ns);
    assert_true(many.time_ns < 16.5 * few.time_ns);
    assert_true(many.bytes > 15 * few.bytes && many.bytes < 17 * few.bytes);
    assert_int_equal(many.messages, 4 * (256 + 1));
}

static void
every_rank_needs_a_processor(void **state)
{
    struct simulation_machine crowded = simulation_shm_machine;

    crowded.n_processors = 2;
    assert_true(simulation_shm_run_on(
                    &crowded, &algorithm_allreduce_flat_blocks, 8, 1 << 16)
                    .time_ns >
                2.5 * simulation_shm_run_on(&simulation_shm_machine,
                                            &algorithm_allreduce_flat_blocks, 8,
                                            1 << 16)
                          .time_ns);
}

static void
what_does_not_fit_the_cache_comes_from_memory(void **state)
{
    struct simulation_machine cached = simulation_shm_machine;
    const double all_ns =
        simulation_shm_run_on(&simulation_shm_machine,
                              &algorithm_broadcast_flat, 2, 1 << 20)
            .time_ns;

    cached.cache_bytes = 1 << 20;
    assert_true(
        simulation_shm_run_on(&cached, &algorithm_broadcast_flat, 2, 1 << 20)
            .time_ns > 5 * all_ns);
    assert_true(
        simulation_shm_run_on(&cached, &algorithm_broadcast_flat, 2, 1 << 10)
            .time_ns < all_ns);
}

/* The others' posts overlap with what the root does. */
static void
some_ranks_stand_for_many(void **state)
{
    const struct simulation_result few = simulation_shm_run_on(
        &simulation_shm_machine, &algorithm_reduce_flat, 8, 1 << 10);
    const struct simulation_result many = simulation_shm_run_on(
        &simulation_shm_machine, &algorithm_reduce_flat, 64, 1 << 10);

    assert_false(few.is_extrapolated);
    assert_true(many.is_extrapolated);
    assert_true(many.time_ns > 4 * few.time_ns);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_of_one_piece_takes_the_sum_of_its_way),
        cmocka_unit_test(message_between_nodes_takes_the_other_way),
        cmocka_unit_test(large_message_takes_its_slowest_part),
        cmocka_unit_test(chain_moves_large_messages_on_while_they_come),
        cmocka_unit_test(ring_sends_what_its_formula_says),
        cmocka_unit_test(recursive_doubling_takes_log_rounds),
        cmocka_unit_test(binomial_takes_log_rounds),
        cmocka_unit_test(dissemination_takes_a_latency_for_each_round),
        cmocka_unit_test(ranks_share_the_processors_of_their_node),
        cmocka_unit_test(ranks_share_the_network_interface_of_their_node),
        cmocka_unit_test(same_question_has_the_same_answer),
        cmocka_unit_test(estimate_agrees_with_the_whole),
        cmocka_unit_test(part_of_the_rounds_stands_for_all),
        cmocka_unit_test(one_node_stands_for_all_where_ranks_are_many),
        cmocka_unit_test(rank_alone_takes_no_time_in_place),
        cmocka_unit_test(sums_that_the_cache_cannot_hold_take_longer),
        cmocka_unit_test(few_bytes_cost_a_round),
        cmocka_unit_test(bytes_are_copied_and_combined),
        cmocka_unit_test(many_rounds_cost_in_proportion),
        cmocka_unit_test(every_rank_needs_a_processor),
        cmocka_unit_test(what_does_not_fit_the_cache_comes_from_memory),
        cmocka_unit_test(some_ranks_stand_for_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
