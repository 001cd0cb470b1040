/* core/member.c - one worker's membership of a world, from its join to its
 * end */

#include "core/member.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"
#include "core/state.h"
#include "core/waiter.h"

/*
 * A worker of a job, with its memberships in one or more.
 *
 * worlds
 */

static struct worker *
worker_find_or_create(struct job *root, uint64_t id)
{
    struct worker *worker = NULL;

    HASH_FIND(hh, root->workers, &id, sizeof(id), worker);
    if (worker)
        return worker;
    worker = memory_alloc_charged(&root->memory, 1, sizeof(*worker));
    worker->id = id;
    worker->root = root;
    LIST_INIT(&worker->memberships);
    HASH_ADD(hh, root->workers, id, sizeof(worker->id), worker);
    job_recount_table_bytes(root);
    return worker;
}

static bool
member_is_living(const struct member *member)
{
    return member->state == CLUSTER_MEMBER_JOINING ||
           member->state == CLUSTER_MEMBER_ACTIVE;
}

void
worker_add_member(struct cluster *cluster, struct member *member, uint64_t id)
{
    struct worker *worker = worker_find_or_create(job_root(member->job), id);

    member->worker = worker;
    LIST_INSERT_HEAD(&worker->memberships, member, membership);
    if (!member_is_living(member))
        return;
    if (worker->n_living == 0) {
        worker->root->n_workers++;
        cluster->counters.members++;
    }
    worker->n_living++;
}

bool
worker_end_member(struct cluster *cluster, struct member *member)
{
    struct worker *worker = member->worker;
    struct job *root = worker->root;

    if (member->state != CLUSTER_MEMBER_JOINING)
        worker->end_state = member->state;
    worker->n_living--;
    if (worker->n_living > 0)
        return false;
    root->n_workers--;
    cluster->counters.members--;
    root->n_workers_left += worker->end_state == CLUSTER_MEMBER_LEFT;
    root->n_workers_lost += worker->end_state == CLUSTER_MEMBER_LOST;
    if (worker->end_state != CLUSTER_MEMBER_JOINING)
        journal_write_job(cluster, root);
    return true;
}

/* Remove a member that is about to be freed; also frees the worker with its
 * last member. */
static void
worker_remove_member(struct member *member)
{
    struct worker *worker = member->worker;

    if (!worker)
        return;
    LIST_REMOVE(member, membership);
    member->worker = NULL;
    if (!LIST_EMPTY(&worker->memberships))
        return;

    struct job *root = worker->root;

    HASH_DEL(root->workers, worker);
    job_recount_table_bytes(root);
    memory_free_charged(&root->memory, worker);
}

struct member *
worker_newest_living(const struct worker *worker)
{
    struct member *member = NULL;

    LIST_FOREACH(member, &worker->memberships, membership)
    {
        if (member_is_living(member))
            return member;
    }
    return NULL;
}

const struct member *
worker_newest_active(const struct worker *worker)
{
    const struct member *member = NULL;

    LIST_FOREACH(member, &worker->memberships, membership)
    {
        if (member->state == CLUSTER_MEMBER_ACTIVE)
            return member;
    }
    return NULL;
}

/*
 *   JOINING -> ACTIVE -> LEFT
 *                   \--> LOST
 *
 * A join that is refused or withdrawn leaves nothing behind. A member never
 * comes back from LOST: a worker that returns is a new member with a new
 * incarnation.
 */
static const struct {
    const char *name;
    unsigned int next;
} member_states[] = {
    [CLUSTER_MEMBER_JOINING] = {"joining", 1U << CLUSTER_MEMBER_ACTIVE},
    [CLUSTER_MEMBER_ACTIVE] = {"active", 1U << CLUSTER_MEMBER_LEFT |
                                             1U << CLUSTER_MEMBER_LOST},
    [CLUSTER_MEMBER_LEFT] = {"left", 0},
    [CLUSTER_MEMBER_LOST] = {"lost", 0},
};

const char *
cluster_member_state_name(enum cluster_member_state state)
{
    return member_states[state].name;
}

/* Copy text to *at and advance *at past it. */
static const char *
text_copy_advance(char **at, const char *text)
{
    const char *placed = *at;

    *at = stpcpy(*at, text) + 1;
    return placed;
}

struct member *
member_create(struct job *job, const struct cluster_join *join)
{
    const char *host_id =
        join->host_id && *join->host_id ? join->host_id : join->host;
    const size_t n_texts =
        strlen(join->host) + strlen(host_id) + strlen(join->address) + 3;
    struct member *member =
        memory_alloc_charged(&job->memory, 1, sizeof(*member) + n_texts);
    char *at = member->texts;

    member->job = job;
    member->state = CLUSTER_MEMBER_JOINING;
    member->incarnation = join->incarnation;
    member->rank = join->rank;
    member->rank_min = join->rank_min;
    member->pid = join->pid;
    member->pid_namespace_id = join->pid_namespace_id;
    member->requested_sizes[MEMBER_REQUEST_SIZE] = join->world_size;
    member->requested_sizes[MEMBER_REQUEST_SIZE_MIN] = join->size_min;
    member->requested_sizes[MEMBER_REQUEST_SETTLE] = join->settle_ms;
    member->is_newcomer = job->root && !join->membership;
    member->lease.kind = TIMER_LEASE;
    TAILQ_INIT(&member->pending);
    TAILQ_INIT(&member->slots);
    member->host = text_copy_advance(&at, join->host);
    member->host_id = text_copy_advance(&at, host_id);
    member->address = text_copy_advance(&at, join->address);
    return member;
}

void
member_destroy(struct member *member)
{
    struct memory_account *memory;

    if (!member)
        return;
    worker_remove_member(member);
    memory = &member->job->memory;
    memory_free_charged(memory, member->reason);
    memory_free_charged(memory, member);
}

void
member_set_state(struct member *member, enum cluster_member_state state)
{
    assert(member_states[member->state].next & 1U << state);
    member->state = state;
}

struct member_label
member_label(const struct member *member)
{
    struct member_label label;

    if (member->rank == CLUSTER_RANK_ANY)
        snprintf(label.text, sizeof(label.text), "%s:%u", member->host,
                 member->pid);
    else
        snprintf(label.text, sizeof(label.text), "rank %u (%s:%u)",
                 member->rank, member->host, member->pid);
    return label;
}

struct text_buffer
member_end_text(const struct member *member)
{
    struct text_buffer fate = {0};

    if (member->state == CLUSTER_MEMBER_LOST)
        text_buffer_append(
            &fate, "%s%s",
            member->has_given_up ? "" : "is lost: ", member->reason);
    else
        text_buffer_append(&fate, "has left the job");
    return fate;
}

enum hoop_status
member_end_status(const struct member *member)
{
    return member->state == CLUSTER_MEMBER_LOST ? HOOP_E_ABORTED
                                                : HOOP_E_PRECONDITION;
}

enum hoop_status
member_raise_rank_taken(const struct member *holder)
{
    return error_raise(HOOP_E_EXISTS,
                       "rank %u is taken by %s:%u at %s: give each worker a "
                       "HOOP_RANK of its own, or none",
                       holder->rank, holder->host, holder->pid,
                       holder->address);
}

enum hoop_status
member_raise_ended(const struct member *member)
{
    const bool is_lost = member->state == CLUSTER_MEMBER_LOST;

    return error_raise(
        HOOP_E_ABORTED, "%s has %s job \"%s\" and must join anew%s%s",
        member_label(member).text, is_lost ? "been declared lost by" : "left",
        job_public_name(member->job), is_lost ? ": " : "",
        is_lost ? member->reason : "");
}

struct cluster_member
member_public_view(const struct member *member, uint64_t now_ns)
{
    const struct timer_entry *end =
        member->waiter ? &member->waiter->timer : &member->lease;

    return (struct cluster_member){
        .rank = member->rank,
        .pid = member->pid,
        .incarnation = member->incarnation,
        .pid_namespace_id = member->pid_namespace_id,
        .host = member->host,
        .host_id = member->host_id,
        .address = member->address,
        .state = member->state,
        .lease_left_ns = end->place && end->deadline_ns > now_ns
                             ? end->deadline_ns - now_ns
                             : 0,
        .reason = member->reason ? member->reason : "",
        .given_up_revision = member->has_given_up ? member->lost_revision : 0,
    };
}
