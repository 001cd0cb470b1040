/* coll/ballot.c - survivors agree on what has become of a call */

#include "coll/ballot.h"

#include <assert.h>

enum {
    PHASES = 3,
    UNFINISHED_BIT = PHASES,
    ROOTLESS_FIRST, /* a bit for each phase, too */
    /* A field for each phase: how the call of it has ended. */
    OUTCOME_FIRST = 8,
    OUTCOME_BITS = 8,
    OUTCOME_MASK = (1 << OUTCOME_BITS) - 1,
};

static unsigned
outcome_shift(uint64_t call)
{
    return OUTCOME_FIRST + OUTCOME_BITS * (unsigned)(call % PHASES);
}

uint64_t
ballot_flags(const struct ballot *ballot)
{
    const uint64_t call = ballot->n_calls + 1;
    uint64_t flags = UINT64_MAX;

    assert((unsigned)ballot->outcome < OUTCOME_MASK);
    flags &= ~((uint64_t)1 << (call % PHASES));
    if (ballot->work == BALLOT_UNFINISHED)
        flags &= ~((uint64_t)1 << UNFINISHED_BIT);
    if (ballot->is_rootless)
        flags &= ~((uint64_t)1 << (ROOTLESS_FIRST + call % PHASES));
    if (ballot->n_calls > 0) {
        const unsigned shift = outcome_shift(ballot->n_calls);

        flags &= ~((uint64_t)OUTCOME_MASK << shift);
        flags |= (uint64_t)ballot->outcome << shift;
    }
    return flags;
}

static bool
is_said(uint64_t flags, uint64_t bit)
{
    return !(flags >> bit & 1);
}

enum ballot_verdict
ballot_decide(const struct ballot *ballot,
              uint64_t flags,
              enum hoop_status *out_outcome)
{
    const uint64_t call = ballot->n_calls + 1;

    if (is_said(flags, (call + 1) % PHASES)) {
        *out_outcome =
            (enum hoop_status)(flags >> outcome_shift(call) & OUTCOME_MASK);
        return is_said(flags, ROOTLESS_FIRST + (call + 1) % PHASES)
                   ? BALLOT_OVER_NEXT
                   : BALLOT_OVER;
    }
    /* Somebody is in the call before: this one has only been begun. */
    if (is_said(flags, (call + 2) % PHASES) || is_said(flags, UNFINISHED_BIT))
        return BALLOT_AGAIN;
    *out_outcome = HOOP_OK;
    return BALLOT_OVER;
}
