/*
 * coll/retry_vote.h - survivors agree on what has become of a call
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

#ifndef COLL_RETRY_VOTE_H
#define COLL_RETRY_VOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

/* Of one rank, in the call behind those that are over. */
struct retry_vote {
    uint64_t n_calls;         /* that are over */
    enum hoop_status outcome; /* of the last of them, if there is one */
    enum retry_vote_work {
        RETRY_VOTE_UNFINISHED,
        RETRY_VOTE_FINISHED, /* all data are there */
    } work;
    bool is_rootless; /* its root is lost: it cannot be made again */
};

/* What is said, and what all have said together. */
struct retry_vote_word {
    uint64_t flags;
    uint64_t least;
};

struct retry_vote_word
retry_vote_word(const struct retry_vote *retry_vote);

struct retry_vote_result {
    enum retry_vote_decision {
        RETRY_VOTE_OVER,  /* the call has ended, with outcome */
        RETRY_VOTE_AGAIN, /* it must be done again */
    } decision;
    enum hoop_status outcome;
    uint64_t n_over;   /* calls; at least this one where it is over */
    bool is_next_over; /* the one behind these, too: it has no root */
};

/* word: of all survivors, of whom this rank is one. */
struct retry_vote_result
retry_vote_decide(const struct retry_vote *retry_vote,
                  struct retry_vote_word word);

#endif
