/* core/recovery_lease_check.c - which members have come back since the
 * coordinator recovered */

#include "core/recovery_lease_check.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/member.h"
#include "core/memory.h"

enum {
    /* Time beyond a lease for workers to notice that the coordinator is
     * back. */
    RECOVERY_GRACE_MS = 2000,
    /* How long signs of life are gathered into one record. */
    LEASE_RECORD_DELAY_MS = 50,
};

static uint64_t
lease_check_part_ns(const struct cluster *cluster)
{
    return (cluster->lease_ms + RECOVERY_GRACE_MS) * CLOCK_NS_PER_MS /
           LEASE_CHECK_GRACE_PARTS;
}

/* Return the end of the remaining parts. At least one part always remains, so
 * that a member that is alive has time to say so. */
static uint64_t
lease_check_end_ns(const struct cluster *cluster, uint8_t n_passed)
{
    const uint64_t n_left = n_passed < LEASE_CHECK_GRACE_PARTS
                                ? (uint64_t)LEASE_CHECK_GRACE_PARTS - n_passed
                                : 1;

    return cluster->now_ns + n_left * lease_check_part_ns(cluster);
}

static bool
is_unseen_since_recovery(const struct member *member)
{
    return member->is_unseen_since_recovery &&
           member->state == CLUSTER_MEMBER_ACTIVE;
}

void
recovery_lease_check_begin(struct cluster *cluster, struct job *job)
{
    struct lease_check *lease_check = &job->lease_check;
    struct member *member = NULL;

    if (job->state == CLUSTER_JOB_FORMING)
        timer_heap_set(
            &cluster->timer_heap, &job->grace,
            lease_check_end_ns(cluster, lease_check->n_grace_parts_passed));
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (member->state != CLUSTER_MEMBER_ACTIVE)
            continue;
        member->is_unseen_since_recovery = true;
        member->renewed_ns = cluster->now_ns;
        timer_heap_set(
            &cluster->timer_heap, &member->lease,
            lease_check_end_ns(cluster, member->n_grace_parts_passed));
    }
    lease_check->entry.kind = TIMER_LEASE_CHECK;
    lease_check->next_part_ns = cluster->now_ns + lease_check_part_ns(cluster);
    timer_heap_set(&cluster->timer_heap, &lease_check->entry,
                   lease_check->next_part_ns);
}

void
recovery_lease_check_confirm(struct cluster *cluster, struct member *member)
{
    struct lease_check *lease_check = &member->job->lease_check;
    const uint64_t soon_ns =
        cluster->now_ns + LEASE_RECORD_DELAY_MS * CLOCK_NS_PER_MS;

    if (!member->is_unseen_since_recovery)
        return;
    member->is_unseen_since_recovery = false;
    if (member->n_grace_parts_passed > 0 && lease_check->entry.place &&
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

    if (has_passed &&
        job->lease_check.n_grace_parts_passed < LEASE_CHECK_GRACE_PARTS)
        job->lease_check.n_grace_parts_passed++;
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (!is_unseen_since_recovery(member))
            member->n_grace_parts_passed = 0;
        else if (has_passed &&
                 member->n_grace_parts_passed < LEASE_CHECK_GRACE_PARTS)
            member->n_grace_parts_passed++;
        is_somebody_left |= is_unseen_since_recovery(member);
    }
    return is_somebody_left;
}

static void
recovery_lease_write_record(struct cluster *cluster, const struct job *job)
{
    const size_t n_bytes = job->world.ranks ? job->world.size : 1;
    CLEANUP(free) uint8_t *n_grace_parts_passed = memory_calloc(n_bytes, 1);

    n_grace_parts_passed[0] = job->lease_check.n_grace_parts_passed;
    for (uint32_t rank = 0; job->world.ranks && rank < job->world.size; rank++)
        n_grace_parts_passed[rank] =
            job->world.ranks[rank]->n_grace_parts_passed;
    journal_write_recovery_leases(cluster, job, n_grace_parts_passed, n_bytes);
}

void
recovery_lease_check_end(struct cluster *cluster, struct job *job)
{
    struct lease_check *lease_check = &job->lease_check;

    timer_heap_remove(&cluster->timer_heap, &lease_check->entry);
    if (lease_check->is_recorded)
        journal_erase_recovery_leases(cluster, job);
    lease_check->is_recorded = false;
}

void
recovery_lease_check_on_timer(struct cluster *cluster, struct job *job)
{
    struct lease_check *lease_check = &job->lease_check;
    const bool has_passed = cluster->now_ns >= lease_check->next_part_ns;

    if (!recovery_lease_count_part(job, has_passed)) {
        recovery_lease_check_end(cluster, job);
        return;
    }
    if (has_passed)
        lease_check->next_part_ns =
            cluster->now_ns + lease_check_part_ns(cluster);
    timer_heap_set(&cluster->timer_heap, &lease_check->entry,
                   lease_check->next_part_ns);
    recovery_lease_write_record(cluster, job);
    lease_check->is_recorded = true;
}

enum hoop_status
lease_grace_restore(struct job *job,
                    const uint8_t *n_grace_parts_passed,
                    size_t n_bytes)
{
    if (n_bytes != (job->world.ranks ? job->world.size : 1))
        return error_raise(
            HOOP_E_DATA_LOSS,
            "job \"%s\": ranks are waited for that are not its members",
            job->name);
    for (size_t i = 0; i < n_bytes; i++) {
        if (n_grace_parts_passed[i] > LEASE_CHECK_GRACE_PARTS)
            return error_raise(
                HOOP_E_DATA_LOSS,
                "job \"%s\": a rank is waited for beyond the limit", job->name);
    }
    job->lease_check.n_grace_parts_passed = n_grace_parts_passed[0];
    for (uint32_t rank = 0; job->world.ranks && rank < job->world.size; rank++)
        job->world.ranks[rank]->n_grace_parts_passed =
            n_grace_parts_passed[rank];
    job->lease_check.is_recorded = true;
    return HOOP_OK;
}
