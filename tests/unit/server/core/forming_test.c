/* tests/unit/server/core/forming_test.c - worlds that form, in time,
 * smaller, or not */

#include <stdbool.h>

#include "base/cleanup.h"
#include "check.h"
#include "core/admission.h"
#include "core/event.h"
#include "core/rank_assignment.h"
#include "fixture.h"

static void
form_last_join_completes_the_world(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t tickets[3];

    fixture_init(&f, &(struct cluster_options){.lease_ms = 700});
    for (uint32_t i = 0; i < 3; i++)
        tickets[i] = fixture_join(&f, 10 + i, i == 0 ? 2 : CLUSTER_RANK_ANY, 3);

    const struct cluster_join_result *first =
        &fixture_reply(&f, tickets[0])->world;

    assert_int_equal(first->rank, 2);
    assert_int_equal(first->size, 3);
    assert_int_equal(first->lease_ms, 700);
    assert_int_equal(first->revision, 1);
    assert_int_equal(first->seed, 10 ^ 11 ^ 12);
    for (uint32_t i = 1; i < 3; i++) {
        const struct cluster_join_result *world =
            &fixture_reply(&f, tickets[i])->world;

        assert_int_equal(world->rank, i - 1);
        assert_ptr_equal(world->roster, first->roster);
        assert_int_equal(world->roster[i - 1].incarnation, 10 + i);
    }
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_FORMED));
    assert_true(cluster_next_deadline_ns(f.cluster) ==
                f.now_ns + 700 * FIXTURE_S / 1000);
}

static void
form_hosts_are_neighbours(void **state)
{
    static const char *const hosts[] = {"x", "y", "x", "y"};
    static const uint32_t ranks[] = {0, 2, 1, 3};
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t tickets[4];

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 4; i++) {
        struct cluster_event event =
            fixture_join_event(1 + i, CLUSTER_RANK_ANY, 4);

        event.join.host_id = hosts[i];
        tickets[i] = fixture_step(&f, event);
    }
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fixture_reply(&f, tickets[i])->world.rank, ranks[i]);
}

static void
form_deadline_fails_the_attempt_for_all(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t tickets[3];

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 3; i++)
        tickets[i] = fixture_join(&f, 1 + i, i, 4);
    fixture_next(&f);
    for (uint32_t i = 0; i < 3; i++) {
        fixture_refused(&f, tickets[i], HOOP_E_TIMEOUT, "3 of 4 have joined");
        fixture_refused(&f, tickets[i], HOOP_E_TIMEOUT, "missing: rank 3");
    }
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_FORM_FAILED)->text,
                           "missing: rank 3"));
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
    assert_int_equal(cluster_counters(f.cluster)->members, 0);
    assert_true(cluster_next_deadline_ns(f.cluster) == UINT64_MAX);
}

static uint64_t
join_until(struct fixture *f, uint32_t rank, uint64_t deadline_ns)
{
    struct cluster_event event = fixture_join_event(1 + rank, rank, 4);

    event.join.incarnation += deadline_ns;
    event.deadline_ns = deadline_ns;
    return fixture_step(f, event);
}

static void
form_deadline_of_one_fails_its_join_alone(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t tickets[4];

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t begin_ns = f.now_ns;

    tickets[0] = join_until(&f, 0, begin_ns + 60 * FIXTURE_S);
    tickets[1] = join_until(&f, 1, begin_ns + 3 * FIXTURE_S / 10);
    tickets[2] = join_until(&f, 2, begin_ns + 50 * FIXTURE_S);
    f.now_ns = begin_ns + 3 * FIXTURE_S / 10;
    fixture_tick(&f);
    fixture_refused(&f, tickets[1], HOOP_E_TIMEOUT, "missing: rank 3");
    assert_null(fixture_find(&f, tickets[0]));
    assert_null(fixture_find(&f, tickets[2]));
    assert_int_equal(cluster_counters(f.cluster)->members, 2);
    assert_int_equal(cluster_counters(f.cluster)->worlds_failed, 0);

    /* At its own, the next one: who gave up is not here any more. */
    f.now_ns = begin_ns + 50 * FIXTURE_S;
    fixture_tick(&f);
    fixture_refused(&f, tickets[2], HOOP_E_TIMEOUT,
                    "2 of 4 have joined: rank 0 (h:1), rank 2 (h:3); 1 gave up "
                    "before, at its own deadline; missing: ranks 1, 3");
    assert_null(fixture_find(&f, tickets[0]));

    /* Somebody else has come: it is told how it is then. */
    tickets[3] = join_until(&f, 3, begin_ns + 55 * FIXTURE_S);
    f.now_ns = begin_ns + 55 * FIXTURE_S;
    fixture_tick(&f);
    fixture_refused(&f, tickets[3], HOOP_E_TIMEOUT, "2 of 4 have joined");
    fixture_refused(&f, tickets[3], HOOP_E_TIMEOUT, "2 gave up before");
    fixture_refused(&f, tickets[3], HOOP_E_TIMEOUT, "missing: ranks 1-2");
    assert_null(fixture_find(&f, tickets[0]));

    /* The same ranks come back, and a new one: all that wait succeed. */
    tickets[1] = join_until(&f, 1, begin_ns + 90 * FIXTURE_S);
    tickets[2] = join_until(&f, 2, begin_ns + 90 * FIXTURE_S);
    tickets[3] = join_until(&f, 3, begin_ns + 90 * FIXTURE_S);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fixture_reply(&f, tickets[i])->world.rank, i);
}

static void
form_last_one_that_waits_ends_the_attempt(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t tickets[2];

    fixture_init(&f, &(struct cluster_options){0});
    tickets[0] = join_until(&f, 0, f.now_ns + FIXTURE_S);
    tickets[1] = join_until(&f, 1, f.now_ns + 2 * FIXTURE_S);
    fixture_next(&f);
    fixture_refused(&f, tickets[0], HOOP_E_TIMEOUT, "missing");
    fixture_next(&f);
    fixture_refused(&f, tickets[1], HOOP_E_TIMEOUT, "missing");
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
    assert_int_equal(cluster_counters(f.cluster)->worlds_failed, 1);
    assert_true(cluster_next_deadline_ns(f.cluster) == UINT64_MAX);
}

static void
form_late_fourth_is_told_of_the_failed_attempt(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 3; i++)
        fixture_join(&f, 1 + i, i, 4);
    fixture_next(&f);
    f.now_ns += 2 * FIXTURE_S;
    const uint64_t late = fixture_join(&f, 4, 3, 4);

    fixture_next(&f);
    fixture_refused(&f, late, HOOP_E_TIMEOUT, "missing: ranks 0-2");
    fixture_refused(&f, late, HOOP_E_TIMEOUT,
                    "an earlier attempt, with 3 of 4, gave up 2.0 s before");
}

static void
form_failed_attempt_without_a_size_is_told_without_one(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 0);
    fixture_next(&f);
    f.now_ns += 2 * FIXTURE_S;
    const uint64_t late = fixture_join(&f, 2, 0, 2);

    fixture_next(&f);
    fixture_refused(&f, late, HOOP_E_TIMEOUT,
                    "an earlier attempt, with 1, gave up 2.0 s before");
}

static void
form_range_waits_for_the_settle_time(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    const struct cluster_options options = {
        .world_size = 4, .size_min = 2, .settle_ms = 500};

    fixture_init(&f, &options);
    const uint64_t first = fixture_join(&f, 1, CLUSTER_RANK_ANY, 0);

    fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);
    f.now_ns += FIXTURE_S / 4;
    fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);
    assert_true(cluster_next_deadline_ns(f.cluster) ==
                f.now_ns + FIXTURE_S / 2);
    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, first)->world.size, 3);
}

static void
form_range_with_a_high_request_waits(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    const struct cluster_options options = {.world_size = 4, .size_min = 2};

    fixture_init(&f, &options);
    fixture_join(&f, 1, 3, 0);
    const uint64_t ticket = fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);

    fixture_next(&f);
    assert_null(fixture_find(&f, ticket));
    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT,
                    "2 more workers for the ranks 0-2");
}

/* Two members and two newcomers, who take ranks from 2 on; the last ticket. */
static uint64_t
grow_join(struct fixture *f, const uint32_t ranks[3])
{
    uint64_t ticket = 0;

    for (uint32_t i = 0; i < 3; i++) {
        struct cluster_event event = fixture_join_event(1 + i, ranks[i], 4);

        event.join.least_accepted_rank = ranks[i] < 2 ? 0 : 2;
        event.join.size_min = 3;
        event.join.settle_ms = 3600000;
        ticket = fixture_step(f, event);
    }
    return ticket;
}

static void
form_place_of_one_who_is_gone_is_a_later_ones(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t last = grow_join(&f, (uint32_t[]){1, 0, 3});

    fixture_next(&f);
    const struct cluster_join_result *world = &fixture_reply(&f, last)->world;

    assert_int_equal(world->size, 3);
    assert_int_equal(world->rank, 2);
    assert_int_equal(world->roster[0].incarnation, 2);
    assert_int_equal(world->roster[1].incarnation, 1);
    assert_int_equal(world->roster[2].incarnation, 3);
}

static void
form_place_of_a_member_is_nobody_elses(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t last = grow_join(&f, (uint32_t[]){0, 2, 3});

    fixture_next(&f);
    fixture_refused(&f, last, HOOP_E_TIMEOUT, "missing: rank 1");
}

/* A place may be taken anew as long as there is time. */
static void
form_later_one_stays_where_the_gone_one_is_replaced(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t last = grow_join(&f, (uint32_t[]){0, 1, 3});

    assert_null(fixture_find(&f, last));
    struct cluster_event event = fixture_join_event(4, 2, 4);

    event.join.least_accepted_rank = 2;
    fixture_step(&f, event);
    assert_int_equal(fixture_reply(&f, last)->world.size, 4);
    assert_int_equal(fixture_reply(&f, last)->world.rank, 3);
}

static void
form_name_is_used_again_with_a_later_epoch(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t last = 0;

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t life = 0; life < 5; life++) {
        const uint64_t epoch = fixture_world(&f, 2);

        assert_true(epoch > last);
        fixture_set(&f, "k", "v");
        fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
        assert_null(fixture_notice(&f, CLUSTER_NOTICE_ENDED));
        fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
        assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_ENDED));
        assert_int_equal(cluster_counters(f.cluster)->keys, 0);
        last = epoch;
    }
}

enum {
    SIZE_MAX_TRIED = 6,
};

static unsigned int
crossings(const uint32_t *hosts, uint32_t n)
{
    unsigned int n_crossings = 0;

    for (uint32_t rank = 0; rank < n; rank++)
        n_crossings += hosts[rank] != hosts[(rank + 1) % n];
    return n_crossings;
}

/* Ranks are dense and unique, requests kept; fills hosts by rank. */
static void
ranks_check(const struct member_placement *before,
            const struct member_placement *after,
            uint32_t n,
            uint32_t *out_hosts)
{
    unsigned int seen = 0;

    for (uint32_t i = 0; i < n; i++) {
        assert_true(after[i].rank < n);
        assert_false(seen & 1U << after[i].rank);
        seen |= 1U << after[i].rank;
        if (before[i].rank != CLUSTER_RANK_ANY)
            assert_int_equal(after[i].rank, before[i].rank);
        out_hosts[after[i].rank] = after[i].host;
    }
}

/* The digits of number are hosts; false unless numbered by first arrival. */
static bool
hosts_fill(struct member_placement *members, uint32_t n, unsigned int number)
{
    uint32_t n_hosts = 0;

    for (uint32_t i = 0; i < n; i++) {
        members[i].host = number % n;
        number /= n;
        if (members[i].host > n_hosts)
            return false;
        n_hosts += members[i].host == n_hosts;
    }
    return true;
}

static unsigned int
power(unsigned int base, unsigned int exponent)
{
    return exponent ? base * power(base, exponent - 1) : 1;
}

static unsigned int
hosts_count(const struct member_placement *members, uint32_t n)
{
    uint32_t n_hosts = 0;

    for (uint32_t i = 0; i < n; i++)
        if (members[i].host >= n_hosts)
            n_hosts = members[i].host + 1;
    return n_hosts;
}

static void
assign_no_requests_leaves_each_host_once(void **state)
{
    struct member_placement before[SIZE_MAX_TRIED];
    struct member_placement after[SIZE_MAX_TRIED];
    uint32_t hosts[SIZE_MAX_TRIED];

    for (uint32_t n = 1; n <= SIZE_MAX_TRIED; n++)
        for (unsigned int number = 0; number < power(n, n); number++) {
            if (!hosts_fill(before, n, number))
                continue;
            for (uint32_t i = 0; i < n; i++) {
                before[i].rank = CLUSTER_RANK_ANY;
                after[i] = before[i];
            }
            assign_ranks(after, n);
            ranks_check(before, after, n, hosts);

            const unsigned int n_hosts = hosts_count(before, n);

            assert_int_equal(crossings(hosts, n), n_hosts > 1 ? n_hosts : 0);
            /* Hosts by first arrival, members of one in their order. */
            assert_int_equal(after[0].rank, 0);
            for (uint32_t i = 1; i < n; i++)
                for (uint32_t j = 0; j < i; j++)
                    assert_true((after[j].rank < after[i].rank) ==
                                (before[j].host <= before[i].host));
        }
}

/* By trying all ways to give the free ranks. */
static unsigned int
crossings_best(const struct member_placement *members,
               uint32_t n,
               uint32_t next,
               uint32_t *hosts)
{
    unsigned int best = UINT32_MAX;

    while (next < n && members[next].rank != CLUSTER_RANK_ANY)
        next++;
    if (next == n)
        return crossings(hosts, n);
    for (uint32_t rank = 0; rank < n; rank++) {
        if (hosts[rank] != UINT32_MAX)
            continue;
        hosts[rank] = members[next].host;

        const unsigned int found = crossings_best(members, n, next + 1, hosts);

        if (found < best)
            best = found;
        hosts[rank] = UINT32_MAX;
    }
    return best;
}

/* The digits of number say who requests the rank after its own place. */
static void
requests_fill(struct member_placement *members, uint32_t n, unsigned int mask)
{
    for (uint32_t i = 0; i < n; i++)
        members[i].rank =
            mask & 1U << i ? (2 * i + 1) % (n | 1) % n : CLUSTER_RANK_ANY;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (members[i].rank == members[j].rank)
                members[i].rank = CLUSTER_RANK_ANY;
}

static void
assign_requests_are_kept_and_gaps_filled_well(void **state)
{
    struct member_placement before[SIZE_MAX_TRIED];
    struct member_placement after[SIZE_MAX_TRIED];
    uint32_t hosts[SIZE_MAX_TRIED];
    unsigned int n_cases = 0;
    unsigned int n_best = 0;

    for (uint32_t n = 1; n <= 5; n++)
        for (unsigned int number = 0; number < power(n, n) << n; number++) {
            if (!hosts_fill(before, n, number >> n))
                continue;
            requests_fill(before, n, number & ((1U << n) - 1));
            for (uint32_t i = 0; i < n; i++) {
                after[i] = before[i];
                hosts[i] = UINT32_MAX;
            }
            for (uint32_t i = 0; i < n; i++)
                if (before[i].rank != CLUSTER_RANK_ANY)
                    hosts[before[i].rank] = before[i].host;

            const unsigned int best = crossings_best(before, n, 0, hosts);

            assign_ranks(after, n);
            ranks_check(before, after, n, hosts);
            assert_true(crossings(hosts, n) <= best + 2);
            n_best += crossings(hosts, n) == best;
            n_cases++;
        }
    print_message("%u of %u worlds with requests are optimal\n", n_best,
                  n_cases);
    assert_true(n_best * 10 >= n_cases * 9);
}

static void
assign_gap_beside_request_takes_its_host(void **state)
{
    struct member_placement members[] = {
        {.host = 0, .rank = CLUSTER_RANK_ANY},
        {.host = 1, .rank = 0},
        {.host = 1, .rank = CLUSTER_RANK_ANY},
        {.host = 0, .rank = CLUSTER_RANK_ANY},
    };

    assign_ranks(members, COUNT_OF(members));
    assert_int_equal(members[2].rank, 1);
    assert_int_equal(members[0].rank, 2);
    assert_int_equal(members[3].rank, 3);
}

static void
wish_disagreement_is_refused_to_the_later(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 4);
    const uint64_t ticket = fixture_join(&f, 2, 1, 5);

    fixture_refused(&f, ticket, HOOP_E_PRECONDITION, "is 5");
    fixture_refused(&f, ticket, HOOP_E_PRECONDITION, "rank 0 (h:1) said 4");
}

static void
wish_nobody_says_comes_from_the_options(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 0);
    const uint64_t ticket = fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 2);
}

static void
wish_of_a_worker_comes_before_the_options(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 3);
    assert_null(fixture_find(&f, fixture_join(&f, 2, CLUSTER_RANK_ANY, 0)));
    const uint64_t ticket = fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 3);
}

static void
wish_too_small_for_those_who_wait_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 7, 0);
    fixture_refused(&f, fixture_join(&f, 2, 0, 4), HOOP_E_PRECONDITION,
                    "rank 7 (h:1) waits in it already");
    fixture_join(&f, 3, 1, 0);
    fixture_refused(&f, fixture_join(&f, 4, 0, 2), HOOP_E_PRECONDITION,
                    "2 workers wait");
}

static void
wish_of_the_withdrawn_is_forgotten_if_all_fit(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.world_size = 3});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 8);
    fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 1});
    fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);
    const uint64_t ticket = fixture_join(&f, 4, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 3);
}

static void
wish_of_the_withdrawn_stays_if_others_need_it(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 4);
    for (uint32_t number = 2; number <= 4; number++) {
        if (number == 4)
            fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                                    .client = 1});
        fixture_join(&f, number, number == 2 ? 3 : CLUSTER_RANK_ANY, 0);
    }
    const uint64_t ticket = fixture_join(&f, 5, CLUSTER_RANK_ANY, 0);

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_last_join_completes_the_world),
        cmocka_unit_test(form_hosts_are_neighbours),
        cmocka_unit_test(form_deadline_fails_the_attempt_for_all),
        cmocka_unit_test(form_deadline_of_one_fails_its_join_alone),
        cmocka_unit_test(form_last_one_that_waits_ends_the_attempt),
        cmocka_unit_test(form_late_fourth_is_told_of_the_failed_attempt),
        cmocka_unit_test(
            form_failed_attempt_without_a_size_is_told_without_one),
        cmocka_unit_test(form_range_waits_for_the_settle_time),
        cmocka_unit_test(form_range_with_a_high_request_waits),
        cmocka_unit_test(form_place_of_one_who_is_gone_is_a_later_ones),
        cmocka_unit_test(form_place_of_a_member_is_nobody_elses),
        cmocka_unit_test(form_later_one_stays_where_the_gone_one_is_replaced),
        cmocka_unit_test(form_name_is_used_again_with_a_later_epoch),
        cmocka_unit_test(assign_no_requests_leaves_each_host_once),
        cmocka_unit_test(assign_requests_are_kept_and_gaps_filled_well),
        cmocka_unit_test(assign_gap_beside_request_takes_its_host),
        cmocka_unit_test(wish_disagreement_is_refused_to_the_later),
        cmocka_unit_test(wish_nobody_says_comes_from_the_options),
        cmocka_unit_test(wish_of_a_worker_comes_before_the_options),
        cmocka_unit_test(wish_too_small_for_those_who_wait_is_refused),
        cmocka_unit_test(wish_of_the_withdrawn_is_forgotten_if_all_fit),
        cmocka_unit_test(wish_of_the_withdrawn_stays_if_others_need_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
