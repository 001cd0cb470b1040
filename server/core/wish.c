/* core/wish.c - how large the world of a job is to be, and who says so */

#include "core/wish.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/state.h"

static uint32_t
wish_said(const struct job *job, enum member_wish wish)
{
    return job->wishes[wish].value;
}

uint32_t
wish_size(const struct cluster *cluster, const struct job *job)
{
    const uint32_t said = wish_said(job, MEMBER_WISH_SIZE);

    if (said)
        return said;
    if (cluster->world_size)
        return cluster->world_size;
    return wish_said(job, MEMBER_WISH_SIZE_MIN) ? LIMIT_RANKS : 0;
}

uint32_t
wish_size_min(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size = wish_size(cluster, job);
    uint32_t size_min = wish_said(job, MEMBER_WISH_SIZE_MIN);

    if (!size_min && !wish_said(job, MEMBER_WISH_SIZE))
        size_min = cluster->size_min;
    return size_min && size_min < size ? size_min : size;
}

uint64_t
wish_settle_ns(const struct cluster *cluster, const struct job *job)
{
    const uint32_t said = wish_said(job, MEMBER_WISH_SETTLE);

    return (said ? said : cluster->settle_ms) * CLOCK_NS_PER_MS;
}

static enum hoop_status
wish_compare(const struct job *job, enum member_wish wish, uint32_t value)
{
    static const char *const names[] = {
        [MEMBER_WISH_SIZE] = "world size",
        [MEMBER_WISH_SIZE_MIN] = "smallest world size",
        [MEMBER_WISH_SETTLE] = "settle time in ms",
    };
    const uint32_t said = wish_said(job, wish);

    if (!value || !said || value == said)
        return HOOP_OK;
    return error_raise(HOOP_E_PRECONDITION,
                       "this worker says that the %s of job \"%s\" is %u, but "
                       "%s said %u: use one value for all workers",
                       names[wish], job->name, value,
                       job->wishes[wish].sayer.text, said);
}

/* Those who came before the size was known may not fit into it. */
static enum hoop_status
wish_fits(const struct job *job, uint32_t size)
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
wish_check(const struct cluster *cluster,
           const struct job *job,
           const struct cluster_join *join)
{
    const uint32_t wishes[MEMBER_N_WISHES] = {
        [MEMBER_WISH_SIZE] = join->world_size,
        [MEMBER_WISH_SIZE_MIN] = join->size_min,
        [MEMBER_WISH_SETTLE] = join->settle_ms,
    };

    for (unsigned int wish = 0; wish < MEMBER_N_WISHES; wish++) {
        const enum hoop_status status =
            wish_compare(job, (enum member_wish)wish, wishes[wish]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (join->world_size && join->world_size != wish_size(cluster, job))
        return wish_fits(job, join->world_size);
    return HOOP_OK;
}

static void
wish_take(struct job *job, const struct member *member, enum member_wish wish)
{
    struct wish *taken = &job->wishes[wish];

    if (taken->value || !member->wishes[wish])
        return;
    taken->value = member->wishes[wish];
    taken->sayer = member_label(member);
}

void
wish_add(struct job *job, const struct member *member)
{
    for (unsigned int wish = 0; wish < MEMBER_N_WISHES; wish++)
        wish_take(job, member, (enum member_wish)wish);
}

static void
wish_forget(const struct cluster *cluster,
            struct job *job,
            enum member_wish wish)
{
    const struct wish former = job->wishes[wish];
    const struct member *member = NULL;

    job->wishes[wish] = (struct wish){0};
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        wish_take(job, member, wish);
        if (job->wishes[wish].value)
            return;
    }

    const uint32_t size = wish_size(cluster, job);

    if (size && wish_fits(job, size) != HOOP_OK)
        job->wishes[wish] = former;
}

void
wish_remove(const struct cluster *cluster,
            struct job *job,
            const struct member *gone)
{
    for (unsigned int wish = 0; wish < MEMBER_N_WISHES; wish++)
        if (gone->wishes[wish])
            wish_forget(cluster, job, (enum member_wish)wish);
}
