/*
 * core/suspicion_rule.h - which rank is lost, by what all ranks say of each other
 *
 * Ranks complain of others that they do not hear any more. Two that are cut off
 * from each other both do, so a complaint is held against both: the rank that is
 * in most such pairs goes, whether others complain of it or it alone complains of
 * them. docs/failure.md has the rule in words. Pure functions, no state.
 */

#ifndef CORE_SUSPICION_RULE_H
#define CORE_SUSPICION_RULE_H

#include <stdbool.h>
#include <stdint.h>

static const uint32_t SUSPICION_NOBODY = UINT32_MAX;

struct suspicion_words {
    uint32_t n_ranks;
    /* [who speaks * n_ranks + of whom]: enum evidence_view. */
    const uint8_t *views;
    const bool *is_living;    /* [rank]: neither lost nor gone */
    const bool *is_heard;     /* [rank]: the coordinator has heard it since the
                                 first complaint */
    const bool *has_answered; /* [rank]: ... and it said whom it hears: what is
                                 still missing is the word of the others */
    const bool *has_spoken;   /* [rank]: ... and it complained or answered */
};

/* What is said among the living of one of them: pairs that it is in, and others
 * to whom that applies. */
struct suspicion_count {
    uint32_t n_complaints; /* pairs of which one complains */
    uint32_t n_pairs;      /* ... that count against it */
    uint32_t n_sure;       /* ... whatever those say that have not answered */
    uint32_t n_possible;   /* that may count once they have */
    uint32_t n_hears, n_deaf; /* others that it hears, or not any more */
    uint32_t n_heard, n_mute; /* ... that hear it */
};

/* Fill in counts, [rank]; takes the square of their number of steps. */
void
suspicion_count(const struct suspicion_words *words,
                struct suspicion_count *counts);

/* gone, which is_living says no more, was counted: as if all were counted anew,
 * in as many steps as there are ranks. */
void
suspicion_discount(const struct suspicion_words *words,
                   uint32_t gone,
                   struct suspicion_count *counts);

/*
 * The next one to go, in as many steps as there are ranks; SUSPICION_NOBODY where no living rank complains of a living
 * one. *out_is_settled: whatever those say that have not answered, it stays the
 * same. Of those in a pair, in this order:
 *   1. who is in most pairs. A pair counts against whoever is complained of, and
 *      against who complains only while the coordinator hears the other one;
 *   2. whom none of its peers hears, or who hears none, of at least two;
 *   3. whom the coordinator has not heard, then who has neither complained nor
 *      answered it;
 *   4. the higher rank.
 */
uint32_t
suspicion_choose(const struct suspicion_words *words,
                 const struct suspicion_count *counts,
                 bool *out_is_settled);

#endif
