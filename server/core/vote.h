/*
 * core/vote.h - members of a communicator decide together, whoever is lost
 *
 * Each brings what it has to say; when all have come that are still there, one
 * outcome is made of what they said, and told to all alike. Who ends or leaves
 * the communicator meanwhile is not waited for, and what it said does not
 * count. Nobody but the coordinator says who that is, so that all hear of the
 * same survivors.
 *
 * Councils of one kind on one communicator follow one another in turns. Who
 * asks for a turn has heard the outcome of the one before: so two are kept at
 * most, the last outcome for those whose answer was lost, and what is gathered.
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

/* A member's place in a vote. */
struct voter {
    struct vote *vote;
    struct member *member;
    struct waiter *waiter; /* its call, while others are missing; or NULL */
    bool has_come;         /* in this turn; also when its call was cut off */
    uint64_t flags;
    uint64_t least;
    uint64_t number; /* SHRINK: what it calls the new communicator */
};

struct vote_key {
    uint64_t communicator;
    uint64_t kind;
};

struct vote {
    struct vote_key key;
    struct job *job;
    struct group *group; /* NULL: the world's */
    uint64_t turn;       /* that is being gathered */
    uint64_t told;       /* the turn of the outcome; 0: there is none */
    struct cluster_outcome outcome;
    uint32_t *ranks; /* the outcome's, room for all */
    UT_hash_handle hh;
    uint32_t n_voters;
    struct voter slots[]; /* as the communicator's ranks */
};

/* An outcome that was told before the coordinator ended. */
struct vote_recovered {
    struct vote_key key;
    uint64_t told;
    struct cluster_outcome outcome; /* its ranks are copied */
};

/* Handle: HOOP_E_DATA_LOSS (there cannot be such a vote). */
enum hoop_status
vote_recover(struct job *job, const struct vote_recovered *former);

/* Answer, or park, CLUSTER_VOTE. */
enum hoop_status
vote_join(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event);

/* A call was parked until now: others are missing still. */
void
vote_expire(struct cluster *cluster, struct waiter *waiter);

/* member has ended, or has left a communicator. */
void
votes_remove_member(struct cluster *cluster, const struct member *member);

/* Whether a call of member's waits, of number, which may be CLUSTER_NUMBER_ANY; and
 * if one does, for whom. */
bool
votes_pending(const struct member *member,
              uint64_t number,
              struct cluster_pending *out_pending,
              struct text_buffer *out_missing);

/* member gives up what it would call number. */
void
votes_withdraw(struct cluster *cluster,
               const struct member *member,
               uint64_t number);

/* group has no members any more. */
void
votes_close(struct cluster *cluster, const struct group *group);

/* Those of a job that is destroyed. */
void
votes_destroy(struct job *job);

#endif
