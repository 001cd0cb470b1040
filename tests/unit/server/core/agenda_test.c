/* tests/unit/server/core/agenda_test.c - the soonest first, moved and removed */

#include <string.h>

#include "check.h"
#include "core/agenda.h"

enum {
    N_ENTRIES = 200,
};

static struct agenda_entry *
first_by_search(struct agenda_entry *entries)
{
    struct agenda_entry *first = NULL;

    for (int i = 0; i < N_ENTRIES; i++)
        if (entries[i].place &&
            (!first || entries[i].deadline_ns < first->deadline_ns))
            first = &entries[i];
    return first;
}

static void
agenda_random_moves_keep_the_soonest_first(void **state)
{
    struct agenda agenda = {0};
    struct agenda_entry entries[N_ENTRIES];
    uint32_t random = 1;

    (void)state;
    memset(entries, 0, sizeof(entries));
    for (int turn = 0; turn < 20000; turn++) {
        struct agenda_entry *entry = &entries[random % N_ENTRIES];

        random = random * 1664525 + 1013904223;
        if (random >> 30)
            agenda_set(&agenda, entry, random >> 8);
        else
            agenda_remove(&agenda, entry);

        const struct agenda_entry *first = first_by_search(entries);

        assert_int_equal(!first, !agenda_first(&agenda));
        if (first)
            assert_int_equal(agenda_first(&agenda)->deadline_ns,
                             first->deadline_ns);
    }
    agenda_deinit(&agenda);
}

static void
agenda_never_takes_off(void **state)
{
    struct agenda agenda = {0};
    struct agenda_entry entry = {0};

    (void)state;
    agenda_set(&agenda, &entry, 5);
    assert_ptr_equal(agenda_first(&agenda), &entry);
    agenda_set(&agenda, &entry, UINT64_MAX);
    assert_null(agenda_first(&agenda));
    agenda_remove(&agenda, &entry);
    assert_int_equal(entry.place, 0);
    agenda_deinit(&agenda);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agenda_random_moves_keep_the_soonest_first),
        cmocka_unit_test(agenda_never_takes_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
