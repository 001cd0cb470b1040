/* core/suspicion_rule.c - which rank is lost, by what all say of each other */

#include "core/suspicion_rule.h"

#include "base/evidence.h"

enum {
    PEERS_MIN = 2, /* of whom a rank that is cut off hears none */
};

static uint8_t
view(const struct suspicion_words *words, uint32_t from, uint32_t of)
{
    return words->views[(uint64_t)from * words->n_ranks + of];
}

/* Whether their pair counts against rank. */
static bool
counts_against(const struct suspicion_words *words,
               uint32_t rank,
               uint32_t other)
{
    return view_complains(view(words, other, rank)) ||
           (view_complains(view(words, rank, other)) && words->is_heard[other]);
}

/* Nobody takes that back: a connection that broke stays so. */
static bool
complains_surely(const struct suspicion_words *words,
                 uint32_t from,
                 uint32_t of)
{
    const uint8_t said = view(words, from, of);

    return said == VIEW_BROKEN ||
           (view_complains(said) && words->has_answered[from]);
}

static bool
surely_counts_against(const struct suspicion_words *words,
                      uint32_t rank,
                      uint32_t other)
{
    return complains_surely(words, other, rank) ||
           (complains_surely(words, rank, other) && words->is_heard[other]);
}

/* Whether it may count against rank once those have answered that have not. */
static bool
may_count_against(const struct suspicion_words *words,
                  uint32_t rank,
                  uint32_t other)
{
    return !words->has_answered[rank] || !words->has_answered[other] ||
           counts_against(words, rank, other);
}

static uint32_t
pairs_count(const struct suspicion_words *words,
            uint32_t rank,
            bool (*counts)(const struct suspicion_words *, uint32_t, uint32_t))
{
    uint32_t n_pairs = 0;

    for (uint32_t other = 0; other < words->n_ranks; other++)
        n_pairs += other != rank && words->is_living[other] &&
                   counts(words, rank, other);
    return n_pairs;
}

/* A living rank complains of it, or it of a living one. */
static bool
is_in_a_pair(const struct suspicion_words *words, uint32_t rank)
{
    for (uint32_t other = 0; other < words->n_ranks; other++) {
        if (other != rank && words->is_living[other] &&
            (view_complains(view(words, rank, other)) ||
             view_complains(view(words, other, rank))))
            return true;
    }
    return false;
}

/* Who is connected says the same of all: nothing comes through. */
static bool
is_cut_off(const struct suspicion_words *words, uint32_t rank)
{
    uint32_t n_deaf = 0;
    uint32_t n_mute = 0;
    bool hears = false;
    bool is_heard = false;

    for (uint32_t other = 0; other < words->n_ranks; other++) {
        if (other == rank || !words->is_living[other])
            continue;
        const uint8_t out = view(words, rank, other);
        const uint8_t in = view(words, other, rank);

        n_deaf += out > VIEW_HEARD;
        n_mute += in > VIEW_HEARD;
        hears |= out == VIEW_HEARD;
        is_heard |= in == VIEW_HEARD;
    }
    return (n_deaf >= PEERS_MIN && !hears) ||
           (n_mute >= PEERS_MIN && !is_heard);
}

/* How much the coordinator has heard of it: nothing, a sign, its answer. */
static unsigned
contact_of(const struct suspicion_words *words, uint32_t rank)
{
    return (unsigned)words->is_heard[rank] + words->has_answered[rank];
}

/* Whether one goes rather than other. */
static bool
goes_rather(const struct suspicion_words *words, uint32_t one, uint32_t other)
{
    const uint32_t n_one = pairs_count(words, one, counts_against);
    const uint32_t n_other = pairs_count(words, other, counts_against);
    const bool is_one_off = is_cut_off(words, one);

    if (n_one != n_other)
        return n_one > n_other;
    if (is_one_off != is_cut_off(words, other))
        return is_one_off;
    if (contact_of(words, one) != contact_of(words, other))
        return contact_of(words, one) < contact_of(words, other);
    return one > other;
}

/* All have answered, or nobody else can be in as many pairs. */
static bool
is_settled(const struct suspicion_words *words, uint32_t chosen)
{
    const uint32_t n_pairs = pairs_count(words, chosen, surely_counts_against);
    bool is_complete = true;
    bool is_ahead = true;

    for (uint32_t rank = 0; rank < words->n_ranks; rank++) {
        if (!words->is_living[rank])
            continue;
        is_complete &= words->has_answered[rank];
        is_ahead &= rank == chosen ||
                    pairs_count(words, rank, may_count_against) < n_pairs;
    }
    return is_complete || is_ahead;
}

uint32_t
suspicion_choose(const struct suspicion_words *words, bool *out_is_settled)
{
    uint32_t chosen = SUSPICION_NOBODY;

    for (uint32_t rank = 0; rank < words->n_ranks; rank++) {
        if (!words->is_living[rank] || !is_in_a_pair(words, rank))
            continue;
        if (chosen == SUSPICION_NOBODY || goes_rather(words, rank, chosen))
            chosen = rank;
    }
    *out_is_settled = chosen != SUSPICION_NOBODY && is_settled(words, chosen);
    return chosen;
}
