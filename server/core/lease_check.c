/* core/lease_check.c - which members have come back since the coordinator
 * recovered */

#include "core/lease_check.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/state.h"

enum {
    /* Time beyond a lease for workers to notice that the coordinator is
     * back. */
    GRACE_MS = 2000,
    /* How long signs of life are gathered into one record. */
    GATHER_MS = 50,
};

static uint64_t
recovery_lease_part_ns(const struct cluster *cluster)
{
    return (cluster->lease_ms + GRACE_MS) * CLOCK_NS_PER_MS / LEASE_CHECK_PARTS;
}

/* Return the end of the remaining parts. At least one part always remains, so
 * that a member that is alive has time to say so. */
static uint64_t
recovery_lease_end_ns(const struct cluster *cluster, uint8_t n_passed)
{
    const uint64_t n_left = n_passed < LEASE_CHECK_PARTS
                                ? (uint64_t)LEASE_CHECK_PARTS - n_passed
                                : 1;

    return cluster->now_ns + n_left * recovery_lease_part_ns(cluster);
}

static bool
is_unconfirmed(const struct member *member)
{
    return member->is_unconfirmed && member->state == CLUSTER_MEMBER_ACTIVE;
}

void
recovery_lease_check_begin(struct cluster *cluster, struct job *job)
{
    struct lease_check *lease_check = &job->lease_check;
    struct member *member = NULL;

    if (job->state == CLUSTER_JOB_FORMING)
        timer_heap_set(&cluster->timer_heap, &job->grace,
                       recovery_lease_end_ns(cluster, lease_check->n_parts));
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (member->state != CLUSTER_MEMBER_ACTIVE)
            continue;
        member->is_unconfirmed = true;
        member->renewed_ns = cluster->now_ns;
        timer_heap_set(&cluster->timer_heap, &member->lease,
                       recovery_lease_end_ns(cluster, member->n_parts));
    }
    lease_check->entry.kind = TIMER_LEASE_CHECK;
    lease_check->part_ends_ns =
        cluster->now_ns + recovery_lease_part_ns(cluster);
    timer_heap_set(&cluster->timer_heap, &lease_check->entry,
                   lease_check->part_ends_ns);
}

void
recovery_lease_confirm_member(struct cluster *cluster, struct member *member)
{
    struct lease_check *lease_check = &member->job->lease_check;
    const uint64_t soon_ns = cluster->now_ns + GATHER_MS * CLOCK_NS_PER_MS;

    if (!member->is_unconfirmed)
        return;
    member->is_unconfirmed = false;
    if (member->n_parts > 0 && lease_check->entry.place &&
        soon_ns < lease_check->entry.deadline_ns)
        timer_heap_set(&cluster->timer_heap, &lease_check->entry, soon_ns);
}

/* Count a passed part for the unconfirmed members. Returns whether any member
 * is unconfirmed. */
static bool
recovery_lease_count_part(struct job *job, bool has_passed)
{
    struct member *member = NULL;
    bool is_somebody_left = job->grace.place != 0;

    if (has_passed && job->lease_check.n_parts < LEASE_CHECK_PARTS)
        job->lease_check.n_parts++;
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (!is_unconfirmed(member))
            member->n_parts = 0;
        else if (has_passed && member->n_parts < LEASE_CHECK_PARTS)
            member->n_parts++;
        is_somebody_left |= is_unconfirmed(member);
    }
    return is_somebody_left;
}

static void
recovery_lease_write_record(struct cluster *cluster, const struct job *job)
{
    const size_t n_bytes = job->ranks ? job->size : 1;
    CLEANUP(free) uint8_t *n_parts = memory_calloc(n_bytes, 1);

    n_parts[0] = job->lease_check.n_parts;
    for (uint32_t rank = 0; job->ranks && rank < job->size; rank++)
        n_parts[rank] = job->ranks[rank]->n_parts;
    journal_write_recovery_leases(cluster, job, n_parts, n_bytes);
}

void
recovery_lease_check_end(struct cluster *cluster, struct job *job)
{
    struct lease_check *lease_check = &job->lease_check;

    timer_heap_remove(&cluster->timer_heap, &lease_check->entry);
    if (lease_check->is_kept)
        journal_erase_recovery_leases(cluster, job);
    lease_check->is_kept = false;
}

void
recovery_lease_check_on_timer(struct cluster *cluster, struct job *job)
{
    struct lease_check *lease_check = &job->lease_check;
    const bool has_passed = cluster->now_ns >= lease_check->part_ends_ns;

    if (!recovery_lease_count_part(job, has_passed)) {
        recovery_lease_check_end(cluster, job);
        return;
    }
    if (has_passed)
        lease_check->part_ends_ns =
            cluster->now_ns + recovery_lease_part_ns(cluster);
    timer_heap_set(&cluster->timer_heap, &lease_check->entry,
                   lease_check->part_ends_ns);
    recovery_lease_write_record(cluster, job);
    lease_check->is_kept = true;
}

enum hoop_status
recovery_lease_check_restore(struct job *job,
                             const uint8_t *n_parts,
                             size_t n_bytes)
{
    if (n_bytes != (job->ranks ? job->size : 1))
        return error_raise(HOOP_E_DATA_LOSS,
                           "job \"%s\": others are awaited than its members",
                           job->name);
    for (size_t i = 0; i < n_bytes; i++) {
        if (n_parts[i] > LEASE_CHECK_PARTS)
            return error_raise(HOOP_E_DATA_LOSS,
                               "job \"%s\": somebody is awaited for too long",
                               job->name);
    }
    job->lease_check.n_parts = n_parts[0];
    for (uint32_t rank = 0; job->ranks && rank < job->size; rank++)
        job->ranks[rank]->n_parts = n_parts[rank];
    job->lease_check.is_kept = true;
    return HOOP_OK;
}
