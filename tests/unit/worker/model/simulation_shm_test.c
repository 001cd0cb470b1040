/* tests/unit/worker/model/simulation_shm_test.c - model/simulation_shm.c */

#include "algorithms/algorithms.h"
#include "check.h"
#include "model/simulation_shm.h"

static const struct simulation_machine machine = {
    .copy_byte_ns = 0.1,
    .reduce_byte_ns = 0.2,
    .memory_byte_ns = 1,
    .n_processors = 8,
};

static struct simulation_result
run_on(const struct simulation_machine *on,
       const struct algorithm *algorithm,
       uint32_t size,
       size_t count)
{
    const struct plan_shape shape = {
        .size = size, .count = count, .granule = 16, .n_slot = 1 << 14};
    struct simulation_result result = {0};

    assert_int_equal(simulation_shm_run(algorithm, &shape, 4, on, &result),
                     HOOP_OK);
    return result;
}

static void
few_bytes_cost_a_round(void **state)
{
    const double ns = run_on(&machine, &algorithm_allreduce_flat, 2, 1).time_ns;

    (void)state;
    assert_true(ns > 50 && ns < 500);
}

static void
bytes_are_copied_and_combined(void **state)
{
    const size_t count = 1 << 14;
    const double bytes = 4.0 * (double)count;
    const double ns =
        run_on(&machine, &algorithm_allreduce_flat, 2, count).time_ns;

    (void)state;
    /* A post and a combination, out of a cache. */
    assert_true(ns > bytes * 0.19 && ns < bytes * 0.21 + 1000);
}

/* Rounds that are left out are as long as the others. */
static void
many_rounds_cost_in_proportion(void **state)
{
    const struct simulation_result few =
        run_on(&machine, &algorithm_allreduce_flat_blocks, 4, (size_t)1 << 18);
    const struct simulation_result many =
        run_on(&machine, &algorithm_allreduce_flat_blocks, 4, (size_t)1 << 22);

    (void)state;
    assert_true(many.time_ns > 15 * few.time_ns);
    assert_true(many.time_ns < 16.5 * few.time_ns);
    assert_true(many.bytes > 15 * few.bytes && many.bytes < 17 * few.bytes);
    assert_int_equal(many.messages, 4 * (256 + 1));
}

static void
every_rank_needs_a_processor(void **state)
{
    struct simulation_machine crowded = machine;

    (void)state;
    crowded.n_processors = 2;
    assert_true(
        run_on(&crowded, &algorithm_allreduce_flat_blocks, 8, 1 << 16).time_ns >
        2.5 * run_on(&machine, &algorithm_allreduce_flat_blocks, 8, 1 << 16)
                  .time_ns);
}

static void
what_does_not_fit_the_cache_comes_from_memory(void **state)
{
    struct simulation_machine cached = machine;
    const double all_ns =
        run_on(&machine, &algorithm_broadcast_flat, 2, 1 << 20).time_ns;

    (void)state;
    cached.cache_bytes = 1 << 20;
    assert_true(run_on(&cached, &algorithm_broadcast_flat, 2, 1 << 20).time_ns >
                5 * all_ns);
    assert_true(run_on(&cached, &algorithm_broadcast_flat, 2, 1 << 10).time_ns <
                all_ns);
}

/* The others' posts overlap with what the root does. */
static void
some_ranks_stand_for_many(void **state)
{
    const struct simulation_result few =
        run_on(&machine, &algorithm_reduce_flat, 8, 1 << 10);
    const struct simulation_result many =
        run_on(&machine, &algorithm_reduce_flat, 64, 1 << 10);

    (void)state;
    assert_false(few.is_extrapolated);
    assert_true(many.is_extrapolated);
    assert_true(many.time_ns > 4 * few.time_ns);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_bytes_cost_a_round),
        cmocka_unit_test(bytes_are_copied_and_combined),
        cmocka_unit_test(many_rounds_cost_in_proportion),
        cmocka_unit_test(every_rank_needs_a_processor),
        cmocka_unit_test(what_does_not_fit_the_cache_comes_from_memory),
        cmocka_unit_test(some_ranks_stand_for_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
