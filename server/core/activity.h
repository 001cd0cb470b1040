/*
 * core/activity.h - which call each member of a job is in, for operators
 *
 * An operator's request asks all members of the job. The question goes out
 * through the watches that the members keep parked; a member answers with a
 * renewal. The operator is answered when all members have answered, at the
 * latest after ACTIVITY_MS; the reply says why a member has not answered. A
 * member that does not answer is not declared lost for that.
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
struct activity_answer;
struct waiter;

/* The open query of a job. Zeroed: no query has been made. */
struct activities {
    uint64_t query;                  /* number of the last query */
    uint64_t asked_ns;               /* when the last query was made */
    struct activity_answer *answers; /* [size], the answers; NULL: no query is
                                    open */
};

/* Return whether the job's world has formed and is small enough for a query. */
bool
activities_can_query(const struct job *job);

/* Park a CLUSTER_JOB request, and ask all members unless a query is already
 * open. */
enum hoop_status
activities_query_members(struct cluster *cluster,
                         struct job *job,
                         const struct cluster_event *event);

/* Return the number of the open query; 0: none is open. */
uint64_t
activities_query_number(const struct job *job);

/* Store a member's answer. An answer to a query that is not open is ignored. */
void
activities_store_answer(struct cluster *cluster,
                        const struct member *member,
                        const struct cluster_member_renewal *call);

/* Called at the end of a step. Answers the waiting operators if every active
 * member has answered; closes the query if no operator waits any more. */
void
activities_answer_complete(struct cluster *cluster, struct job *job);

/* The deadline of waiter, or of the whole query, has passed: answer with what
 * is known so far. */
void
activities_on_deadline(struct cluster *cluster, struct waiter *waiter);

/* Free the answers. */
void
activities_deinit(struct job *job);

#endif
