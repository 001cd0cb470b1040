/*
 * core/ended_job.h - jobs that were
 *
 * A name is free again when its job has ended. That the last jobs were is
 * remembered in a ring: for operators, and to tell a late worker that the
 * others have been here and given up.
 */

#ifndef CORE_ENDED_JOB_H
#define CORE_ENDED_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct ended_job {
    char name[LIMIT_NAME];
    uint64_t when_ns;
    uint64_t epoch; /* of its world; 0: it never formed */
    uint32_t size;  /* of the world, formed or not */
    uint32_t n_joined;
    uint32_t n_left;
    uint32_t n_lost;
};

/* Zeroed: none. */
struct ended_jobs {
    struct ended_job ring[LIMIT_ENDED_JOBS];
    size_t n_added;
};

void
ended_jobs_add(struct ended_jobs *ended_jobs,
               const struct ended_job *ended_job);

/* How many are remembered. */
size_t
ended_jobs_count(const struct ended_jobs *ended_jobs);

/* 0 is the last one. */
const struct ended_job *
ended_jobs_at(const struct ended_jobs *ended_jobs, size_t index);

/* The last of this name, or NULL. */
const struct ended_job *
ended_jobs_find(const struct ended_jobs *ended_jobs, const char *name);

#endif
