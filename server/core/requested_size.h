/*
 * core/requested_size.h - the size of a job's world, as its workers request it
 *
 * A request of one worker counts for the whole job, and no two workers may
 * contradict each other. What no worker requests is taken from the
 * coordinator's options.
 */

#ifndef CORE_REQUESTED_SIZE_H
#define CORE_REQUESTED_SIZE_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"
#include "core/member.h"

struct cluster;
struct job;

/* A requested value and the worker that requested it. Zeroed: not requested. */
struct requested_size {
    uint32_t value;
    struct member_label source;
};

/* Return the largest size of the world; 0: not known. */
uint32_t
job_max_world_size(const struct cluster *cluster, const struct job *job);

/* Return the smallest size; equal to job_max_world_size() if no smaller world
 * is allowed. */
uint32_t
job_min_world_size(const struct cluster *cluster, const struct job *job);

/* Return how long no worker must have come before a smaller world forms. */
uint64_t
job_settle_time_ns(const struct cluster *cluster, const struct job *job);

/*
 * Check that a join agrees with the members that wait already.
 * Handle: HOOP_E_PRECONDITION (the text names both workers).
 */
enum hoop_status
requested_size_check_join(const struct cluster *cluster,
                          const struct job *job,
                          const struct cluster_join *join);

/* Take over the requests of a member that has joined. */
void
requested_size_add_member(struct job *job, const struct member *member);

/*
 * Drop the requests of a member that has been removed from the job. A value
 * that only this member requested is dropped too, unless the remaining members
 * would then not fit.
 */
void
requested_size_remove_member(const struct cluster *cluster,
                             struct job *job,
                             const struct member *gone);

#endif
