/* core/suspicion.c - collect which ranks hear each other, and decide which is
 * lost */

#include "core/suspicion.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/evidence.h"
#include "core/job.h"
#include "core/member.h"
#include "core/membership.h"
#include "core/memory.h"
#include "core/status_query.h"
#include "core/suspicion_rule.h"

enum {
    REASON_NAMED_RANKS_MAX = 6, /* ranks named in one text */
    COMPLAINT_REASON_BYTES_MAX =
        200, /* bytes of a complaint's reason, so that the whole
                         text fits a message */
    REPORT_SLACK_MS_MAX = 2000,
    /* The views of more ranks would take more than 16 MiB; there the first
     * complaint decides. */
    SUSPICION_QUERY_RANKS_MAX = 4096,
    /* In larger worlds the rule runs only when all have answered or the time is
     * up, because it takes quadratic time. */
    EAGER_RULE_RANKS_MAX = 256,
};

/* Which hosts to run it on is left to the reader. */
static const char advice[] =
    "run hoopctl doctor --listen there, --peer HOST:PORT elsewhere";

struct suspicion_rank_state {
    bool is_heard_by_coordinator; /* the coordinator has heard from it since the
                                question */
    bool has_answered;            /* it has answered the question */
    bool has_complained_or_answered; /* it has answered or complained */
    char reason
        [COMPLAINT_REASON_BYTES_MAX]; /* of the first complaint about it */
};

/* Keep the question open until query_close_ns at least. */
static void
suspicion_extend_query(struct cluster *cluster,
                       struct job *job,
                       uint64_t query_close_ns)
{
    struct suspicion *suspicion = &job->suspicion;

    if (suspicion->query_close_ns < query_close_ns)
        suspicion->query_close_ns = query_close_ns;
    timer_heap_set(&cluster->timer_heap, &suspicion->entry,
                   suspicion->decision_deadline_ns < suspicion->query_close_ns
                       ? suspicion->decision_deadline_ns
                       : suspicion->query_close_ns);
}

/* Ask all members that keep a watch parked; the end of this step answers the
 * watches. */
static void
suspicion_open_query(struct cluster *cluster,
                     struct job *job,
                     uint64_t query_close_ns)
{
    struct suspicion *suspicion = &job->suspicion;
    const size_t n_views = (size_t)job->world.size * job->world.size;

    if (suspicion->number == 0) {
        suspicion->views = memory_alloc_charged(&job->memory, n_views, 1);
        suspicion->ranks = memory_alloc_charged(&job->memory, job->world.size,
                                                sizeof(*suspicion->ranks));
    }
    memset(suspicion->views, VIEW_NONE, n_views);
    memset(suspicion->ranks, 0, job->world.size * sizeof(*suspicion->ranks));
    /* Use a number that no earlier life of the coordinator can have used. */
    suspicion->number = cluster->last_suspicion_query < cluster->now_ns
                            ? cluster->now_ns
                            : cluster->last_suspicion_query + 1;
    cluster->last_suspicion_query = suspicion->number;
    suspicion->query_opened_ns = cluster->now_ns;
    suspicion->decision_deadline_ns = UINT64_MAX;
    suspicion->entry.kind = TIMER_SUSPICION;
    suspicion_extend_query(cluster, job, query_close_ns);
    job_mark_touched(cluster, job);
}

void
suspicion_close_query(struct cluster *cluster, struct job *job)
{
    struct suspicion *suspicion = &job->suspicion;

    timer_heap_remove(&cluster->timer_heap, &suspicion->entry);
    memory_free_charged(&job->memory, suspicion->views);
    memory_free_charged(&job->memory, suspicion->ranks);
    *suspicion = (struct suspicion){0};
}

/* Name ranks as "rank 2 (a:70)", "ranks 0, 2 and 3" or "ranks 0, 1, 2, 3, 4, 5
 * and 58 others". */
static void
ranks_describe(struct text_buffer *text_buffer,
               const struct job *job,
               const bool *is_named)
{
    uint32_t n_named = 0;
    uint32_t n_left = 0;
    uint32_t first = 0;

    for (uint32_t rank = job->world.size; rank-- > 0;) {
        n_named += is_named[rank];
        first = is_named[rank] ? rank : first;
    }
    if (n_named == 1) {
        text_buffer_append(text_buffer, "%s",
                           member_label(job->world.ranks[first]).text);
        return;
    }
    n_left = n_named;
    for (uint32_t rank = first;
         n_named - n_left < REASON_NAMED_RANKS_MAX && n_left > 0; rank++) {
        if (!is_named[rank])
            continue;
        n_left--;
        text_buffer_append(text_buffer, "%s%u",
                           rank == first ? "ranks "
                           : n_left > 0  ? ", "
                                         : " and ",
                           rank);
    }
    if (n_left > 0)
        text_buffer_append(text_buffer, " and %u others", n_left);
}

/* Describe the first complaint about a rank, and what can be inferred from
 * it. */
static void
complaint_describe(struct text_buffer *text_buffer,
                   const struct suspicion_rank_state *rank,
                   bool is_broken)
{
    text_buffer_append(text_buffer, "%s", rank->reason);
    if (rank->is_heard_by_coordinator)
        text_buffer_append(text_buffer,
                           " (inferred: it lives, and cannot be reached: %s)",
                           advice);
    else if (is_broken)
        text_buffer_append(text_buffer,
                           " (inferred: dead, stopped or cut off)");
}

static uint8_t
suspicion_view_of(const struct job *job, uint32_t from, uint32_t of)
{
    return job->suspicion.views[(uint64_t)from * job->world.size + of];
}

static bool
rank_is_active(const struct job *job, uint32_t rank)
{
    return job->world.ranks[rank]->state == CLUSTER_MEMBER_ACTIVE;
}

/* Return whether a connection of the rank broke and the coordinator has not
 * heard from it. */
static bool
rank_may_have_ended(const struct job *job, uint32_t rank)
{
    bool is_broken = false;

    for (uint32_t from = 0; from < job->world.size; from++)
        is_broken |= suspicion_view_of(job, from, rank) == VIEW_BROKEN;
    return is_broken && !job->suspicion.ranks[rank].is_heard_by_coordinator;
}

static bool
ranks_share_host(const struct job *job, uint32_t rank, uint32_t other)
{
    return strcmp(job->world.ranks[rank]->host_id,
                  job->world.ranks[other]->host_id) == 0;
}

/* A set of ranks, usually those of one host, in the range from first to before
 * end. */
struct rank_set {
    bool *is_in_set; /* [job->world.size] */
    uint32_t first;
    uint32_t end;
    uint32_t n;
};

/* Return whether rank is active, or was lost in this question: the question was
 * about it, or it answered. */
static bool
rank_takes_part_in_query(const struct job *job, uint32_t rank)
{
    const struct suspicion_rank_state *known = &job->suspicion.ranks[rank];

    return rank_is_active(job, rank) || known->reason[0] ||
           known->has_complained_or_answered;
}

static void
host_ranks_collect(const struct job *job, uint32_t rank, struct rank_set *host)
{
    for (uint32_t i = 0; i < job->world.size; i++) {
        host->is_in_set[i] =
            rank_takes_part_in_query(job, i) && ranks_share_host(job, i, rank);
        if (!host->is_in_set[i])
            continue;
        host->first = host->n++ == 0 ? i : host->first;
        host->end = i + 1;
    }
}

/* Return whether other, which is not in the set, does not hear at least one
 * rank of the set and hears none. */
static bool
host_is_unheard_by(const struct job *job,
                   uint32_t other,
                   const struct rank_set *host)
{
    bool is_missed = false;

    for (uint32_t rank = host->first; rank < host->end; rank++) {
        const uint8_t view = suspicion_view_of(job, other, rank);

        if (!host->is_in_set[rank])
            continue;
        if (view == VIEW_HEARD)
            return false;
        is_missed |= view > VIEW_HEARD;
    }
    return is_missed;
}

/* Return whether no rank of another host hears a rank of this host. A single
 * pair of ranks says nothing about hosts. */
static bool
host_is_cut_off(const struct job *job, const struct rank_set *host)
{
    uint32_t n_others = 0;

    for (uint32_t rank = host->first; rank < host->end; rank++)
        if (host->is_in_set[rank] && rank_may_have_ended(job, rank))
            return false;
    for (uint32_t i = 0; i < job->world.size; i++) {
        if (!rank_is_active(job, i) || host->is_in_set[i])
            continue;
        if (!host_is_unheard_by(job, i, host))
            return false;
        n_others++;
    }
    return n_others > 0 && host->n + n_others > 2;
}

static void
host_cut_off_describe(struct text_buffer *reason,
                      const struct job *job,
                      const struct rank_set *host)
{
    bool is_heard_by_coordinator = false;

    for (uint32_t rank = host->first; rank < host->end; rank++)
        is_heard_by_coordinator |=
            host->is_in_set[rank] &&
            job->suspicion.ranks[rank].is_heard_by_coordinator;
    text_buffer_append(reason, "no rank of another host hears host %.40s (",
                       job->world.ranks[host->first]->host);
    ranks_describe(reason, job, host->is_in_set);
    text_buffer_append(reason,
                       "): %sis there a firewall, or a cut link? If so, %s",
                       is_heard_by_coordinator ? "" : "is it down, ", advice);
}

/* Return whether no rank of host hears a rank of other, and all unheard ranks
 * are in other. */
static bool
host_is_deaf_to(const struct job *job,
                const struct rank_set *host,
                const struct rank_set *other,
                const struct rank_set *unheard)
{
    for (uint32_t rank = unheard->first; rank < unheard->end; rank++)
        if (unheard->is_in_set[rank] && !other->is_in_set[rank])
            return false;
    for (uint32_t rank = host->first; rank < host->end; rank++)
        if (host->is_in_set[rank] && !host_is_unheard_by(job, rank, other))
            return false;
    return !other->is_in_set[host->first] && host->n + other->n > 2;
}

static void
host_deafness_describe(struct text_buffer *reason,
                       const struct job *job,
                       const struct rank_set *host,
                       const struct rank_set *other)
{
    ranks_describe(reason, job, host->is_in_set);
    text_buffer_append(
        reason,
        " (host %.40s) %s not hear host %.40s: is there a firewall, "
        "or a cut link? If so, %s",
        job->world.ranks[host->first]->host, host->n > 1 ? "do" : "does",
        job->world.ranks[other->first]->host, advice);
}

/* Collect the ranks that rank does not hear, and return the reason of a
 * complaint about one. */
static const char *
unheard_ranks_collect(const struct job *job,
                      uint32_t rank,
                      struct rank_set *unheard)
{
    const char *why = "";

    for (uint32_t of = job->world.size; of-- > 0;) {
        unheard->is_in_set[of] =
            suspicion_view_of(job, rank, of) > VIEW_HEARD &&
            rank_is_active(job, of);
        if (!unheard->is_in_set[of])
            continue;
        unheard->first = of;
        unheard->end = unheard->n++ == 0 ? of + 1 : unheard->end;
        if (view_is_complaint(suspicion_view_of(job, rank, of)))
            why = job->suspicion.ranks[of].reason;
    }
    return why;
}

/* Describe a rank of which no other rank complains, but that hears fewer ranks
 * than the others do. */
static void
rank_deafness_describe(struct text_buffer *reason,
                       const struct job *job,
                       uint32_t rank,
                       const struct rank_set *host)
{
    bool *flags = memory_calloc(2 * (size_t)job->world.size, sizeof(*flags));
    struct rank_set unheard = {.is_in_set = flags};
    struct rank_set other = {.is_in_set = flags + job->world.size};
    const char *why = unheard_ranks_collect(job, rank, &unheard);
    bool is_alone = true;

    for (uint32_t from = 0; from < job->world.size; from++)
        for (uint32_t of = unheard.first; is_alone && of < unheard.end; of++)
            is_alone = from == rank || !rank_takes_part_in_query(job, from) ||
                       !unheard.is_in_set[of] ||
                       suspicion_view_of(job, from, of) <= VIEW_HEARD;
    host_ranks_collect(job, unheard.first, &other);
    if (host_is_deaf_to(job, host, &other, &unheard)) {
        host_deafness_describe(reason, job, host, &other);
    } else {
        text_buffer_append(reason, "it %sdoes not hear ",
                           is_alone ? "alone " : "");
        ranks_describe(reason, job, unheard.is_in_set);
        text_buffer_append(reason, "%s%s (inferred: it is cut off: %s)",
                           why[0] ? ": " : "", why, advice);
    }
    text_buffer_append(reason, ", as %s told the coordinator",
                       is_alone ? "the others" : "it");
    free(flags);
}

/* Say what is known of rank, what is inferred, and who reported it. */
static struct text_buffer
loss_reason_describe(const struct job *job, uint32_t rank)
{
    const struct suspicion *suspicion = &job->suspicion;
    bool *flags = memory_calloc(2 * (size_t)job->world.size, sizeof(*flags));
    struct rank_set host = {.is_in_set = flags + job->world.size};
    struct text_buffer reason = {0};
    bool is_complained_of = false;
    bool is_broken = false;

    for (uint32_t from = 0; from < job->world.size; from++) {
        const uint8_t view = suspicion_view_of(job, from, rank);

        flags[from] = rank_is_active(job, from) && view_is_complaint(view);
        is_complained_of |= flags[from];
        is_broken |= flags[from] && view == VIEW_BROKEN;
    }
    host_ranks_collect(job, rank, &host);
    /* A reason that names a HOOP_ setting is the cause, so do not blame the
     * network. */
    if (host_is_cut_off(job, &host) &&
        !strstr(suspicion->ranks[rank].reason, "HOOP_"))
        host_cut_off_describe(&reason, job, &host);
    else if (is_complained_of)
        complaint_describe(&reason, &suspicion->ranks[rank], is_broken);
    else
        rank_deafness_describe(&reason, job, rank, &host);
    if (is_complained_of) {
        text_buffer_append(&reason, EVIDENCE_REPORTED_BY);
        ranks_describe(&reason, job, flags);
    }
    free(flags);
    return reason;
}

/* Declare lost all ranks that can be decided now. */
static void
suspicion_declare_lost(struct cluster *cluster, struct job *job)
{
    struct suspicion *suspicion = &job->suspicion;
    bool *flags = memory_calloc(4 * (size_t)job->world.size, sizeof(*flags));
    struct suspicion_count *counts =
        memory_calloc(job->world.size, sizeof(*counts));
    bool *is_living = flags;
    bool *is_heard_by_coordinator = flags + job->world.size;
    bool *has_answered = is_heard_by_coordinator + job->world.size;
    bool *has_complained_or_answered = has_answered + job->world.size;
    const struct suspicion_reports words = {
        .n_ranks = job->world.size,
        .views = suspicion->views,
        .is_living = is_living,
        .is_heard_by_coordinator = is_heard_by_coordinator,
        .has_answered = has_answered,
        .has_complained_or_answered = has_complained_or_answered,
    };
    bool is_settled = false;
    uint32_t rank;

    for (rank = 0; rank < job->world.size; rank++) {
        is_living[rank] =
            job->world.ranks[rank]->state == CLUSTER_MEMBER_ACTIVE;
        is_heard_by_coordinator[rank] =
            suspicion->ranks[rank].is_heard_by_coordinator;
        has_answered[rank] = suspicion->ranks[rank].has_answered;
        has_complained_or_answered[rank] =
            suspicion->ranks[rank].has_complained_or_answered;
    }
    suspicion_count(&words, counts);
    while ((rank = suspicion_choose_lost_rank(&words, counts, &is_settled)) !=
               SUSPICION_NO_RANK &&
           (is_settled || cluster->now_ns >= suspicion->decision_deadline_ns)) {
        const struct text_buffer reason = loss_reason_describe(job, rank);

        is_living[rank] = false;
        suspicion_count_remove_rank(&words, rank, counts);
        membership_declare_lost(cluster, job->world.ranks[rank], reason.text);
    }
    if (rank == SUSPICION_NO_RANK)
        suspicion->decision_deadline_ns = UINT64_MAX;
    free(counts);
    free(flags);
}

/* Return whether it is worth running the rule now. */
static bool
suspicion_can_decide(const struct cluster *cluster, const struct job *job)
{
    const struct suspicion *suspicion = &job->suspicion;

    if (suspicion->decision_deadline_ns == UINT64_MAX)
        return false;
    if (job->world.size <= EAGER_RULE_RANKS_MAX ||
        cluster->now_ns >= suspicion->decision_deadline_ns)
        return true;
    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        if (!suspicion->ranks[rank].has_answered &&
            job->world.ranks[rank]->state == CLUSTER_MEMBER_ACTIVE)
            return false;
    }
    return true;
}

/* Decide what can be decided, and set the time of the next look. */
static void
suspicion_evaluate(struct cluster *cluster, struct job *job)
{
    struct suspicion *suspicion = &job->suspicion;

    if (suspicion_can_decide(cluster, job))
        suspicion_declare_lost(cluster, job);
    if (cluster->now_ns >= suspicion->query_close_ns &&
        suspicion->decision_deadline_ns == UINT64_MAX) {
        suspicion_close_query(cluster, job);
        return;
    }
    suspicion_extend_query(cluster, job, 0);
}

void
suspicion_on_timer(struct cluster *cluster, struct job *job)
{
    suspicion_evaluate(cluster, job);
}

bool
suspicion_add_complaint(struct cluster *cluster,
                        const struct member *reporter,
                        const struct member *accused,
                        const struct cluster_failure_report *call)
{
    struct job *job = reporter->job;
    struct suspicion *suspicion = &job->suspicion;
    const uint32_t slack_ms = call->slack_ms < REPORT_SLACK_MS_MAX
                                  ? call->slack_ms
                                  : REPORT_SLACK_MS_MAX;
    const uint64_t decision_deadline_ns =
        cluster->now_ns + (EVIDENCE_DECIDE_MS + slack_ms) * CLOCK_NS_PER_MS;

    if (job->world.size > SUSPICION_QUERY_RANKS_MAX)
        return false;
    if (suspicion->number == 0 ||
        suspicion->decision_deadline_ns == UINT64_MAX) {
        suspicion_open_query(cluster, job, decision_deadline_ns);
        suspicion->decision_deadline_ns = decision_deadline_ns;
    }
    suspicion
        ->views[(uint64_t)reporter->rank * job->world.size + accused->rank] =
        evidence_rows[call->evidence].is_waited ? VIEW_SILENT : VIEW_BROKEN;
    suspicion->ranks[reporter->rank].is_heard_by_coordinator = true;
    suspicion->ranks[reporter->rank].has_complained_or_answered = true;

    char *reason = suspicion->ranks[accused->rank].reason;
    if (!reason[0])
        membership_sanitize_reason(call->reason, COMPLAINT_REASON_BYTES_MAX,
                                   reason);
    suspicion_evaluate(cluster, job);
    return true;
}

void
suspicion_add_answer(struct cluster *cluster,
                     const struct member *member,
                     const struct cluster_member_renewal *call)
{
    struct job *job = member->job;
    struct suspicion *suspicion = &job->suspicion;

    if (suspicion->number == 0 || call->question != suspicion->number)
        return;
    suspicion->ranks[member->rank].is_heard_by_coordinator = true;
    if (call->n_views != job->world.size)
        return;
    uint8_t *views =
        suspicion->views + (uint64_t)member->rank * job->world.size;
    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        views[rank] = call->views[rank] < VIEW_KINDS && rank != member->rank
                          ? call->views[rank]
                          : VIEW_NONE;
        if (view_is_complaint(views[rank]) && !suspicion->ranks[rank].reason[0])
            strcpy(suspicion->ranks[rank].reason,
                   views[rank] == VIEW_BROKEN ? "its connection broke"
                                              : "frozen or unreachable");
        if (views[rank] == VIEW_HEARD)
            membership_on_vouched(cluster, job->world.ranks[rank], member);
    }
    suspicion->ranks[member->rank].has_answered = true;
    suspicion->ranks[member->rank].has_complained_or_answered = true;
    suspicion_evaluate(cluster, job);
}

/* Return a member that has answered the open question and hears member, or
 * NULL. */
static const struct member *
member_find_hearer(const struct job *job, const struct member *member)
{
    const struct suspicion *suspicion = &job->suspicion;

    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        const uint8_t *views =
            suspicion->views + (uint64_t)rank * job->world.size;

        if (suspicion->ranks[rank].has_answered &&
            job->world.ranks[rank]->state == CLUSTER_MEMBER_ACTIVE &&
            views[member->rank] == VIEW_HEARD)
            return job->world.ranks[rank];
    }
    return NULL;
}

/* Return whether the open question is recent or awaits a decision. A new
 * question would make the answers on their way useless. */
static bool
suspicion_query_is_pending(const struct cluster *cluster, const struct job *job)
{
    const struct suspicion *suspicion = &job->suspicion;
    const uint64_t half_ns = EVIDENCE_LEASE_MS * CLOCK_NS_PER_MS / 2;

    return suspicion->number != 0 &&
           (suspicion->decision_deadline_ns != UINT64_MAX ||
            cluster->now_ns - suspicion->query_opened_ns < half_ns);
}

bool
suspicion_query_ranks(struct cluster *cluster, const struct member *member)
{
    const uint64_t query_close_ns =
        cluster->now_ns + EVIDENCE_LEASE_MS * CLOCK_NS_PER_MS;
    struct job *job = member->job;
    const struct waiter *waiter;

    TAILQ_FOREACH(waiter, &job->waiters, link)
    {
        if (waiter->kind == WAITER_MEMBERSHIP_WATCH &&
            waiter->seen.question != CLUSTER_NO_QUESTION)
            break;
    }
    if (!waiter || job->world.size > SUSPICION_QUERY_RANKS_MAX)
        return false;
    const struct member *by = NULL;
    if (suspicion_query_is_pending(cluster, job))
        by = member_find_hearer(job, member);
    else
        suspicion_open_query(cluster, job, query_close_ns);
    if (by)
        membership_on_vouched(cluster, job->world.ranks[member->rank], by);
    else
        suspicion_extend_query(cluster, job, query_close_ns);
    return true;
}
