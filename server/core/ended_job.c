/* core/ended_job.c - a ring of the jobs that ended last */

#include "core/ended_job.h"

#include <assert.h>
#include <string.h>

void
ended_jobs_add(struct ended_jobs *ended_jobs, const struct ended_job *ended_job)
{
    ended_jobs->ring[ended_jobs->n_added % LIMIT_ENDED_JOBS] = *ended_job;
    ended_jobs->n_added++;
}

size_t
ended_jobs_count(const struct ended_jobs *ended_jobs)
{
    return ended_jobs->n_added < LIMIT_ENDED_JOBS ? ended_jobs->n_added
                                                  : LIMIT_ENDED_JOBS;
}

const struct ended_job *
ended_jobs_at(const struct ended_jobs *ended_jobs, size_t index)
{
    assert(index < ended_jobs_count(ended_jobs));
    return &ended_jobs
                ->ring[(ended_jobs->n_added - 1 - index) % LIMIT_ENDED_JOBS];
}

const struct ended_job *
ended_jobs_find(const struct ended_jobs *ended_jobs, const char *name)
{
    for (size_t i = 0; i < ended_jobs_count(ended_jobs); i++)
        if (strcmp(ended_jobs_at(ended_jobs, i)->name, name) == 0)
            return ended_jobs_at(ended_jobs, i);
    return NULL;
}
