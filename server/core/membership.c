/* core/membership.c - leases, leaves, reports and failure notices */

#include "core/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/evidence.h"
#include "base/identity.h"
#include "base/limits.h"
#include "core/change.h"
#include "core/forming.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/recovery_lease_check.h"
#include "core/status_query.h"
#include "core/suspicion.h"
#include "core/vote.h"

enum {
    LATE_EXPIRY_MS = 2,
};

static void
lease_reply_add(struct cluster *cluster,
                const struct job *job,
                const struct cluster_event *event)
{
    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    reply->kind = CLUSTER_REPLY_LEASE;
    reply->lease = (struct cluster_lease_result){
        .lease_ms = cluster->lease_ms,
        .revision = job->world.n_changes,
        .membership_epoch = job->world.membership_epoch,
    };
}

enum hoop_status
membership_renew(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    struct member *member = NULL;
    const enum hoop_status status =
        job_find_active_member(job, &event->renewal.member, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    recovery_lease_check_confirm(cluster, member);
    member->is_vouch_pending = false;
    member->renewed_ns = cluster->now_ns;
    member->client = event->client;
    timer_heap_set(&cluster->timer_heap, &member->lease,
                   cluster->now_ns + cluster->lease_ms * CLOCK_NS_PER_MS);
    cluster->counters.renewals++;
    job_metrics_count(member, &event->renewal.totals);
    lease_reply_add(cluster, job, event);
    if (event->renewal.question > 0)
        suspicion_add_answer(cluster, member, &event->renewal);
    if (event->renewal.activity_query > 0)
        activities_store_answer(cluster, member, &event->renewal);
    return HOOP_OK;
}

/* End member with this state. Returns whether its worker is in no world of the
 * job any more. */
static bool
member_set_ended(struct cluster *cluster,
                 struct member *member,
                 enum cluster_member_state state)
{
    struct job *job = member->job;

    member_set_state(member, state);
    job_metrics_await_no_more(member);
    timer_heap_remove(&cluster->timer_heap, &member->lease);
    job->n_members--;
    if (state == CLUSTER_MEMBER_LOST)
        job->n_lost++;
    else
        job->n_left++;
    group_slots_remove_member(cluster, member);
    journal_write_member(cluster, member);
    change_add_member_end(cluster, member);
    votes_remove_member(cluster, member);
    return worker_end_member(cluster, member);
}

static struct cluster_log_notice
member_log_notice(const struct member *member,
                  enum cluster_log_notice_kind kind)
{
    return (struct cluster_log_notice){
        .kind = kind,
        .job = job_public_name(member->job),
        .epoch = member->job->world.epoch,
        .rank = member->rank,
    };
}

static void
member_set_lost(struct cluster *cluster,
                struct member *member,
                const char *reason)
{
    if (member->state == CLUSTER_MEMBER_JOINING) {
        struct job *job = member->job;

        forming_fail_join(cluster, member, HOOP_E_ABORTED, reason);
        job_mark_touched(cluster, job);
        return;
    }
    member->reason = memory_strdup_charged(&member->job->memory, reason);
    member_set_ended(cluster, member, CLUSTER_MEMBER_LOST);
}

/* What comes before reason in the log: the words of a rank that has given up may
 * say so themselves. */
static const char *
loss_introduction(const struct member *member, const char *reason)
{
    if (!member->has_reported_own_failure)
        return "is lost: ";
    return strncmp(reason, EVIDENCE_GAVE_UP, strlen(EVIDENCE_GAVE_UP)) == 0
               ? ""
               : "has given up: ";
}

/* The worker is lost in all worlds of the job, with a single notice. */
void
membership_declare_lost(struct cluster *cluster,
                        struct member *member,
                        const char *reason)
{
    const struct worker *worker = member->worker;
    const struct member *newest = worker_newest_active_member(worker);
    const struct cluster_log_notice notice =
        member_log_notice(newest, CLUSTER_NOTICE_LOST);
    struct member *living = NULL;

    member_set_lost(cluster, member, reason);
    while ((living = worker_newest_living(worker)))
        member_set_lost(cluster, living, reason);
    cluster->counters.verdicts++;
    action_list_add_notice(
        &cluster->action_list, &notice, "%s of job \"%s\" %s%s; epoch %llu",
        member_label(newest).text, job_public_name(newest->job),
        loss_introduction(newest, reason), reason,
        (unsigned long long)newest->job->world.membership_epoch);
}

/* The worker is lost in this world but stays in the other worlds of the job. */
static void
member_declare_lost_in_world(struct cluster *cluster,
                             struct member *member,
                             const char *reason)
{
    const struct cluster_log_notice notice =
        member_log_notice(member, CLUSTER_NOTICE_LOST);

    member_set_lost(cluster, member, reason);
    action_list_add_notice(
        &cluster->action_list, &notice,
        "%s of job \"%s\" is lost in one of its worlds, and stays in "
        "others: %s",
        member_label(member).text, job_public_name(member->job), reason);
}

enum hoop_status
membership_leave(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    struct member *member = NULL;
    enum hoop_status status =
        job_find_member_by_id(job, &event->leave.member, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (member->state != CLUSTER_MEMBER_LEFT) {
        status = job_find_active_member(job, &event->leave.member, &member);
        if (status != HOOP_OK)
            return error_pass(status);
        job_metrics_count(member, &event->leave.totals);
        /* It is not worth that another request is refused. */
        if (memory_check_limit(&job->memory, event->leave.n_failure) ==
            HOOP_OK) {
            member->failure = memory_copy_charged(
                &job->memory, event->leave.failure, event->leave.n_failure);
            member->n_failure = event->leave.n_failure;
        } else {
            error_clear();
        }

        const struct cluster_log_notice notice =
            member_log_notice(member, CLUSTER_NOTICE_LEFT);

        if (member_set_ended(cluster, member, CLUSTER_MEMBER_LEFT)) {
            cluster->counters.leaves++;
            action_list_add_notice(
                &cluster->action_list, &notice, "%s leaves job \"%s\"",
                member_label(member).text, job_public_name(job));
        }
    }
    action_list_add_reply(&cluster->action_list, event->ticket);
    return HOOP_OK;
}

void
membership_sanitize_reason(const char *reason, size_t n_room, char *out_reason)
{
    /* The reporter is known from the call; a text that the reporter wrote is
     * dropped. */
    const char *end = reason ? evidence_find_reporters(reason) : NULL;
    const size_t n_most = end ? (size_t)(end - reason) : SIZE_MAX;
    size_t n_bytes = 0;

    for (;
         reason && n_bytes < n_most && reason[n_bytes] && n_bytes + 1 < n_room;
         n_bytes++) {
        const char letter = reason[n_bytes];

        out_reason[n_bytes] = letter;
        if ((unsigned char)letter < ' ' || letter == 127)
            out_reason[n_bytes] = '?';
    }
    out_reason[n_bytes] = 0;
    if (n_bytes == 0)
        snprintf(out_reason, n_room, "no reason given");
}

static enum hoop_status
report_find_suspected_member(struct job *job,
                             const struct cluster_failure_report *report,
                             struct member **out_member)
{
    if (report->rank >= job->world.size)
        return error_raise(HOOP_E_INVALID,
                           "the report names rank %u of %u ranks", report->rank,
                           job->world.size);
    const uint64_t incarnation = job->world.ranks[report->rank]->incarnation;

    if (identity_of_incarnation(incarnation) != report->identity)
        return error_raise(HOOP_E_INVALID,
                           "the report names rank %u with an incarnation that "
                           "it never had in epoch %llu",
                           report->rank, (unsigned long long)job->world.epoch);
    *out_member = job->world.ranks[report->rank];
    return HOOP_OK;
}

/* Refuse evidence of an expired lease, which only the coordinator itself
 * has. */
static enum hoop_status
report_evidence_check(const struct cluster_failure_report *report)
{
    if (report->evidence < EVIDENCE_KINDS &&
        evidence_rows[report->evidence].decider != EVIDENCE_UNLESS_HEARD)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "a rank has no evidence of kind %u of another's loss",
                       report->evidence);
}

/* The worker reports its own failure, which applies to all worlds of the
 * job. */
static void
member_report_own_failure(struct cluster *cluster,
                          struct member *member,
                          const char *reason)
{
    struct member *other = NULL;

    LIST_FOREACH(other, &member->worker->memberships, membership)
    {
        if (other->state != CLUSTER_MEMBER_LOST)
            other->has_reported_own_failure = true;
    }
    membership_declare_lost(cluster, member, reason);
}

static void
report_apply(struct cluster *cluster,
             const struct member *reporter,
             struct member *accused,
             const struct cluster_failure_report *report)
{
    struct text_buffer text_buffer = {0};
    char reason[LIMIT_REPORT_REASON];

    if (evidence_rows[report->evidence].decider == EVIDENCE_COORDINATOR &&
        suspicion_add_complaint(cluster, reporter, accused, report))
        return;
    membership_sanitize_reason(report->reason, sizeof(reason), reason);
    const bool is_own_word = report->evidence == EVIDENCE_GIVEN_UP;
    text_buffer_append(&text_buffer, "%s", reason);
    if (!is_own_word)
        text_buffer_append(&text_buffer, EVIDENCE_REPORTED_BY "%s",
                           member_label(reporter).text);
    if (is_own_word)
        member_report_own_failure(cluster, accused, text_buffer.text);
    else if (reporter == accused && accused->worker->n_living_memberships > 1)
        member_declare_lost_in_world(cluster, accused, text_buffer.text);
    else
        membership_declare_lost(cluster, accused, text_buffer.text);
}

enum hoop_status
membership_report(struct cluster *cluster,
                  struct job *job,
                  const struct cluster_event *event)
{
    const struct cluster_failure_report *report = &event->report;
    struct member *reporter = NULL;
    struct member *accused = NULL;
    enum hoop_status status =
        job_find_active_member(job, &report->reporter, &reporter);

    if (status == HOOP_OK)
        status = report_evidence_check(report);
    if (status == HOOP_OK)
        status = report_find_suspected_member(job, report, &accused);
    if (status != HOOP_OK)
        return error_pass(status);

    cluster->counters.reports++;
    if (accused->state == CLUSTER_MEMBER_ACTIVE)
        report_apply(cluster, reporter, accused, report);
    lease_reply_add(cluster, job, event);
    return HOOP_OK;
}

/* Return whether the lease is extended because the coordinator is late itself
 * and a renewal may be waiting to be read. This is limited in time, for a
 * coordinator that is always late, and does not apply to a member that has been
 * missing over several recoveries. */
static bool
lease_is_in_grace(const struct cluster *cluster, const struct member *member)
{
    const uint64_t lease_ns = cluster->lease_ms * CLOCK_NS_PER_MS;

    return member->n_grace_parts_passed == 0 &&
           cluster->now_ns - member->lease.deadline_ns >
               LATE_EXPIRY_MS * CLOCK_NS_PER_MS &&
           cluster->now_ns - member->renewed_ns < lease_ns + lease_ns / 2;
}

/* Return whether the worker renews another membership, so that only the leave
 * of this one was lost. A dead worker has renewed none for two thirds of a
 * lease by now. */
static bool
worker_is_alive_elsewhere(const struct cluster *cluster,
                          const struct member *member)
{
    const uint64_t half_ns = cluster->lease_ms * CLOCK_NS_PER_MS / 2;
    const struct member *other = NULL;

    LIST_FOREACH(other, &member->worker->memberships, membership)
    {
        if (other != member && other->state == CLUSTER_MEMBER_ACTIVE &&
            cluster->now_ns - other->renewed_ns < half_ns)
            return true;
    }
    return false;
}

void
membership_on_lease_expired(struct cluster *cluster, struct member *member)
{
    const uint64_t eighth_ns = cluster->lease_ms * CLOCK_NS_PER_MS / 8;
    struct text_buffer reason = {0};

    if (lease_is_in_grace(cluster, member)) {
        timer_heap_set(&cluster->timer_heap, &member->lease,
                       cluster->now_ns + eighth_ns);
        return;
    }
    if (!member->is_vouch_pending) {
        /* Set before asking, since an answer that is already there renews the
         * lease. */
        member->is_vouch_pending = true;
        timer_heap_set(&cluster->timer_heap, &member->lease,
                       cluster->now_ns + EVIDENCE_LEASE_MS * CLOCK_NS_PER_MS);
        if (suspicion_query_ranks(cluster, member))
            return;
        member->is_vouch_pending = false;
    }
    text_buffer_append(
        &reason, "its lease expired %.1f s after its last sign of life%s",
        ns_to_seconds(cluster->now_ns - member->renewed_ns),
        member->is_vouch_pending ? ", and no rank hears it" : "");
    cluster->counters.leases_expired++;
    if (worker_is_alive_elsewhere(cluster, member))
        member_declare_lost_in_world(cluster, member, reason.text);
    else
        membership_declare_lost(cluster, member, reason.text);
}

void
membership_on_vouched(struct cluster *cluster,
                      struct member *member,
                      const struct member *by)
{
    const struct cluster_log_notice notice =
        member_log_notice(member, CLUSTER_NOTICE_PEER_HEARS);

    if (!member->is_vouch_pending || member->state != CLUSTER_MEMBER_ACTIVE)
        return;
    member->is_vouch_pending = false;
    timer_heap_set(&cluster->timer_heap, &member->lease,
                   cluster->now_ns + cluster->lease_ms * CLOCK_NS_PER_MS);
    action_list_add_notice(
        &cluster->action_list, &notice,
        "%s of job \"%s\" has not reached the coordinator for %.1f "
        "s, but %s hears it: it stays a member",
        member_label(member).text, job_public_name(member->job),
        ns_to_seconds(cluster->now_ns - member->renewed_ns),
        member_label(by).text);
}

void
membership_extend_leases(struct cluster *cluster, uint64_t late_ns)
{
    const uint64_t half_ns = cluster->lease_ms * CLOCK_NS_PER_MS / 2;
    const uint64_t least_ns = cluster->now_ns + half_ns;
    struct member *member = NULL;

    for (struct job *job = cluster->jobs; job; job = job->hh.next)
        TAILQ_FOREACH(member, &job->arrivals, arrival)
    if (member->lease.place && member->lease.deadline_ns < least_ns)
        timer_heap_set(&cluster->timer_heap, &member->lease, least_ns);
    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){.kind = CLUSTER_NOTICE_STEPPED_LATE,
                                     .rank = CLUSTER_RANK_ANY},
        "the coordinator was held up for %.1f s: no lease ends in "
        "the next %.1f s",
        ns_to_seconds(late_ns), ns_to_seconds(half_ns));
}
