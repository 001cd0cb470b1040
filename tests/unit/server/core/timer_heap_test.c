/* tests/unit/server/core/timer_heap_test.c - the soonest first, moved and removed */

#include <string.h>

#include "check.h"
#include "core/waiter.h"

enum {
    N_ENTRIES = 200,
};

static struct timer_entry *
first_by_search(struct timer_entry *entries)
{
    struct timer_entry *first = NULL;

    for (int i = 0; i < N_ENTRIES; i++)
        if (entries[i].place &&
            (!first || entries[i].deadline_ns < first->deadline_ns))
            first = &entries[i];
    return first;
}

static void
timer_heap_random_moves_keep_the_soonest_first(void **state)
{
    struct timer_heap timer_heap = {0};
    struct timer_entry entries[N_ENTRIES];
    uint32_t random = 1;

    (void)state;
    memset(entries, 0, sizeof(entries));
    for (int turn = 0; turn < 20000; turn++) {
        struct timer_entry *entry = &entries[random % N_ENTRIES];

        random = random * 1664525 + 1013904223;
        if (random >> 30)
            timer_heap_set(&timer_heap, entry, random >> 8);
        else
            timer_heap_remove(&timer_heap, entry);

        const struct timer_entry *first = first_by_search(entries);

        assert_int_equal(!first, !timer_heap_first(&timer_heap));
        if (first)
            assert_int_equal(timer_heap_first(&timer_heap)->deadline_ns,
                             first->deadline_ns);
    }
    timer_heap_deinit(&timer_heap);
}

static void
timer_heap_never_takes_off(void **state)
{
    struct timer_heap timer_heap = {0};
    struct timer_entry entry = {0};

    (void)state;
    timer_heap_set(&timer_heap, &entry, 5);
    assert_ptr_equal(timer_heap_first(&timer_heap), &entry);
    timer_heap_set(&timer_heap, &entry, UINT64_MAX);
    assert_null(timer_heap_first(&timer_heap));
    timer_heap_remove(&timer_heap, &entry);
    assert_int_equal(entry.place, 0);
    timer_heap_deinit(&timer_heap);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timer_heap_random_moves_keep_the_soonest_first),
        cmocka_unit_test(timer_heap_never_takes_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
