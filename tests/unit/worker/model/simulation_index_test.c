/* tests/unit/worker/model/simulation_index_test.c - all that meet are found */

#include "check.h"
#include "model/simulation_graph.h"

enum {
    RANGES = 300,
    SPAN = 1000,
};

struct placed {
    enum plan_buffer buffer;
    struct simulation_range range;
};

static uint64_t
draw(uint64_t *seed, uint64_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % below;
}

static struct placed
placed_draw(uint64_t *seed)
{
    const size_t begin = draw(seed, SPAN);

    return (struct placed){
        .buffer = (enum plan_buffer)draw(seed, 3),
        .range = {begin, begin + draw(seed, draw(seed, 10) ? 20 : 400)},
    };
}

static size_t
found_count(const struct simulation_index *index,
            const struct placed *all,
            const struct placed *sought)
{
    size_t n_found = 0;

    for (size_t i =
             simulation_index_find_first(index, sought->buffer, &sought->range);
         simulation_index_entry_may_overlap(index, i, sought->buffer,
                                            &sought->range);
         i++) {
        const struct placed *one = &all[index->entries[i].step];

        assert_int_equal(one->buffer, sought->buffer);
        n_found += simulation_range_has_overlap(&one->range, &sought->range);
    }
    return n_found;
}

static void
index_finds_all_that_meet_a_range(void **state)
{
    struct simulation_index index = {0};
    struct placed all[RANGES];
    uint64_t seed = 7;

    (void)state;
    for (uint32_t i = 0; i < RANGES; i++) {
        all[i] = placed_draw(&seed);
        assert_int_equal(
            simulation_index_add_range(&index, all[i].buffer, &all[i].range, i),
            HOOP_OK);
    }
    simulation_index_sort(&index);
    for (int i = 0; i < 1000; i++) {
        const struct placed sought = placed_draw(&seed);
        size_t n_expected = 0;

        for (uint32_t j = 0; j < RANGES; j++)
            n_expected +=
                all[j].buffer == sought.buffer &&
                all[j].range.begin < all[j].range.end &&
                sought.range.begin < sought.range.end &&
                simulation_range_has_overlap(&all[j].range, &sought.range);
        if (sought.range.begin < sought.range.end)
            assert_int_equal(found_count(&index, all, &sought), n_expected);
    }
    simulation_index_deinit(&index);
}

static void
empty_index_finds_nothing(void **state)
{
    const struct simulation_range range = {0, 10};
    const struct simulation_range empty = {5, 5};
    struct simulation_index index = {0};

    (void)state;
    assert_int_equal(simulation_index_add_range(&index, PLAN_OUTPUT, &empty, 1),
                     HOOP_OK);
    simulation_index_sort(&index);
    assert_int_equal(simulation_index_find_first(&index, PLAN_OUTPUT, &range),
                     0);
    assert_false(
        simulation_index_entry_may_overlap(&index, 0, PLAN_OUTPUT, &range));
    simulation_index_deinit(&index);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_finds_all_that_meet_a_range),
        cmocka_unit_test(empty_index_finds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
