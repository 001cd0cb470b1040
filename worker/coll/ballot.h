/*
 * coll/ballot.h - survivors agree on what has become of a call
 *
 * A call that may be done again ends when each rank knows that all have finished
 * it. When a rank is lost, one survivor may know that already, and be in its
 * next call, while another does not. Further ahead are those whose calls have
 * timed out, for want of one that is late. So each says where it is and what it
 * knows: in flags, of which survivors get the bitwise and, whether they are all
 * in one call and have finished that; and in least, of which they get the least,
 * which call it is, how the one before has ended, and whether it has lost its
 * root: of the ranks that are furthest.
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

/* What is said, and what all have said together. */
struct ballot_word {
    uint64_t flags;
    uint64_t least;
};

struct ballot_word
ballot_word(const struct ballot *ballot);

struct ballot_result {
    enum ballot_verdict {
        BALLOT_OVER,  /* the call has ended, with outcome */
        BALLOT_AGAIN, /* it must be done again */
    } verdict;
    enum hoop_status outcome;
    uint64_t n_over;   /* calls; at least this one where it is over */
    bool is_next_over; /* the one behind these, too: it has no root */
};

/* word: of all survivors, of whom this rank is one. */
struct ballot_result
ballot_decide(const struct ballot *ballot, struct ballot_word word);

#endif
