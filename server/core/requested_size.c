/* core/requested_size.c - the size of a job's world, as its workers request
 * it */

#include "core/requested_size.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/state.h"

static uint32_t
requested_size_value(const struct job *job,
                     enum member_requested_value requested_size)
{
    return job->requested_sizes[requested_size].value;
}

uint32_t
job_max_world_size(const struct cluster *cluster, const struct job *job)
{
    const uint32_t said = requested_size_value(job, MEMBER_REQUEST_SIZE);

    if (said)
        return said;
    if (cluster->world_size)
        return cluster->world_size;
    return requested_size_value(job, MEMBER_REQUEST_SIZE_MIN) ? LIMIT_RANKS : 0;
}

uint32_t
job_min_world_size(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);
    uint32_t size_min = requested_size_value(job, MEMBER_REQUEST_SIZE_MIN);

    if (!size_min && !requested_size_value(job, MEMBER_REQUEST_SIZE))
        size_min = cluster->size_min;
    return size_min && size_min < size ? size_min : size;
}

uint64_t
job_settle_time_ns(const struct cluster *cluster, const struct job *job)
{
    const uint32_t said = requested_size_value(job, MEMBER_REQUEST_SETTLE);

    return (said ? said : cluster->settle_ms) * CLOCK_NS_PER_MS;
}

static enum hoop_status
requested_size_check_same(const struct job *job,
                          enum member_requested_value requested_size,
                          uint32_t value)
{
    static const char *const names[] = {
        [MEMBER_REQUEST_SIZE] = "world size",
        [MEMBER_REQUEST_SIZE_MIN] = "smallest world size",
        [MEMBER_REQUEST_SETTLE] = "settle time in ms",
    };
    const uint32_t said = requested_size_value(job, requested_size);

    if (!value || !said || value == said)
        return HOOP_OK;
    return error_raise(HOOP_E_PRECONDITION,
                       "this worker says that the %s of job \"%s\" is %u, but "
                       "%s said %u: use one value for all workers",
                       names[requested_size], job->name, value,
                       job->requested_sizes[requested_size].source.text, said);
}

/* Check that the members that joined before the size was known fit into it. */
static enum hoop_status
requested_size_check_members(const struct job *job, uint32_t size)
{
    if (job->n_members >= size)
        return error_raise(HOOP_E_PRECONDITION,
                           "this worker says that the world size of job "
                           "\"%s\" is %u, but %u workers wait in it already",
                           job->name, size, job->n_members);
    for (const struct member *member = job->requests; member;
         member = member->hh_rank.next)
        if (member->rank >= size)
            return error_raise(HOOP_E_PRECONDITION,
                               "this worker says that the world size of job "
                               "\"%s\" is %u, but %s waits in it already",
                               job->name, size, member_label(member).text);
    return HOOP_OK;
}

enum hoop_status
requested_size_check_join(const struct cluster *cluster,
                          const struct job *job,
                          const struct cluster_join *join)
{
    const uint32_t requested_sizes[MEMBER_N_REQUESTS] = {
        [MEMBER_REQUEST_SIZE] = join->world_size,
        [MEMBER_REQUEST_SIZE_MIN] = join->size_min,
        [MEMBER_REQUEST_SETTLE] = join->settle_ms,
    };

    for (unsigned int requested_size = 0; requested_size < MEMBER_N_REQUESTS;
         requested_size++) {
        const enum hoop_status status = requested_size_check_same(
            job, (enum member_requested_value)requested_size,
            requested_sizes[requested_size]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (join->world_size &&
        join->world_size != job_max_world_size(cluster, job))
        return requested_size_check_members(job, join->world_size);
    return HOOP_OK;
}

static void
requested_size_adopt(struct job *job,
                     const struct member *member,
                     enum member_requested_value requested_size)
{
    struct requested_size *taken = &job->requested_sizes[requested_size];

    if (taken->value || !member->requested_sizes[requested_size])
        return;
    taken->value = member->requested_sizes[requested_size];
    taken->source = member_label(member);
}

void
requested_size_add_member(struct job *job, const struct member *member)
{
    for (unsigned int requested_size = 0; requested_size < MEMBER_N_REQUESTS;
         requested_size++)
        requested_size_adopt(job, member,
                             (enum member_requested_value)requested_size);
}

static void
requested_size_recompute(const struct cluster *cluster,
                         struct job *job,
                         enum member_requested_value requested_size)
{
    const struct requested_size former = job->requested_sizes[requested_size];
    const struct member *member = NULL;

    job->requested_sizes[requested_size] = (struct requested_size){0};
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        requested_size_adopt(job, member, requested_size);
        if (job->requested_sizes[requested_size].value)
            return;
    }

    const uint32_t size = job_max_world_size(cluster, job);

    if (size && requested_size_check_members(job, size) != HOOP_OK)
        job->requested_sizes[requested_size] = former;
}

void
requested_size_remove_member(const struct cluster *cluster,
                             struct job *job,
                             const struct member *gone)
{
    for (unsigned int requested_size = 0; requested_size < MEMBER_N_REQUESTS;
         requested_size++)
        if (gone->requested_sizes[requested_size])
            requested_size_recompute(
                cluster, job, (enum member_requested_value)requested_size);
}
