/*
 * core/admission.c - which workers may join a job, and why others are refused
 *
 * All checks come before the first change, so that a refused join leaves
 * nothing behind, not even a job.
 */

#include "core/admission.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/evidence.h"
#include "base/limits.h"
#include "core/event.h"
#include "core/forming.h"
#include "core/job.h"
#include "core/member.h"
#include "core/membership.h"
#include "core/memory.h"

enum {
    MEMBERS_NAMED_MAX = 4, /* named in one text */
    /* A refused worker that has not tried again for this long has given up. */
    REFUSAL_REMEMBERED_MS = 10000,
};

static bool
join_text_is_valid(const char *text, size_t n_bytes_max)
{
    if (!text || strnlen(text, n_bytes_max) == n_bytes_max)
        return false;
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    return true;
}

static enum hoop_status
join_check_texts(const struct cluster_join *join)
{
    if (!join_text_is_valid(join->host, LIMIT_NAME) || !*join->host)
        return error_raise(HOOP_E_INVALID,
                           "the join names no host of 1 to %d printable bytes",
                           LIMIT_NAME - 1);
    if (join->host_id && !join_text_is_valid(join->host_id, LIMIT_NAME))
        return error_raise(HOOP_E_INVALID,
                           "the join's host id is not of printable bytes, at "
                           "most %d",
                           LIMIT_NAME - 1);
    if (!join_text_is_valid(join->address, LIMIT_ADDRESS) || !*join->address)
        return error_raise(HOOP_E_INVALID,
                           "the join has no address of 1 to %d printable bytes",
                           LIMIT_ADDRESS - 1);
    return HOOP_OK;
}

static enum hoop_status
join_check_numbers(const struct cluster_join *join)
{
    if (!join->incarnation)
        return error_raise(HOOP_E_INVALID, "the join has no incarnation");
    if (join->world_size > LIMIT_RANKS)
        return error_raise(HOOP_E_INVALID,
                           "a world size of %u is over the limit of %d ranks",
                           join->world_size, LIMIT_RANKS);
    if (join->size_min > (join->world_size ? join->world_size : LIMIT_RANKS))
        return error_raise(HOOP_E_INVALID,
                           "a smallest world of %u is larger than the largest",
                           join->size_min);
    if (join->rank != CLUSTER_RANK_ANY && join->rank >= LIMIT_RANKS)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is over the limit of %d ranks", join->rank,
                           LIMIT_RANKS);
    if (join->least_accepted_rank && (join->rank == CLUSTER_RANK_ANY ||
                                      join->least_accepted_rank > join->rank))
        return error_raise(HOOP_E_INVALID,
                           "a least rank of %u goes with a rank that is not "
                           "lower",
                           join->least_accepted_rank);
    return HOOP_OK;
}

static enum hoop_status
join_check(const struct cluster *cluster, const struct cluster_event *event)
{
    const struct cluster_join *join = &event->join;

    if (join->protocol_version != CLUSTER_PROTOCOL_VERSION)
        return error_raise(HOOP_E_PRECONDITION,
                           "this worker speaks version %u of the protocol, the "
                           "coordinator version %d: use the same release of "
                           "hoop for both",
                           join->protocol_version, CLUSTER_PROTOCOL_VERSION);
    if (cluster->is_draining)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "the coordinator is shutting down and takes no "
                           "more workers");
    const enum hoop_status status = join_check_numbers(join);

    if (status != HOOP_OK)
        return error_pass(status);
    return join_check_texts(join);
}

/* A join that is late must not make the attempt fail for the others. This check
 * comes after those that would have refused the join before its deadline too,
 * because they name the cause. */
static enum hoop_status
join_deadline_check(const struct cluster *cluster,
                    const struct cluster_event *event)
{
    if (event->deadline_ns > cluster->now_ns)
        return HOOP_OK;
    return error_raise(HOOP_E_TIMEOUT,
                       "the join deadline had passed when the join came");
}

static enum hoop_status
join_rank_check(const struct cluster *cluster,
                const struct job *job,
                const struct cluster_join *join)
{
    const uint32_t said =
        job ? job_max_world_size(cluster, job) : cluster->world_size;
    const uint32_t size = join->world_size ? join->world_size : said;
    const struct member *holder = NULL;

    if (join->rank == CLUSTER_RANK_ANY)
        return HOOP_OK;
    if (size && join->rank >= size)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is out of range: the world has %u ranks, "
                           "0 to %u",
                           join->rank, size, size - 1);
    if (job)
        holder = job_find_rank_requester(job, join->rank);
    return holder ? member_raise_rank_taken(holder) : HOOP_OK;
}

/* The worker sees in its own PID namespace that processes of members are gone.
 * This evidence suffices to declare them lost (base/evidence.h). */
static void
ended_members_declare_lost(struct cluster *cluster,
                           struct job *job,
                           const struct cluster_join *join)
{
    if (join->ended_epoch != job->world.epoch || join->pid_namespace_id == 0)
        return;
    for (uint32_t rank = 0; rank < job->world.size && rank < join->n_ended;
         rank++) {
        struct member *member = job->world.ranks[rank];
        struct text_buffer reason = {0};

        if (!join->ended[rank] || member->state != CLUSTER_MEMBER_ACTIVE ||
            member->pid_namespace_id != join->pid_namespace_id)
            continue;
        text_buffer_append(&reason,
                           "its process has ended" EVIDENCE_REPORTED_BY
                           "%s:%u, which comes after it",
                           join->host, join->pid);
        membership_declare_lost(cluster, member, reason.text);
    }
}

/* Return whether the member renewed recently and has a request parked on the
 * connection of that renewal, as members always do to watch for changes. */
static bool
member_seems_alive(const struct cluster *cluster, const struct member *member)
{
    const uint64_t half_ns = cluster->lease_ms * CLOCK_NS_PER_MS / 2;

    return cluster->now_ns - member->renewed_ns < half_ns &&
           waiters_of_client(cluster, member->client);
}

enum liveness_filter {
    INCLUDE_ALL_ACTIVE,
    INCLUDE_UNRESPONSIVE_ONLY,
};

/* Name active members as "rank 0 (a:7), rank 1 (b:9) and 2 more". Returns how
 * many there are. */
static uint32_t
active_members_describe(struct text_buffer *text_buffer,
                        const struct cluster *cluster,
                        const struct job *job,
                        enum liveness_filter liveness_filter)
{
    uint32_t n_named = 0;

    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        const struct member *member = job->world.ranks[rank];

        if (member->state != CLUSTER_MEMBER_ACTIVE ||
            (liveness_filter == INCLUDE_UNRESPONSIVE_ONLY &&
             member_seems_alive(cluster, member)))
            continue;
        if (n_named++ < MEMBERS_NAMED_MAX)
            text_buffer_append(text_buffer, "%s%s", n_named > 1 ? ", " : "",
                               member_label(member).text);
    }
    if (n_named > MEMBERS_NAMED_MAX)
        text_buffer_append(text_buffer, " and %u more",
                           n_named - MEMBERS_NAMED_MAX);
    return n_named;
}

static enum hoop_status
job_raise_full(const struct job *job, enum hoop_status status, const char *why)
{
    return error_raise(status,
                       "job \"%s\" is full: %u of %u ranks have joined, epoch "
                       "%llu (%u active, %u left, %u lost)%s",
                       job_public_name(job), job->world.size, job->world.size,
                       (unsigned long long)job->world.epoch, job->n_members,
                       job->n_left, job->n_lost, why);
}

/* Refuse a join of a job whose world has formed, because a world never takes
 * in new members. HOOP_E_UNAVAILABLE makes the worker try again where the
 * job is ending or may have died: restarted workers arrive before the
 * slowest of their predecessors has left or is known to be dead. It also
 * tries again if the world is smaller than it may be, since its members may
 * call hoop_comm_grow(). */
static enum hoop_status
join_refuse_formed_world(struct cluster *cluster,
                         struct job *job,
                         const struct cluster_join *join)
{
    struct text_buffer names = {0};
    struct text_buffer why = {0};

    ended_members_declare_lost(cluster, job_newest_world(job), join);
    if (!LIST_EMPTY(&job->grown))
        text_buffer_append(&why, "; it has grown");
    if (job->n_left || job->n_lost) {
        if (active_members_describe(&names, cluster, job, INCLUDE_ALL_ACTIVE) >
            0)
            text_buffer_append(&why, "; it ends when these have left, too: %s",
                               names.text);
        return job_raise_full(job, HOOP_E_UNAVAILABLE, why.text);
    }
    if (join->rank < job->world.size &&
        member_seems_alive(cluster, job->world.ranks[join->rank]))
        return member_raise_rank_taken(job->world.ranks[join->rank]);
    if (active_members_describe(&names, cluster, job,
                                INCLUDE_UNRESPONSIVE_ONLY) == 0) {
        text_buffer_append(&why, "; it takes others when its members call "
                                 "hoop_comm_grow()");
        return job_raise_full(job,
                              job->world.size < job->world.size_max
                                  ? HOOP_E_UNAVAILABLE
                                  : HOOP_E_PRECONDITION,
                              why.text);
    }
    text_buffer_append(
        &why,
        "; not connected, and lost unless they come back before their "
        "leases end: %s",
        names.text);
    return job_raise_full(job, HOOP_E_UNAVAILABLE, why.text);
}

static enum hoop_status
join_memory_check(const struct cluster *cluster,
                  const struct job *job,
                  const struct cluster_join *join)
{
    /* What the world allocates for each member when it forms. */
    const size_t n_place = sizeof(struct member *) +
                           sizeof(struct cluster_member) +
                           sizeof(struct cluster_membership_change);
    /* The third name: the host also serves as host id if there is none. */
    const size_t n_member = sizeof(struct member) + sizeof(struct worker) +
                            3 * (LIMIT_NAME + 1) + strlen(join->address);

    /* For a world by which a job grows, neither the job nor its members are
     * new. */
    if (!job && !join->root && cluster->counters.jobs >= LIMIT_JOBS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator serves %d jobs, the limit",
                           LIMIT_JOBS);
    if (!join->root && cluster->counters.members >= LIMIT_MEMBERS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator serves %d workers, the limit",
                           LIMIT_MEMBERS);
    if (job && job->n_members >= LIMIT_RANKS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "job \"%s\" has %d workers, the limit", job->name,
                           LIMIT_RANKS);
    if (!job)
        return memory_check_limit(&cluster->memory,
                                  sizeof(struct job) + n_member + 2 * n_place);
    return memory_check_limit(&job->memory,
                              n_member + (job->n_members + 2) * n_place);
}

/* The same incarnation joins again: its first answer may have been lost. */
static enum hoop_status
join_retry_answer(struct cluster *cluster,
                  struct member *member,
                  const struct cluster_event *event)
{
    struct job *job = member->job;
    struct waiter *former = member->waiter;
    struct waiter *waiter = NULL;

    member->client = event->client;
    if (member->state == CLUSTER_MEMBER_ACTIVE) {
        forming_fill_world_reply(
            cluster, member,
            action_list_add_reply(&cluster->action_list, event->ticket));
        return HOOP_OK;
    }
    if (member->state != CLUSTER_MEMBER_JOINING)
        return member_raise_ended(member);

    enum hoop_status status = join_deadline_check(cluster, event);

    if (status == HOOP_OK)
        status = waiter_park(cluster, job, event, &waiter);
    if (status != HOOP_OK)
        return error_pass(status);
    action_list_fail_reply(
        &cluster->action_list, waiter_end_with_reply(cluster, former),
        HOOP_E_CANCELLED, "the same worker has joined again");
    member->waiter = waiter;
    waiter->member = member;
    return HOOP_OK;
}

static void
member_notice_add(struct cluster *cluster,
                  const struct member *member,
                  enum cluster_log_notice_kind kind)
{
    const struct job *job = member->job;
    const uint32_t size = job_max_world_size(cluster, job);
    char sized[32] = "no world size yet";

    if (size > 0)
        snprintf(sized, sizeof(sized), "world size %u", size);
    if (job->root && !member->is_newcomer) {
        if (kind == CLUSTER_NOTICE_JOINED && job->n_members == 1)
            growth_log_begin(cluster, job);
        return;
    }
    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){
            .kind = kind, .job = job_public_name(job), .rank = member->rank},
        "%s at %s %s job \"%s\": %u there, %s", member_label(member).text,
        member->address,
        kind == CLUSTER_NOTICE_JOINED ? "joins" : "withdraws from",
        job_public_name(job), job->n_members, sized);
}

static enum hoop_status
join_add_member(struct cluster *cluster,
                struct job *job,
                const struct cluster_event *event,
                const struct cluster_join *join)
{
    struct waiter *waiter = NULL;
    const enum hoop_status status = waiter_park(cluster, job, event, &waiter);

    if (status != HOOP_OK)
        return error_pass(status);

    struct member *member = member_create(job, join);

    member->client = event->client;
    member->waiter = waiter;
    waiter->member = member;
    HASH_ADD(hh, job->members, incarnation, sizeof(member->incarnation),
             member);
    if (member->rank != CLUSTER_RANK_ANY)
        HASH_ADD(hh_rank, job->joins.requests, rank, sizeof(member->rank),
                 member);
    job_recount_table_bytes(job);
    TAILQ_INSERT_TAIL(&job->arrivals, member, arrival);
    job_add_requested_sizes(job, member);
    timer_heap_remove(&cluster->timer_heap, &job->grace);
    job->n_members++;
    job->joins.n_newcomers += member->is_newcomer;
    worker_add_member(cluster, member, growth_worker_id(job, join));
    job->world.seed ^= event->join.seed;
    job->joins.last_ns = cluster->now_ns;
    member_notice_add(cluster, member, CLUSTER_NOTICE_JOINED);
    forming_form_if_full(cluster, job);
    return HOOP_OK;
}

/* job is NULL if it has to be created, as a world of root if root is not
 * NULL. */
static enum hoop_status
join_check_and_add(struct cluster *cluster,
                   struct job *job,
                   struct job *root,
                   const struct cluster_event *event)
{
    const struct cluster_join *join = &event->join;
    enum hoop_status status =
        job ? job_check_requested_sizes(cluster, job, join) : HOOP_OK;

    if (status == HOOP_OK)
        status = join_rank_check(cluster, job, join);
    if (status == HOOP_OK)
        status = join_memory_check(cluster, job, join);
    if (status == HOOP_OK)
        status = join_deadline_check(cluster, event);
    if (status != HOOP_OK)
        return error_pass(status);

    if (!job) {
        job = root ? job_create_grown(cluster, event->job, root)
                   : job_create(cluster, event->job, event->token);
        job_mark_touched(cluster, job);
    }
    return join_add_member(cluster, job, event, join);
}

/* Admit a newcomer to a job whose world has formed, into the next world it
 * grows by. */
static enum hoop_status
newcomer_join_grown_world(struct cluster *cluster,
                          struct job *job,
                          const struct cluster_event *event)
{
    struct job *grown = growth_find_world(job, event->join.incarnation);
    struct cluster_join join;

    if (!grown)
        return join_refuse_formed_world(cluster, job, &event->join);
    struct member *known = job_find_member(grown, event->join.incarnation);
    if (known)
        return join_retry_answer(cluster, known, event);

    enum hoop_status status = growth_adapt_join(grown, &event->join, &join);

    if (status == HOOP_OK)
        status = join_memory_check(cluster, grown, &join);
    if (status == HOOP_OK)
        status = join_deadline_check(cluster, event);
    if (status == HOOP_OK)
        status = join_add_member(cluster, grown, event, &join);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
admission_handle_join(struct cluster *cluster,
                      struct job *job,
                      const struct cluster_event *event)
{
    const struct cluster_join *join = &event->join;
    struct job *root = NULL;
    struct member *known = NULL;
    enum hoop_status status = join_check(cluster, event);

    if (status == HOOP_OK && join->root)
        status = growth_check_join(cluster, job, event, &root);
    if (status != HOOP_OK)
        return error_pass(status);
    if (job)
        known = job_find_member(job, join->incarnation);
    if (known)
        return join_retry_answer(cluster, known, event);
    if (job && job->root && !root)
        return error_raise(HOOP_E_PRECONDITION,
                           "\"%s\" is a world of job \"%s\": join that",
                           job->name, job->root->name);
    if (!job || job->state != CLUSTER_JOB_RUNNING)
        return join_check_and_add(cluster, job, root, event);
    return root ? job_raise_full(job, HOOP_E_PRECONDITION, "")
                : newcomer_join_grown_world(cluster, job, event);
}

void
admission_withdraw_join(struct cluster *cluster, struct member *member)
{
    struct job *job = member->job;

    assert(member->state == CLUSTER_MEMBER_JOINING);
    assert(!member->waiter);
    HASH_DEL(job->members, member);
    if (member->rank != CLUSTER_RANK_ANY)
        HASH_DELETE(hh_rank, job->joins.requests, member);
    job_recount_table_bytes(job);
    TAILQ_REMOVE(&job->arrivals, member, arrival);
    job->n_members--;
    job->joins.n_newcomers -= member->is_newcomer;
    worker_end_member(cluster, member);
    job_remove_requested_sizes(cluster, job, member);
    member_notice_add(cluster, member, CLUSTER_NOTICE_WITHDRAWN);
    member_destroy(member);
    job_mark_touched(cluster, job);
    forming_set_settle_timer(cluster, job);
}

/* Whether a refused worker that will try again is logged. */
enum refusal_log_state {
    REFUSAL_LOGGED_BEFORE, /* logged before, or too many workers to remember */
    REFUSAL_FIRST_TIME,
    REFUSAL_LAST_REMEMBERED, /* the last one that can be remembered */
};

static enum refusal_log_state
refusal_remember(const struct cluster *cluster,
                 struct job *job,
                 uint64_t incarnation)
{
    const uint64_t keep_ns = REFUSAL_REMEMBERED_MS * CLOCK_NS_PER_MS;
    struct refused_worker *place = NULL;
    uint32_t n_free = 0;

    for (uint32_t i = 0; i < JOB_REFUSED_WORKERS_MAX; i++) {
        struct refused_worker *refused = &job->joins.refused[i];

        if (refused->incarnation == incarnation) {
            refused->when_ns = cluster->now_ns;
            return REFUSAL_LOGGED_BEFORE;
        }
        if (refused->incarnation &&
            cluster->now_ns - refused->when_ns < keep_ns)
            continue;
        place = refused;
        n_free++;
    }
    if (!place)
        return REFUSAL_LOGGED_BEFORE;
    *place = (struct refused_worker){incarnation, cluster->now_ns};
    return n_free == 1 ? REFUSAL_LAST_REMEMBERED : REFUSAL_FIRST_TIME;
}

void
admission_log_refusal(struct cluster *cluster,
                      struct job *job,
                      const struct cluster_event *event,
                      const char *text)
{
    const char *name = job_name_is_valid(event->job) ? event->job : "?";
    const struct cluster_log_notice notice = {
        .kind = CLUSTER_NOTICE_REFUSED,
        .job = name,
        .rank = CLUSTER_RANK_ANY,
    };

    if (event->kind != CLUSTER_JOIN) {
        action_list_add_notice(&cluster->action_list, &notice,
                               "a request to job \"%s\" is refused: %s", name,
                               text);
        return;
    }
    cluster->counters.joins_refused++;
    const enum refusal_log_state news =
        job ? refusal_remember(cluster, job, event->join.incarnation)
            : REFUSAL_FIRST_TIME;

    if (news == REFUSAL_LOGGED_BEFORE)
        return;
    action_list_add_notice(
        &cluster->action_list, &notice, "%s:%u is refused: %s%s",
        join_text_is_valid(event->join.host, LIMIT_NAME) ? event->join.host
                                                         : "?",
        event->join.pid, text,
        news == REFUSAL_LAST_REMEMBERED ? "; more who try again are not told of"
                                        : "");
}
