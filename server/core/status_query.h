/* core/status_query.h - jobs and members as operators see them */

#ifndef CORE_STATUS_QUERY_H
#define CORE_STATUS_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "core/event.h"

struct cluster;
struct cluster_reply;
struct job;

/* Fill in reply with the job that present is a world of. The members are
 * those of present; everything else is the root job's if present has formed.
 * Activities are left out. */
void
status_query_fill_reply(struct cluster *cluster,
                        struct job *present,
                        enum cluster_job_view view,
                        struct cluster_reply *reply);

/*
 * An operator's request asks all members of the job. The question goes out
 * through the watches that the members keep parked; a member answers with a
 * renewal. The operator is answered when all members have answered, at the
 * latest after ACTIVITY_QUERY_TIMEOUT_MS; the reply says why a member has not
 * answered. A member that does not answer is not declared lost for that.
 */

struct cluster;
struct job;
struct member;
struct activity_answer;
struct waiter;

/* The open query of a job. Zeroed: no query has been made. */
struct activities {
    uint64_t query;                  /* number of the last query */
    uint64_t query_started_ns;       /* when the last query was made */
    uint64_t announced;              /* number of the last query that parked
                                        watches were told */
    struct activity_answer *answers; /* [size], the answers; NULL: no query is
                                    open */
};

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

/*
 * Say why a world has not formed: "job "a" has not formed before a join
 * deadline: 3 of 4 have joined: rank 0 (host:pid), ...; missing: rank 3".
 */
struct text_buffer
roster_text_summary(const struct cluster *cluster, const struct job *job);

#endif
