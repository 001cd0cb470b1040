/* tests/unit/server/core/waiter_test.c - parked requests are bounded and end once */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/waiter.h"
#include "fixture.h"

static void
waiter_key_bytes_over_the_limit_are_refused(void **state)
{
    struct fixture f;
    static char text[LIMIT_STORE_KEY];
    const char *keys[LIMIT_STORE_KEYS_CALL];
    uint64_t ticket = 0;
    size_t n_parked = 0;

    (void)state;
    memset(text, 'k', sizeof(text) - 1);
    for (size_t i = 0; i < LIMIT_STORE_KEYS_CALL; i++)
        keys[i] = text;
    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 1);
    do {
        ticket = fixture_step(
            &f, (struct cluster_event){
                    .kind = CLUSTER_STORE_WAIT,
                    .keys = {.keys = keys, .n_keys = LIMIT_STORE_KEYS_CALL}});
        n_parked++;
    } while (!fixture_find(&f, ticket) && n_parked < 100);
    fixture_refused(&f, ticket, HOOP_E_EXHAUSTED, "the limit");
    assert_int_equal(n_parked, 1 + LIMIT_WAITER_BYTES / (LIMIT_STORE_KEYS_CALL *
                                                         LIMIT_STORE_KEY));

    /* All end at the deadline, and the room is there again. */
    fixture_next(&f);
    assert_int_equal(f.actions.n_items, n_parked - 1);
    assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
    assert_null(fixture_find(&f, fixture_key(&f, CLUSTER_STORE_WAIT, "k")));
    fixture_deinit(&f);
}

static uint64_t
watch_as(struct fixture *f, const char *token)
{
    return fixture_step(f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                                  .role = ROLE_OPERATOR,
                                                  .token = token,
                                                  .watch.since = 1});
}

static void
waiters_of_operators_leave_room_for_workers(void **state)
{
    struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);
    char operator[LIMIT_TOKEN];
    uint64_t first = 0;

    (void)state;
    assert_int_equal(role_derive_token(ROLE_OPERATOR, "t", operator), HOOP_OK);
    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    event.token = "t";
    fixture_step(&f, event);
    for (int i = 0; i < LIMIT_ONLOOKERS; i++) {
        const uint64_t ticket = watch_as(&f, operator);

        assert_null(fixture_find(&f, ticket));
        first = i == 0 ? ticket : first;
    }
    fixture_refused(&f, watch_as(&f, operator), HOOP_E_EXHAUSTED,
                    "not a worker's");
    assert_null(fixture_find(&f, watch_as(&f, "t")));

    /* One of them goes, and the next has its place; what a worker waits for
     * takes none. */
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = first});
    assert_null(fixture_find(&f, watch_as(&f, operator)));
    fixture_refused(&f, watch_as(&f, operator), HOOP_E_EXHAUSTED,
                    "not a worker's");
    fixture_next(&f);
    assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
    assert_null(fixture_find(&f, watch_as(&f, operator)));
    fixture_deinit(&f);
}

static void
waiter_cancelled_is_never_answered(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket = fixture_key(&f, CLUSTER_STORE_WAIT, "k");

    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = ticket});
    assert_int_equal(f.actions.n_items, 0);
    fixture_set(&f, "k", "v");
    assert_null(fixture_find(&f, ticket));
    assert_int_equal(cluster_counters(f.cluster)->replies_dropped, 1);
    fixture_deinit(&f);
}

static void
waiter_of_a_job_that_ends_is_told(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t ticket = fixture_key(&f, CLUSTER_STORE_WAIT, "k");

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    fixture_refused(&f, ticket, HOOP_E_NOT_FOUND, "has ended");
    fixture_deinit(&f);
}

/* Whichever of them was answered before. */
static void
disconnect_ends_all_that_wait_on_the_connection(void **state)
{
    (void)state;
    for (uint32_t answered = 0; answered <= 3; answered++) {
        struct fixture f;
        uint64_t tickets[3];

        fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
        fixture_world(&f, 1);
        for (size_t i = 0; i < 3; i++)
            tickets[i] = fixture_key(&f, CLUSTER_STORE_WAIT, "k");
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                                .client = 7,
                                                .watch.since = 1});
        assert_int_equal(cluster_counters(f.cluster)->waiters, 4);
        if (answered < 3)
            fixture_step(&f,
                         (struct cluster_event){.kind = CLUSTER_CANCEL,
                                                .ticket = tickets[answered]});
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT});
        assert_int_equal(cluster_counters(f.cluster)->waiters, 1);
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                                .client = 7});
        assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
        fixture_deinit(&f);
    }
}

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
        cmocka_unit_test(waiter_key_bytes_over_the_limit_are_refused),
        cmocka_unit_test(waiters_of_operators_leave_room_for_workers),
        cmocka_unit_test(waiter_cancelled_is_never_answered),
        cmocka_unit_test(waiter_of_a_job_that_ends_is_told),
        cmocka_unit_test(disconnect_ends_all_that_wait_on_the_connection),
        cmocka_unit_test(timer_heap_random_moves_keep_the_soonest_first),
        cmocka_unit_test(timer_heap_never_takes_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
