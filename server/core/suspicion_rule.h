/*
 * core/suspicion_rule.h - choose the lost rank from what the ranks say of each
 * other
 *
 * Ranks complain of ranks they no longer hear. Two ranks that are cut off from
 * each other both complain, so a complaint counts against both: the rank that
 * is in most such pairs is chosen, whether others complain of it or it alone
 * complains of them. docs/failure.md explains the rule. Pure functions without
 * state.
 */

#ifndef CORE_SUSPICION_RULE_H
#define CORE_SUSPICION_RULE_H

#include <stdbool.h>
#include <stdint.h>

static const uint32_t SUSPICION_NO_RANK = UINT32_MAX;

struct suspicion_reports {
    uint32_t n_ranks;
    /* [rank that speaks * n_ranks + rank it is about]: enum evidence_view. */
    const uint8_t *views;
    const bool *is_living; /* [rank]: active, that is neither lost nor
                                 left */
    const bool
        *is_heard_by_coordinator; /* [rank]: the coordinator has heard from it
                                 since the first complaint */
    const bool *has_answered; /* [rank]: it has answered which ranks it hears */
    const bool
        *has_complained_or_answered; /* [rank]: it has complained or answered */
};

/* What the active ranks say about one rank: numbers of pairs that it forms with
 * others, and of others. */
struct suspicion_count {
    uint32_t n_complaints;       /* pairs in which one complains of the other */
    uint32_t n_pairs_against;    /* pairs that count against it */
    uint32_t n_certain_against;  /* pairs that count against it whatever the
                              missing answers say */
    uint32_t n_possible_against; /* pairs that count against it, or may once all
                              have answered */
    uint32_t n_peers_it_hears,
        n_peers_it_cannot_hear; /* others that it hears; others that it does
                                 not hear */
    uint32_t n_peers_hearing_it,
        n_peers_not_hearing_it; /* others that hear it; others that do not */
};

/* Fill in counts[rank] for every rank; takes time quadratic in the number of
 * ranks. */
void
suspicion_count(const struct suspicion_reports *words,
                struct suspicion_count *counts);

/* Subtract rank gone, which is_living no longer includes, from counts. The
 * result is as if all were counted again, but takes linear time. */
void
suspicion_count_remove_rank(const struct suspicion_reports *words,
                            uint32_t gone,
                            struct suspicion_count *counts);

/*
 * Choose the next rank to declare lost, in linear time; SUSPICION_NO_RANK if no
 * active rank complains of an active one. *out_is_settled: no missing answer
 * can change the choice. Among the ranks in a pair the choice is, in this
 * order:
 *
 * 1. The rank in most pairs. A pair counts against the rank that is complained
 *    of, and against the rank that complains only while the coordinator hears
 *    the other one.
 * 2. A rank that at least two peers do not hear and none hears, or that does
 *    not hear at least two peers and hears none.
 * 3. A rank that the coordinator has not heard, then one that has neither
 *    complained nor answered.
 * 4. The higher rank.
 */
uint32_t
suspicion_choose_lost_rank(const struct suspicion_reports *words,
                           const struct suspicion_count *counts,
                           bool *out_is_settled);

#endif
