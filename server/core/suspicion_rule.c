/* core/suspicion_rule.c - choose the lost rank from what the ranks say of each
 * other */

#include "core/suspicion_rule.h"

#include <string.h>

#include "base/evidence.h"

enum {
    CUT_OFF_PEERS_MIN =
        2,      /* a rank that is cut off does not hear at least this many */
    BLOCK = 64, /* ranks, for whose views one cache line each is in use */
};

static uint8_t
rank_view_of(const struct suspicion_reports *words, uint32_t from, uint32_t of)
{
    return words->views[(uint64_t)from * words->n_ranks + of];
}

/* Return whether the pair counts against rank. */
static bool
pair_counts_against(const struct suspicion_reports *words,
                    uint32_t rank,
                    uint32_t other)
{
    return view_is_complaint(rank_view_of(words, other, rank)) ||
           (view_is_complaint(rank_view_of(words, rank, other)) &&
            words->is_heard_by_coordinator[other]);
}

/* Return whether the complaint is final: a broken connection stays broken, and
 * an answer is not changed. */
static bool
complaint_is_final(const struct suspicion_reports *words,
                   uint32_t from,
                   uint32_t of)
{
    const uint8_t said = rank_view_of(words, from, of);

    return said == VIEW_BROKEN ||
           (view_is_complaint(said) && words->has_answered[from]);
}

static bool
pair_is_final_against(const struct suspicion_reports *words,
                      uint32_t rank,
                      uint32_t other)
{
    return complaint_is_final(words, other, rank) ||
           (complaint_is_final(words, rank, other) &&
            words->is_heard_by_coordinator[other]);
}

/* Return whether the pair may count against rank once all have answered. */
static bool
pair_can_count_against(const struct suspicion_reports *words,
                       uint32_t rank,
                       uint32_t other)
{
    return !words->has_answered[rank] || !words->has_answered[other] ||
           pair_counts_against(words, rank, other);
}

/* Return what the pair adds to the count of rank. */
static struct suspicion_count
pair_count_contribution(const struct suspicion_reports *words,
                        uint32_t rank,
                        uint32_t other)
{
    const uint8_t out = rank_view_of(words, rank, other);
    const uint8_t in = rank_view_of(words, other, rank);

    return (struct suspicion_count){
        .n_complaints = view_is_complaint(out) || view_is_complaint(in),
        .n_pairs_against = pair_counts_against(words, rank, other),
        .n_certain_against = pair_is_final_against(words, rank, other),
        .n_possible_against = pair_can_count_against(words, rank, other),
        .n_peers_it_hears = out == VIEW_HEARD,
        .n_peers_it_cannot_hear = out > VIEW_HEARD,
        .n_peers_hearing_it = in == VIEW_HEARD,
        .n_peers_not_hearing_it = in > VIEW_HEARD,
    };
}

/* sum += times * one, modulo 2^32; times UINT32_MAX subtracts. */
static void
suspicion_count_add(struct suspicion_count *sum,
                    const struct suspicion_count *one,
                    uint32_t times)
{
    sum->n_complaints += times * one->n_complaints;
    sum->n_pairs_against += times * one->n_pairs_against;
    sum->n_certain_against += times * one->n_certain_against;
    sum->n_possible_against += times * one->n_possible_against;
    sum->n_peers_it_hears += times * one->n_peers_it_hears;
    sum->n_peers_it_cannot_hear += times * one->n_peers_it_cannot_hear;
    sum->n_peers_hearing_it += times * one->n_peers_hearing_it;
    sum->n_peers_not_hearing_it += times * one->n_peers_not_hearing_it;
}

/* Add the pairs of every rank with the ranks of the block that begins at
 * first. */
static void
suspicion_count_add_block(const struct suspicion_reports *words,
                          uint32_t first,
                          struct suspicion_count *counts)
{
    const uint32_t end =
        words->n_ranks - first < BLOCK ? words->n_ranks : first + BLOCK;

    for (uint32_t rank = 0; rank < words->n_ranks; rank++) {
        for (uint32_t other = first; other < end; other++) {
            if (other == rank || !words->is_living[other])
                continue;
            const struct suspicion_count one =
                pair_count_contribution(words, rank, other);

            suspicion_count_add(&counts[rank], &one, 1);
        }
    }
}

void
suspicion_count(const struct suspicion_reports *words,
                struct suspicion_count *counts)
{
    memset(counts, 0, words->n_ranks * sizeof(*counts));
    for (uint32_t first = 0; first < words->n_ranks; first += BLOCK)
        suspicion_count_add_block(words, first, counts);
}

void
suspicion_count_remove_rank(const struct suspicion_reports *words,
                            uint32_t gone,
                            struct suspicion_count *counts)
{
    for (uint32_t rank = 0; rank < words->n_ranks; rank++) {
        if (rank == gone)
            continue;
        const struct suspicion_count one =
            pair_count_contribution(words, rank, gone);

        suspicion_count_add(&counts[rank], &one, UINT32_MAX);
    }
}

/* A rank that is cut off hears none of its peers, or none of them hears it. */
static bool
rank_is_cut_off(const struct suspicion_count *count)
{
    return (count->n_peers_it_cannot_hear >= CUT_OFF_PEERS_MIN &&
            count->n_peers_it_hears == 0) ||
           (count->n_peers_not_hearing_it >= CUT_OFF_PEERS_MIN &&
            count->n_peers_hearing_it == 0);
}

/* How much the coordinator knows of a rank: nothing, a sign of life, or a
 * statement. A complaint proves life as well as an answer does. */
static unsigned
rank_contact_level(const struct suspicion_reports *words, uint32_t rank)
{
    return (unsigned)words->is_heard_by_coordinator[rank] +
           words->has_complained_or_answered[rank];
}

/* Return whether one is chosen over other, which is a lower rank. */
static bool
rank_is_chosen_over(const struct suspicion_reports *words,
                    const struct suspicion_count *counts,
                    uint32_t one,
                    uint32_t other)
{
    const bool is_one_off = rank_is_cut_off(&counts[one]);

    if (counts[one].n_pairs_against != counts[other].n_pairs_against)
        return counts[one].n_pairs_against > counts[other].n_pairs_against;
    if (is_one_off != rank_is_cut_off(&counts[other]))
        return is_one_off;
    return rank_contact_level(words, one) <= rank_contact_level(words, other);
}

/* Return whether all have answered, or no other rank can be in as many
 * pairs. */
static bool
lost_rank_choice_is_settled(const struct suspicion_reports *words,
                            const struct suspicion_count *counts,
                            uint32_t chosen)
{
    bool is_complete = true;
    bool is_ahead = true;

    for (uint32_t rank = 0; rank < words->n_ranks; rank++) {
        if (!words->is_living[rank])
            continue;
        is_complete &= words->has_answered[rank];
        is_ahead &= rank == chosen || counts[rank].n_possible_against <
                                          counts[chosen].n_certain_against;
    }
    return is_complete || is_ahead;
}

uint32_t
suspicion_choose_lost_rank(const struct suspicion_reports *words,
                           const struct suspicion_count *counts,
                           bool *out_is_settled)
{
    uint32_t chosen = SUSPICION_NO_RANK;

    for (uint32_t rank = 0; rank < words->n_ranks; rank++) {
        if (!words->is_living[rank] || counts[rank].n_complaints == 0)
            continue;
        if (chosen == SUSPICION_NO_RANK ||
            rank_is_chosen_over(words, counts, rank, chosen))
            chosen = rank;
    }
    *out_is_settled = chosen != SUSPICION_NO_RANK &&
                      lost_rank_choice_is_settled(words, counts, chosen);
    return chosen;
}
