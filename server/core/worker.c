/* core/worker.c - a worker of a job, with its memberships in one or more
 * worlds */

#include "core/worker.h"

#include "core/job.h"
#include "core/journal.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/state.h"

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

void
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
