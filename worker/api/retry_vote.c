/* api/retry_vote.c - how survivors agree on the outcome of a call */

#include "api/retry_vote.h"

#include <assert.h>

enum {
    /* The layout of flags: one bit; the number of calls that have ended; and
     * the same number inverted. The bitwise and clears, in the number or in its
     * inverse, each bit in which ranks differ. */
    UNFINISHED_BIT = 0,
    NUMBER_FIRST = 1,
    INVERSE_FIRST = 32,
    NUMBER_BITS = 31,
    /* The layout of least. The ranks furthest ahead have the smallest value. */
    OUTCOME_FIRST = 1,
    OUTCOME_BITS = 8,
    CALLS_FIRST = OUTCOME_FIRST + OUTCOME_BITS,
};

static const uint64_t NUMBER_MASK = ((uint64_t)1 << NUMBER_BITS) - 1;
static const uint64_t OUTCOME_MASK = ((uint64_t)1 << OUTCOME_BITS) - 1;
static const uint64_t CALLS_MAX = UINT64_MAX >> CALLS_FIRST;

struct retry_vote_word
retry_vote_word(const struct retry_vote *retry_vote)
{
    const uint64_t outcome =
        retry_vote->n_calls > 0 ? (uint64_t)retry_vote->outcome : 0;

    assert(outcome <= OUTCOME_MASK && retry_vote->n_calls < CALLS_MAX);
    return (struct retry_vote_word){
        .flags = (uint64_t)(retry_vote->work == RETRY_VOTE_FINISHED)
                     << UNFINISHED_BIT |
                 (retry_vote->n_calls & NUMBER_MASK) << NUMBER_FIRST |
                 (~retry_vote->n_calls & NUMBER_MASK) << INVERSE_FIRST,
        .least = (CALLS_MAX - retry_vote->n_calls) << CALLS_FIRST |
                 outcome << OUTCOME_FIRST | !retry_vote->is_rootless,
    };
}

/* Whether all ranks are in the same call and have finished it. */
static bool
vote_all_finished(uint64_t flags)
{
    const uint64_t alike = flags >> NUMBER_FIRST | flags >> INVERSE_FIRST;

    return (flags >> UNFINISHED_BIT & 1) &&
           (alike & NUMBER_MASK) == NUMBER_MASK;
}

struct retry_vote_result
retry_vote_decide(const struct retry_vote *retry_vote,
                  struct retry_vote_word word)
{
    const uint64_t n_furthest = CALLS_MAX - (word.least >> CALLS_FIRST);
    struct retry_vote_result result = {.decision = RETRY_VOTE_OVER,
                                       .n_over = n_furthest};

    if (n_furthest > retry_vote->n_calls) {
        /* If this rank is behind by more than one call, nobody tells how the
         * first of them ended. The calls after it could not succeed without
         * this rank. */
        result.outcome =
            n_furthest == retry_vote->n_calls + 1
                ? (enum hoop_status)(word.least >> OUTCOME_FIRST & OUTCOME_MASK)
                : HOOP_E_TIMEOUT;
        result.is_next_over = !(word.least & 1);
        return result;
    }
    if (vote_all_finished(word.flags))
        result.n_over++;
    else
        result.decision = RETRY_VOTE_AGAIN;
    return result;
}
