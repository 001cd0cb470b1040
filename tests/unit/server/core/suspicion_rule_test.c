/*
 * tests/unit/server/core/suspicion_rule_test.c - core/suspicion_rule.c
 *
 * Against a rule that is written down a second time, in the words of
 * docs/failure.md: every set of complaints among up to five ranks, in every
 * order of arrival, with every set of ranks that the coordinator hears. Four
 * and five take longer, and run with any argument, in suite sim.
 */

#include <stdlib.h>
#include <string.h>

#include "base/evidence.h"
#include "check.h"
#include "core/suspicion_rule.h"

enum {
    RANKS_MAX = 5,
    PAIRS_MAX = RANKS_MAX * (RANKS_MAX - 1),
};

struct table {
    uint32_t n;
    uint8_t views[RANKS_MAX * RANKS_MAX];
    bool is_living[RANKS_MAX];
    bool is_heard_by_coordinator[RANKS_MAX];
    bool has_answered[RANKS_MAX];
    bool has_complained_or_answered[RANKS_MAX];
};

static struct suspicion_reports
words_of(const struct table *table)
{
    return (struct suspicion_reports){
        .n_ranks = table->n,
        .views = table->views,
        .is_living = table->is_living,
        .is_heard_by_coordinator = table->is_heard_by_coordinator,
        .has_answered = table->has_answered,
        .has_complained_or_answered = table->has_complained_or_answered,
    };
}

static uint32_t
choose(const struct table *table, bool *out_is_settled)
{
    const struct suspicion_reports words = words_of(table);
    struct suspicion_count counts[RANKS_MAX];

    suspicion_count(&words, counts);
    return suspicion_choose_lost_rank(&words, counts, out_is_settled);
}

/* The rule once more: each rank's four marks make one number, and the largest
 * goes. Complaints are bits here: [from] has one for each of whom. */
struct bits {
    uint32_t complains[RANKS_MAX];
    uint32_t silent[RANKS_MAX]; /* what came no sign of: complaints, too */
    uint32_t hears[RANKS_MAX];
    uint32_t living, heard, spoken;
};

static struct bits
bits_of(const struct table *table)
{
    struct bits bits = {{0}, {0}, {0}, 0, 0, 0};

    for (uint32_t i = 0; i < table->n; i++) {
        bits.living |= (uint32_t)table->is_living[i] << i;
        bits.heard |= (uint32_t)table->is_heard_by_coordinator[i] << i;
        bits.spoken |= (uint32_t)table->has_complained_or_answered[i] << i;
        for (uint32_t j = 0; j < table->n; j++) {
            const uint8_t view = table->views[i * table->n + j];

            if (i == j)
                continue;
            bits.complains[i] |= (uint32_t)(view >= 3) << j;
            bits.silent[i] |= (uint32_t)(view >= 2) << j;
            bits.hears[i] |= (uint32_t)(view == 1) << j;
        }
    }
    return bits;
}

/* Bit i: rank i has rank among those. */
static uint32_t
column(const uint32_t rows[RANKS_MAX], uint32_t n, uint32_t rank)
{
    uint32_t bits = 0;

    for (uint32_t i = 0; i < n; i++)
        bits |= (rows[i] >> rank & 1) << i;
    return bits;
}

static uint32_t
expected(const struct table *table)
{
    const struct bits bits = bits_of(table);
    uint32_t largest = 0;
    uint32_t chosen = SUSPICION_NO_RANK;

    for (uint32_t rank = 0; rank < table->n; rank++) {
        const uint32_t others = bits.living & ~(1u << rank);
        const uint32_t against = column(bits.complains, table->n, rank);
        const uint32_t pairs =
            (against | (bits.complains[rank] & bits.heard)) & others;
        const bool is_deaf =
            __builtin_popcount(bits.silent[rank] & others) > 1 &&
            (bits.hears[rank] & others) == 0;
        const bool is_mute =
            __builtin_popcount(column(bits.silent, table->n, rank) & others) >
                1 &&
            (column(bits.hears, table->n, rank) & others) == 0;
        const uint32_t mark =
            1000u * (uint32_t)__builtin_popcount(pairs) +
            100u * (uint32_t)(is_deaf || is_mute) +
            10u * (2 - (bits.heard >> rank & 1) - (bits.spoken >> rank & 1)) +
            rank + 1;

        if (!(bits.living >> rank & 1) ||
            ((against | bits.complains[rank]) & others) == 0 || mark <= largest)
            continue;
        largest = mark;
        chosen = rank;
    }
    return chosen;
}

/* Ranks of complete have said all of full, the others nothing but that their
 * connections broke. */
static struct table
table_until(const struct table *full, uint32_t complete, bool keeps_broken)
{
    struct table table = *full;

    for (uint32_t i = 0; i < full->n; i++) {
        table.has_answered[i] = table.has_complained_or_answered[i] =
            complete >> i & 1;
        if (table.has_answered[i])
            continue;
        table.is_heard_by_coordinator[i] = false;
        for (uint32_t j = 0; j < full->n; j++) {
            uint8_t *view = &table.views[i * full->n + j];

            if (!keeps_broken || *view != VIEW_BROKEN)
                *view = VIEW_NONE;
            else
                table.is_heard_by_coordinator[i] =
                    table.has_complained_or_answered[i] = true;
        }
    }
    return table;
}

/* In whatever order the words come: what is settled is what all of them say. */
static void
orders_compare(const struct table *full)
{
    bool is_settled = false;
    const uint32_t chosen = choose(full, &is_settled);

    assert_int_equal(chosen, expected(full));
    assert_true(is_settled || chosen == SUSPICION_NO_RANK);
    for (uint32_t complete = 0; complete < 1u << full->n; complete++) {
        /* Five ranks have many: there only what is settled soonest. */
        for (int keeps_broken = full->n == 5; keeps_broken < 2;
             keeps_broken++) {
            const struct table part = table_until(full, complete, keeps_broken);
            const uint32_t early = choose(&part, &is_settled);

            if (full->n < 5)
                assert_int_equal(early, expected(&part));
            if (is_settled && early != chosen)
                fail_msg("of %u ranks, rank %u goes with the words of %#x, and "
                         "rank %u with all",
                         full->n, early, complete, chosen);
        }
    }
}

/* Views of all pairs are the digits of number. */
static void
views_set(struct table *table, uint64_t number, const uint8_t *kinds, int n)
{
    for (uint32_t i = 0; i < table->n; i++) {
        for (uint32_t j = 0; j < table->n; j++) {
            if (i == j)
                continue;
            table->views[i * table->n + j] = kinds[number % (uint64_t)n];
            number /= (uint64_t)n;
        }
    }
}

static struct table
table_of(uint32_t n)
{
    struct table table = {.n = n};

    for (uint32_t i = 0; i < n; i++)
        table.is_living[i] = table.is_heard_by_coordinator[i] =
            table.has_answered[i] = table.has_complained_or_answered[i] = true;
    return table;
}

static uint64_t
power(uint64_t base, uint32_t exponent)
{
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/* All that a rank may say, among up to three. */
static void
small_worlds_are_as_the_rule_says(void **state)
{
    static const uint8_t kinds[] = {VIEW_HEARD, VIEW_BROKEN, VIEW_UNANSWERED,
                                    VIEW_SILENT, VIEW_NONE};

    for (uint32_t n = 2; n <= 3; n++) {
        struct table table = table_of(n);

        for (uint64_t i = 0; i < power(5, n * (n - 1)); i++) {
            views_set(&table, i, kinds, 5);
            orders_compare(&table);
        }
    }
}

/* Each of 12 pairs says one of three things. */
static void
four_ranks_are_as_the_rule_says(void **state)
{
    static const uint8_t kinds[] = {VIEW_HEARD, VIEW_BROKEN, VIEW_UNANSWERED};
    struct table table = table_of(4);

    for (uint64_t i = 0; i < power(3, 12); i++) {
        views_set(&table, i, kinds, 3);
        orders_compare(&table);
    }
}

/* Each of 20 pairs complains, or hears. */
static void
five_ranks_are_as_the_rule_says(void **state)
{
    static const uint8_t kinds[] = {VIEW_HEARD, VIEW_BROKEN};
    struct table table = table_of(5);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const uint64_t step = 37;
#else
    const uint64_t step = 1;
#endif
    for (uint64_t i = 0; i < power(2, PAIRS_MAX); i += step) {
        views_set(&table, i, kinds, 2);
        orders_compare(&table);
    }
}

/* Whom the coordinator does not hear says nothing. */
static void
silent_ranks_are_as_the_rule_says(void **state)
{
    static const uint8_t kinds[] = {VIEW_HEARD, VIEW_SILENT};
    bool is_settled;

    for (uint32_t heard = 0; heard < 16; heard++) {
        for (uint64_t i = 0; i < power(2, 12); i++) {
            struct table table = table_of(4);

            views_set(&table, i, kinds, 2);
            table = table_until(&table, heard, false);
            assert_int_equal(choose(&table, &is_settled), expected(&table));
        }
    }
}

/* One after another, until nobody complains of a living one. What is counted
 * once and then discounted is what is counted anew each time. */
static uint32_t
survivors_of(struct table *table)
{
    const struct suspicion_reports words = words_of(table);
    struct suspicion_count counts[RANKS_MAX];
    uint32_t survivors = 0;
    bool is_settled;
    uint32_t gone;

    suspicion_count(&words, counts);
    while ((gone = choose(table, &is_settled)) != SUSPICION_NO_RANK) {
        assert_int_equal(gone, expected(table));
        assert_int_equal(
            gone, suspicion_choose_lost_rank(&words, counts, &is_settled));
        table->is_living[gone] = false;
        suspicion_count_remove_rank(&words, gone, counts);
    }
    assert_int_equal(suspicion_choose_lost_rank(&words, counts, &is_settled),
                     SUSPICION_NO_RANK);
    for (uint32_t i = 0; i < table->n; i++)
        survivors |= (uint32_t)table->is_living[i] << i;
    return survivors;
}

/* All who say anything at all, and all who go. */
static void
counts_that_are_discounted_are_those_counted_anew(void **state)
{
    static const uint8_t kinds[] = {VIEW_HEARD, VIEW_BROKEN, VIEW_UNANSWERED,
                                    VIEW_SILENT, VIEW_NONE};
    const uint32_t n_sets = 1u << 4;

    for (uint64_t i = 0; i < power(5, 12); i += 40009) {
        for (uint32_t set = 0; set < n_sets; set++) {
            struct table table = table_of(4);

            views_set(&table, i, kinds, 5);
            for (uint32_t rank = 0; rank < 4; rank++) {
                table.is_heard_by_coordinator[rank] = (set ^ i) >> rank & 1;
                table.has_answered[rank] =
                    table.is_heard_by_coordinator[rank] && set % 3 > 0;
                table.has_complained_or_answered[rank] =
                    table.is_heard_by_coordinator[rank] && set % 4 > 0;
            }
            survivors_of(&table);
        }
    }
}

/*
 * A world of 4096 that parts: the ranks of the smaller part go one after the
 * other, from the highest. Were they counted anew for each, that would be 10^11
 * steps, for which there is no time.
 */
static void
large_world_that_parts_is_decided_in_few_steps(void **state)
{
    const uint32_t n = 4096;
    const uint32_t n_left = n / 2 + 1;
    uint8_t *views = malloc((size_t)n * n);
    bool *flags = malloc(n);
    bool *is_living = malloc(n);
    struct suspicion_count *counts = malloc(n * sizeof(*counts));
    const struct suspicion_reports words = {n,     views, is_living,
                                            flags, flags, flags};
    bool is_settled;

    assert_true(views && flags && is_living && counts);
    memset(flags, true, n);
    memset(is_living, true, n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            views[(size_t)i * n + j] =
                (i < n_left) == (j < n_left) ? VIEW_HEARD : VIEW_SILENT;
    suspicion_count(&words, counts);
    for (uint32_t gone = n; gone-- > n_left;) {
        assert_int_equal(
            suspicion_choose_lost_rank(&words, counts, &is_settled), gone);
        assert_true(is_settled);
        is_living[gone] = false;
        suspicion_count_remove_rank(&words, gone, counts);
    }
    assert_int_equal(suspicion_choose_lost_rank(&words, counts, &is_settled),
                     SUSPICION_NO_RANK);
    free(views);
    free(flags);
    free(is_living);
    free(counts);
}

/* from hears nobody of those, or is heard by none. */
static void
cut(struct table *table, uint32_t from, uint32_t of)
{
    for (uint32_t i = 0; i < table->n; i++)
        for (uint32_t j = 0; j < table->n; j++) {
            if (i != j && (from >> i & 1) && (of >> j & 1))
                table->views[i * table->n + j] = VIEW_SILENT;
        }
}

static void
rank_that_is_cut_off_goes_alone(void **state)
{
    for (uint32_t n = 3; n <= 5; n++) {
        for (uint32_t rank = 0; rank < n; rank++) {
            const uint32_t all = (1u << n) - 1;
            const uint32_t one = 1u << rank;

            /* Both ways, only towards it, only from it. */
            for (int way = 0; way < 3; way++) {
                struct table table = table_of(n);

                memset(table.views, VIEW_HEARD, sizeof(table.views));
                if (way != 2)
                    cut(&table, one, all & ~one);
                if (way != 1)
                    cut(&table, all & ~one, one);
                assert_int_equal(survivors_of(&table), all & ~one);
            }
        }
    }
}

/* The larger part, or the one with the lower ranks. */
static void
parted_world_keeps_one_part(void **state)
{
    for (uint32_t n = 2; n <= 5; n++) {
        for (uint32_t part = 1; part < (1u << n) - 1; part++) {
            const uint32_t rest = ((1u << n) - 1) & ~part;
            const int n_part = __builtin_popcount(part);
            const int n_rest = __builtin_popcount(rest);
            struct table table = table_of(n);

            memset(table.views, VIEW_HEARD, sizeof(table.views));
            cut(&table, part, rest);
            cut(&table, rest, part);
            const uint32_t left = survivors_of(&table);
            assert_true(left == part || left == rest);
            if (n_part != n_rest)
                assert_int_equal(left, n_part > n_rest ? part : rest);
        }
    }
}

/* The first complaint, when the others have only not been answered for a while:
 * the one whom nobody hears, and not the first that it complains of. */
static void
first_complaint_of_who_is_cut_off_hurts_nobody(void **state)
{
    bool is_settled;

    for (uint32_t accused = 1; accused < 4; accused++) {
        struct table table = table_of(4);

        memset(table.views, VIEW_HEARD, sizeof(table.views));
        for (uint32_t i = 1; i < 4; i++)
            table.views[i] = table.views[4 * i] = VIEW_UNANSWERED;
        table.views[accused] = VIEW_SILENT;
        assert_int_equal(choose(&table, &is_settled), 0);
    }
}

/* Two ranks: the one that is silent to the coordinator, or else the higher,
 * though the lower one has only complained so far. */
static void
of_two_the_silent_or_the_higher_goes(void **state)
{
    bool is_settled;

    for (uint32_t from = 0; from < 2; from++) {
        struct table table = table_of(2);

        table.views[from * 2 + 1 - from] = VIEW_BROKEN;
        assert_int_equal(choose(&table, &is_settled), 1);
        assert_true(is_settled);
        table.views[2 * 0 + 1] = table.views[2 * 1 + 0] = VIEW_BROKEN;
        table.has_answered[0] = false;
        assert_int_equal(choose(&table, &is_settled), 1);
        table = table_of(2);
        table.views[from * 2 + 1 - from] = VIEW_BROKEN;
        table.has_answered[0] = table.has_answered[1] = false;
        table.is_heard_by_coordinator[1 - from] =
            table.has_complained_or_answered[1 - from] = false;
        assert_int_equal(choose(&table, &is_settled), 1 - from);
        assert_false(is_settled);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest large[] = {
        cmocka_unit_test(four_ranks_are_as_the_rule_says),
        cmocka_unit_test(five_ranks_are_as_the_rule_says),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_worlds_are_as_the_rule_says),
        cmocka_unit_test(silent_ranks_are_as_the_rule_says),
        cmocka_unit_test(counts_that_are_discounted_are_those_counted_anew),
        cmocka_unit_test(large_world_that_parts_is_decided_in_few_steps),
        cmocka_unit_test(rank_that_is_cut_off_goes_alone),
        cmocka_unit_test(parted_world_keeps_one_part),
        cmocka_unit_test(first_complaint_of_who_is_cut_off_hurts_nobody),
        cmocka_unit_test(of_two_the_silent_or_the_higher_goes),
    };

    if (argc > 1)
        return cmocka_run_group_tests(large, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
