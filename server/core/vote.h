/*
 * core/vote.h - a collective decision of the surviving members of a
 * communicator
 *
 * Each member contributes values. When all members that are still there have
 * called, one outcome is computed from their values and told to all of them.
 * The vote does not wait for a member that ends or leaves the communicator
 * meanwhile, and drops its values. Only the coordinator decides who that is, so
 * all members learn of the same survivors.
 *
 * Votes of one kind on one communicator follow each other in turns. A member
 * that calls for a turn has received the outcome of the turn before. So two
 * turns are kept at most: the last outcome, for members whose reply was lost,
 * and the turn being gathered.
 */

#ifndef CORE_VOTE_H
#define CORE_VOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "hoop/status.h"

#include "core/action.h"
#include "core/event.h"

struct cluster;
struct vote;
struct group;
struct job;
struct member;
struct text_buffer;
struct waiter;

/* The state of one member in a vote. */
struct voter {
    struct vote *vote;
    struct member *member;
    struct waiter *waiter; /* its parked call, while others are missing; or
                              NULL */
    bool has_reported;     /* has called in this turn, even if its call was
                              cut off since */
    uint64_t flags;
    uint64_t least;
    uint64_t number; /* SHRINK: number of its join of the new communicator */
};

struct vote_key {
    uint64_t communicator;
    uint64_t kind;
};

struct vote {
    struct vote_key key;
    struct job *job;
    struct group *group; /* NULL: the world's communicator */
    uint64_t turn;       /* the turn that is being gathered */
    uint64_t told;       /* the turn of the outcome; 0: there is no outcome
                            yet */
    struct cluster_vote_outcome outcome;
    uint32_t *ranks; /* ranks of the outcome; room for all voters */
    UT_hash_handle hh;
    uint32_t n_voters;
    struct voter slots[]; /* in the order of the communicator */
};

/* The last outcome of a vote, read from its record. */
struct vote_recovered_outcome {
    struct vote_key key;
    uint64_t told;
    struct cluster_vote_outcome outcome; /* ranks are copied */
};

/* Restore a vote. Handle: HOOP_E_DATA_LOSS (the vote does not fit the job). */
enum hoop_status
vote_recover(struct job *job, const struct vote_recovered_outcome *former);

/* The deadline of a parked call has passed while others are missing: fail
 * it. */
void
vote_on_call_deadline(struct cluster *cluster, struct waiter *waiter);

/* Called after member has ended or left a communicator: check its votes
 * again. */
void
votes_remove_member(struct cluster *cluster, const struct member *member);

/* Return whether a vote call of member with this number waits, and if so, which
 * members it waits for. number may be CLUSTER_ANY_CALL_NUMBER. */
bool
votes_missing_members(const struct member *member,
                      uint64_t number,
                      struct cluster_missing_members *out_pending,
                      struct text_buffer *out_missing);

/* Take back member's call with this number. */
void
votes_withdraw_call(struct cluster *cluster,
                    const struct member *member,
                    uint64_t number);

/* Remove the votes of group, which has no members any more. */
void
votes_remove_of_group(struct cluster *cluster, const struct group *group);

/* Free the votes of a job that is destroyed. */
void
votes_destroy(struct job *job);

#endif
