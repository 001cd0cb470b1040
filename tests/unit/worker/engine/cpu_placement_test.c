/* tests/unit/worker/engine/cpu_placement_test.c - engine/wait_policy.c */

#include "base/clock.h"
#include "check.h"
#include "engine/wait_policy.h"

static cpu_set_t
processors(const int *numbers, size_t n_numbers)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (size_t i = 0; i < n_numbers; i++)
        CPU_SET((size_t)numbers[i], &set);
    return set;
}

static int
cpu_placement_of(uint32_t local_rank,
                 uint32_t n_ranks,
                 const cpu_set_t *allowed)
{
    const struct cpu_placement cpu_placement = {.local_rank = local_rank,
                                                .n_ranks = n_ranks};

    return cpu_placement_processor(&cpu_placement, allowed);
}

static void
cpu_placement_find_puts_neighbours_together(void **state)
{
    const cpu_set_t two = processors((const int[]){0, 1}, 2);

    for (uint32_t local_rank = 0; local_rank < 8; local_rank++)
        assert_int_equal(cpu_placement_of(local_rank, 8, &two), local_rank / 4);
}

static void
cpu_placement_find_among_some_processors_keeps_to_them(void **state)
{
    const cpu_set_t three = processors((const int[]){2, 5, 9}, 3);

    assert_int_equal(cpu_placement_of(0, 4, &three), 2);
    assert_int_equal(cpu_placement_of(1, 4, &three), 2);
    assert_int_equal(cpu_placement_of(2, 4, &three), 5);
    assert_int_equal(cpu_placement_of(3, 4, &three), 9);
}

static void
cpu_placement_find_gives_every_processor_as_many_ranks(void **state)
{
    const cpu_set_t four = processors((const int[]){0, 1, 2, 3}, 4);
    unsigned n_ranks[4] = {0};

    for (uint32_t local_rank = 0; local_rank < 10; local_rank++)
        n_ranks[cpu_placement_of(local_rank, 10, &four)]++;
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(n_ranks[i], 2, 3);
}

static void
cpu_placement_find_with_more_processors_than_ranks_leaves_it_to_the_kernel(
    void **state)
{
    const cpu_set_t two = processors((const int[]){0, 1}, 2);

    assert_int_equal(cpu_placement_of(0, 1, &two), -1);
    assert_int_equal(cpu_placement_of(0, 0, &two), -1);
}

/* The last local_rank is on the last processor: once there, the kernel may move
 * this thread again, so more than one try may be due. */
static void
cpu_placement_take_moves_and_binds_nobody(void **state)
{
    const uint64_t deadline_ns = clock_now_ns() + 5 * CLOCK_NS_PER_S;
    cpu_set_t before;
    cpu_set_t after;
    bool is_there = false;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    const uint32_t n_processors = (uint32_t)CPU_COUNT(&before);
    while (!is_there && !clock_is_past(deadline_ns)) {
        struct cpu_placement cpu_placement = {.local_rank = n_processors - 1,
                                              .n_ranks = n_processors};

        cpu_placement_apply(&cpu_placement);
        assert_true(cpu_placement.is_thread_on_processor);
        is_there =
            sched_getcpu() == cpu_placement_processor(&cpu_placement, &before);
    }
    assert_true(is_there);
    assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static void
cpu_placement_take_comes_again_after_a_sleep_but_not_soon(void **state)
{
    struct cpu_placement cpu_placement = {.local_rank = 0,
                                          .n_ranks = CPU_SETSIZE};

    cpu_placement_apply(&cpu_placement);
    assert_true(cpu_placement.is_thread_on_processor);
    cpu_placement_invalidate(&cpu_placement);
    assert_false(cpu_placement.is_thread_on_processor);
    cpu_placement.next_move_ns = UINT64_MAX;
    cpu_placement_apply(&cpu_placement);
    assert_false(cpu_placement.is_thread_on_processor);
}

/* Elsewhere in spite of its CPU placement, as the kernel may put it. */
static void
cpu_placement_return_goes_back_but_not_soon(void **state)
{
    const uint64_t deadline_ns = clock_now_ns() + 5 * CLOCK_NS_PER_S;
    struct cpu_placement cpu_placement = {.local_rank = 0,
                                          .n_ranks = CPU_SETSIZE};
    cpu_set_t before;
    cpu_set_t elsewhere;
    bool is_back = false;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    cpu_placement_apply(&cpu_placement);
    assert_true(cpu_placement.is_thread_on_processor);
    assert_int_equal(cpu_placement.processor,
                     cpu_placement_processor(&cpu_placement, &before));
    if (CPU_COUNT(&before) == 1)
        return;
    elsewhere = before;
    CPU_CLR((size_t)cpu_placement.processor, &elsewhere);
    while (!is_back && !clock_is_past(deadline_ns)) {
        assert_int_equal(sched_setaffinity(0, sizeof(elsewhere), &elsewhere),
                         0);
        assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
        cpu_placement.next_move_ns = UINT64_MAX;
        cpu_placement_restore(&cpu_placement);
        cpu_placement.next_move_ns = 0;
        cpu_placement_restore(&cpu_placement);
        assert_true(cpu_placement.is_thread_on_processor);
        is_back = sched_getcpu() == cpu_placement.processor &&
                  cpu_placement.next_move_ns > 0;
    }
    assert_true(is_back);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_placement_find_puts_neighbours_together),
        cmocka_unit_test(
            cpu_placement_find_among_some_processors_keeps_to_them),
        cmocka_unit_test(
            cpu_placement_find_gives_every_processor_as_many_ranks),
        cmocka_unit_test(
            cpu_placement_find_with_more_processors_than_ranks_leaves_it_to_the_kernel),
        cmocka_unit_test(cpu_placement_take_moves_and_binds_nobody),
        cmocka_unit_test(
            cpu_placement_take_comes_again_after_a_sleep_but_not_soon),
        cmocka_unit_test(cpu_placement_return_goes_back_but_not_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
