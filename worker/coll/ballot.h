/*
 * coll/ballot.h - survivors agree on what has become of a call
 *
 * A call that may be done again ends when each rank knows that all have finished
 * it. When a rank is lost, one survivor may know that already, and be in its
 * next call, while another does not: never further apart, since no rank ends a
 * call that another has not begun. Each says where it is and what it knows, in
 * bits of which survivors get the bitwise and: a bit that is 0 was said by
 * somebody. Calls are counted modulo 3, which is enough to tell the next from the
 * one before.
 *
 * Who is in the next call may find that it has lost its root. Who is in the one
 * before could not know, and would make it alone, with a root of its own: so
 * both calls end for it. Pure.
 */

#ifndef COLL_BALLOT_H
#define COLL_BALLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

/* Of one rank, in the call behind those that are over. */
struct ballot {
    uint64_t n_calls;         /* that are over */
    enum hoop_status outcome; /* of the last of them, if there is one */
    enum ballot_work {
        BALLOT_UNFINISHED,
        BALLOT_FINISHED, /* all data are there */
    } work;
    bool is_rootless; /* its root is lost: it cannot be made again */
};

uint64_t
ballot_flags(const struct ballot *ballot);

enum ballot_verdict {
    BALLOT_OVER,      /* the call has ended, with *out_outcome */
    BALLOT_OVER_NEXT, /* ... and so has the next one, which has no root */
    BALLOT_AGAIN,     /* it must be done again */
};

/* flags: of all survivors, of whom this rank is one. */
enum ballot_verdict
ballot_decide(const struct ballot *ballot,
              uint64_t flags,
              enum hoop_status *out_outcome);

#endif
