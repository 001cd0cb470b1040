/* tests/unit/server/core/assign_test.c - ranks, for all small worlds */

#include <stdbool.h>

#include "base/cleanup.h"
#include "check.h"
#include "core/admission.h"
#include "core/event.h"

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
ranks_check(const struct assign_member *before,
            const struct assign_member *after,
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
hosts_fill(struct assign_member *members, uint32_t n, unsigned int number)
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
hosts_count(const struct assign_member *members, uint32_t n)
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
    struct assign_member before[SIZE_MAX_TRIED];
    struct assign_member after[SIZE_MAX_TRIED];
    uint32_t hosts[SIZE_MAX_TRIED];

    (void)state;
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
crossings_best(const struct assign_member *members,
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
requests_fill(struct assign_member *members, uint32_t n, unsigned int mask)
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
    struct assign_member before[SIZE_MAX_TRIED];
    struct assign_member after[SIZE_MAX_TRIED];
    uint32_t hosts[SIZE_MAX_TRIED];
    unsigned int n_cases = 0;
    unsigned int n_best = 0;

    (void)state;
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
    struct assign_member members[] = {
        {.host = 0, .rank = CLUSTER_RANK_ANY},
        {.host = 1, .rank = 0},
        {.host = 1, .rank = CLUSTER_RANK_ANY},
        {.host = 0, .rank = CLUSTER_RANK_ANY},
    };

    (void)state;
    assign_ranks(members, COUNT_OF(members));
    assert_int_equal(members[2].rank, 1);
    assert_int_equal(members[0].rank, 2);
    assert_int_equal(members[3].rank, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assign_no_requests_leaves_each_host_once),
        cmocka_unit_test(assign_requests_are_kept_and_gaps_filled_well),
        cmocka_unit_test(assign_gap_beside_request_takes_its_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
