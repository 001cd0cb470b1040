/*
 * core/activity.h - what each member of a job is in, when an operator asks
 *
 * All members are asked through the watches that they keep parked, and answer with
 * a renewal. Whoever has asked is answered when all have, or at the latest after
 * ACTIVITY_MS, with the reason for which a member has told nothing. Nobody is lost
 * for that.
 */

#ifndef CORE_ACTIVITY_H
#define CORE_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct member;
struct rank_answer;
struct waiter;

/* Of a job. Zeroed: nobody has asked. */
struct activities {
    uint64_t query;              /* the last ... */
    uint64_t asked_ns;           /* ... and when it was asked */
    struct rank_answer *answers; /* [size] to it; NULL: nobody waits for them */
};

/* Whether job has ranks, and not too many to ask them. */
bool
activities_may_ask(const struct job *job);

/* Park CLUSTER_JOB, and ask all members unless they are asked already. */
enum hoop_status
activities_ask(struct cluster *cluster,
               struct job *job,
               const struct cluster_event *event);

/* What members are asked now; 0: nobody waits for it. */
uint64_t
activities_query(const struct job *job);

/* member says what it is in. What answers no open query is passed over. */
void
activities_answer(struct cluster *cluster,
                  const struct member *member,
                  const struct cluster_renewal *call);

/* At the end of a step: those who have asked are answered if nobody is left who may
 * tell more; if nobody waits any more, the members are asked no longer. */
void
activities_settle(struct cluster *cluster, struct job *job);

/* The time of waiter, who has asked, is up, or that of all: what is known by now will
 * do. */
void
activities_expire(struct cluster *cluster, struct waiter *waiter);

/* Forget the answers, when job ends. */
void
activities_deinit(struct job *job);

#endif
