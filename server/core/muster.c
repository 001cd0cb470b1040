/* core/muster.c - who has not been heard of since the coordinator came back */

#include "core/muster.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/chronicle.h"
#include "core/job.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/state.h"

enum {
    /* On top of a lease: for workers to notice that we are back. */
    GRACE_MS = 2000,
    /* From a sign to its record: those of many go together. */
    GATHER_MS = 50,
};

static uint64_t
part_ns(const struct cluster *cluster)
{
    return (cluster->lease_ms + GRACE_MS) * CLOCK_NS_PER_MS / MUSTER_PARTS;
}

/* What is left, but never nothing: whoever is there must be able to say so. */
static uint64_t
end_ns(const struct cluster *cluster, uint8_t n_passed)
{
    const uint64_t n_left =
        n_passed < MUSTER_PARTS ? (uint64_t)MUSTER_PARTS - n_passed : 1;

    return cluster->now_ns + n_left * part_ns(cluster);
}

static bool
is_awaited(const struct member *member)
{
    return member->is_awaited && member->state == CLUSTER_MEMBER_ACTIVE;
}

void
muster_begin(struct cluster *cluster, struct job *job)
{
    struct muster *muster = &job->muster;
    struct member *member = NULL;

    if (job->state == CLUSTER_JOB_FORMING)
        agenda_set(&cluster->agenda, &job->grace,
                   end_ns(cluster, muster->n_parts));
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (member->state != CLUSTER_MEMBER_ACTIVE)
            continue;
        member->is_awaited = true;
        member->renewed_ns = cluster->now_ns;
        agenda_set(&cluster->agenda, &member->lease,
                   end_ns(cluster, member->n_parts));
    }
    muster->entry.kind = AGENDA_MUSTER;
    muster->part_ends_ns = cluster->now_ns + part_ns(cluster);
    agenda_set(&cluster->agenda, &muster->entry, muster->part_ends_ns);
}

void
muster_notice(struct cluster *cluster, struct member *member)
{
    struct muster *muster = &member->job->muster;
    const uint64_t soon_ns = cluster->now_ns + GATHER_MS * CLOCK_NS_PER_MS;

    if (!member->is_awaited)
        return;
    member->is_awaited = false;
    if (member->n_parts > 0 && muster->entry.place &&
        soon_ns < muster->entry.deadline_ns)
        agenda_set(&cluster->agenda, &muster->entry, soon_ns);
}

/* Whether somebody is left. */
static bool
part_count(struct job *job, bool has_passed)
{
    struct member *member = NULL;
    bool is_somebody_left = job->grace.place != 0;

    if (has_passed && job->muster.n_parts < MUSTER_PARTS)
        job->muster.n_parts++;
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (!is_awaited(member))
            member->n_parts = 0;
        else if (has_passed && member->n_parts < MUSTER_PARTS)
            member->n_parts++;
        is_somebody_left |= is_awaited(member);
    }
    return is_somebody_left;
}

static void
record_write(struct cluster *cluster, const struct job *job)
{
    const size_t n_bytes = job->ranks ? job->size : 1;
    CLEANUP(free) uint8_t *n_parts = memory_create(n_bytes, 1);

    n_parts[0] = job->muster.n_parts;
    for (uint32_t rank = 0; job->ranks && rank < job->size; rank++)
        n_parts[rank] = job->ranks[rank]->n_parts;
    chronicle_write_muster(cluster, job, n_parts, n_bytes);
}

void
muster_end(struct cluster *cluster, struct job *job)
{
    struct muster *muster = &job->muster;

    agenda_remove(&cluster->agenda, &muster->entry);
    if (muster->is_kept)
        chronicle_erase_muster(cluster, job);
    muster->is_kept = false;
}

void
muster_look(struct cluster *cluster, struct job *job)
{
    struct muster *muster = &job->muster;
    const bool has_passed = cluster->now_ns >= muster->part_ends_ns;

    if (!part_count(job, has_passed)) {
        muster_end(cluster, job);
        return;
    }
    if (has_passed)
        muster->part_ends_ns = cluster->now_ns + part_ns(cluster);
    agenda_set(&cluster->agenda, &muster->entry, muster->part_ends_ns);
    record_write(cluster, job);
    muster->is_kept = true;
}

enum hoop_status
muster_revive(struct job *job, const uint8_t *n_parts, size_t n_bytes)
{
    if (n_bytes != (job->ranks ? job->size : 1))
        return error_raise(HOOP_E_DATA_LOSS,
                           "job \"%s\": others are awaited than its members",
                           job->name);
    for (size_t i = 0; i < n_bytes; i++) {
        if (n_parts[i] > MUSTER_PARTS)
            return error_raise(HOOP_E_DATA_LOSS,
                               "job \"%s\": somebody is awaited for too long",
                               job->name);
    }
    job->muster.n_parts = n_parts[0];
    for (uint32_t rank = 0; job->ranks && rank < job->size; rank++)
        job->ranks[rank]->n_parts = n_parts[rank];
    job->muster.is_kept = true;
    return HOOP_OK;
}
