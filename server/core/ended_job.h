/*
 * core/ended_job.h - the jobs that ended last
 *
 * A name is free again when its job has ended. A ring remembers the last ended
 * jobs: operators see them, and a late worker is told that the others were here
 * and gave up.
 */

#ifndef CORE_ENDED_JOB_H
#define CORE_ENDED_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

struct ended_job {
    char name[LIMIT_NAME];
    uint64_t when_ns;
    uint64_t epoch; /* epoch of the world; 0: it never formed */
    uint32_t size;  /* size of the world; requested size if it never formed */
    uint32_t n_joined;
    uint32_t n_left;
    uint32_t n_lost;
};

/* A zeroed ring is empty. */
struct ended_jobs {
    struct ended_job ring[LIMIT_ENDED_JOBS];
    size_t n_added;
};

void
ended_jobs_add(struct ended_jobs *ended_jobs,
               const struct ended_job *ended_job);

/* Return how many jobs are remembered. */
size_t
ended_jobs_count(const struct ended_jobs *ended_jobs);

/* Return a remembered job; index 0 is the one that ended last. */
const struct ended_job *
ended_jobs_at(const struct ended_jobs *ended_jobs, size_t index);

/* Return the job of this name that ended last, or NULL. */
const struct ended_job *
ended_jobs_find(const struct ended_jobs *ended_jobs, const char *name);

#endif
