/*
 * core/requested_size.h - how large the world of a job is to be
 *
 * What a worker says counts for its job, and two workers must not contradict
 * each other; what none of them says comes from the coordinator's options.
 */

#ifndef CORE_REQUESTED_SIZE_H
#define CORE_REQUESTED_SIZE_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"
#include "core/member.h"

struct cluster;
struct job;

/* Zeroed: nobody said it. */
struct requested_size {
    uint32_t value;
    struct member_label source;
};

/* The largest world; 0: nobody said. */
uint32_t
requested_size_max(const struct cluster *cluster, const struct job *job);

/* The smallest one; requested_size_max() if there is no choice. */
uint32_t
requested_size_min(const struct cluster *cluster, const struct job *job);

/* How long nobody new must have come before a smaller world forms. */
uint64_t
requested_settle_ns(const struct cluster *cluster, const struct job *job);

/*
 * Does a join agree with the members that are there already?
 * Handle: HOOP_E_PRECONDITION (both sides are named).
 */
enum hoop_status
requested_size_check(const struct cluster *cluster,
                     const struct job *job,
                     const struct cluster_join *join);

/* A member has come. */
void
requested_size_add(struct job *job, const struct member *member);

/*
 * A member has gone, it is no longer in the job. What only it said is no
 * longer said, unless those who are there would not fit any more.
 */
void
requested_size_remove(const struct cluster *cluster,
                      struct job *job,
                      const struct member *gone);

#endif
