/* core/member.c - one worker's membership of a world, from its join to its
 * end */

#include "core/member.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"
#include "core/vote.h"

/* Parked requests, by ticket and by job. */

/* A binary heap whose entries know their place. */

static void
timer_entry_put_at(struct timer_heap *timer_heap,
                   struct timer_entry *entry,
                   size_t place)
{
    timer_heap->heap[place] = entry;
    entry->place = place;
}

static void
timer_entry_sift_up(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    size_t place = entry->place;

    while (place > 1 &&
           timer_heap->heap[place / 2]->deadline_ns > entry->deadline_ns) {
        timer_entry_put_at(timer_heap, timer_heap->heap[place / 2], place);
        place /= 2;
    }
    timer_entry_put_at(timer_heap, entry, place);
}

static void
timer_entry_sift_down(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    size_t place = entry->place;

    while (place * 2 <= timer_heap->n_entries) {
        size_t child = place * 2;

        if (child < timer_heap->n_entries &&
            timer_heap->heap[child + 1]->deadline_ns <
                timer_heap->heap[child]->deadline_ns)
            child++;
        if (timer_heap->heap[child]->deadline_ns >= entry->deadline_ns)
            break;
        timer_entry_put_at(timer_heap, timer_heap->heap[child], place);
        place = child;
    }
    timer_entry_put_at(timer_heap, entry, place);
}

void
timer_heap_deinit(struct timer_heap *timer_heap)
{
    free(timer_heap->heap);
}

static void
timer_heap_append(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    if (timer_heap->n_entries + 1 >= timer_heap->n_room) {
        timer_heap->n_room = timer_heap->n_room ? 2 * timer_heap->n_room : 64;
        timer_heap->heap = memory_realloc(timer_heap->heap, timer_heap->n_room,
                                          sizeof(*timer_heap->heap));
    }
    timer_heap->n_entries++;
    timer_entry_put_at(timer_heap, entry, timer_heap->n_entries);
}

void
timer_heap_set(struct timer_heap *timer_heap,
               struct timer_entry *entry,
               uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        timer_heap_remove(timer_heap, entry);
        return;
    }
    entry->deadline_ns = deadline_ns;
    if (!entry->place)
        timer_heap_append(timer_heap, entry);
    timer_entry_sift_up(timer_heap, entry);
    timer_entry_sift_down(timer_heap, entry);
}

void
timer_heap_remove(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    if (!entry->place)
        return;
    assert(timer_heap->heap[entry->place] == entry);

    struct timer_entry *last = timer_heap->heap[timer_heap->n_entries--];

    if (last != entry) {
        timer_entry_put_at(timer_heap, last, entry->place);
        timer_entry_sift_up(timer_heap, last);
        timer_entry_sift_down(timer_heap, last);
    }
    entry->place = 0;
}

struct timer_entry *
timer_heap_first(const struct timer_heap *timer_heap)
{
    return timer_heap->n_entries ? timer_heap->heap[1] : NULL;
}

/* What a request waits for: no keys, several keys, or one prefix. */
struct waiter_condition {
    enum waiter_kind kind;
    const char *const *keys;
    size_t n_keys;
    size_t n_bytes; /* with the terminating zeros */
};

static enum waiter_kind
waiter_kind_of_event(enum cluster_event_kind kind)
{
    if (kind == CLUSTER_JOIN)
        return WAITER_JOIN;
    if (kind == CLUSTER_WATCH)
        return WAITER_MEMBERSHIP_WATCH;
    if (kind == CLUSTER_STORE_WAIT)
        return WAITER_KEYS_EXIST;
    if (kind == CLUSTER_GROUP_JOIN)
        return WAITER_GROUP_SLOT;
    if (kind == CLUSTER_VOTE)
        return WAITER_VOTE;
    if (kind == CLUSTER_JOB || kind == CLUSTER_WHY)
        return WAITER_ACTIVITY;
    if (kind == CLUSTER_ASK_RECORDING)
        return WAITER_RECORDING;
    assert(kind == CLUSTER_STORE_WATCH);
    return WAITER_KEY_WATCH;
}

static struct waiter_condition
waiter_condition_of(const struct cluster_event *event)
{
    struct waiter_condition wants = {.kind = waiter_kind_of_event(event->kind)};

    if (wants.kind == WAITER_KEYS_EXIST) {
        wants.keys = event->keys.keys;
        wants.n_keys = event->keys.n_keys;
    }
    if (wants.kind == WAITER_KEY_WATCH) {
        wants.keys = &event->scan.prefix;
        wants.n_keys = 1;
    }
    for (size_t i = 0; i < wants.n_keys; i++)
        wants.n_bytes += strlen(wants.keys[i]) + 1;
    return wants;
}

static enum hoop_status
waiter_limits_check(const struct cluster *cluster,
                    const struct job *job,
                    const struct waiter_condition *wants)
{
    if (cluster->is_draining)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "the coordinator is shutting down");
    if (cluster->role != ROLE_WORKER &&
        cluster->n_non_worker_waiters >= LIMIT_PARKED_REQUESTS_OTHERS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "%d requests wait whose token is not a worker's, "
                           "the limit: ask again when others have been "
                           "answered",
                           LIMIT_PARKED_REQUESTS_OTHERS);
    if (job->n_waiters >= LIMIT_WAITERS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "job \"%s\" has %d waiting requests, the limit",
                           job->name, LIMIT_WAITERS);
    if (job->n_waiter_bytes + wants->n_bytes > LIMIT_WAITER_BYTES)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the keys that job \"%s\" waits for take more than "
                           "%d bytes, the limit",
                           job->name, LIMIT_WAITER_BYTES);
    return memory_check_limit(&job->memory, sizeof(struct waiter) +
                                                wants->n_bytes +
                                                wants->n_keys * sizeof(char *));
}

static struct waiter *
waiter_create(struct job *job, const struct waiter_condition *wants)
{
    const size_t n_pointers = wants->n_keys * sizeof(char *);
    struct waiter *waiter = memory_alloc_charged(
        &job->memory, 1, sizeof(*waiter) + n_pointers + wants->n_bytes);
    char *at = (char *)&waiter->keys[wants->n_keys];

    waiter->job = job;
    waiter->kind = wants->kind;
    waiter->timer.kind = TIMER_WAITER;
    waiter->n_keys = wants->n_keys;
    waiter->n_bytes = wants->n_bytes;
    for (size_t i = 0; i < wants->n_keys; i++) {
        waiter->keys[i] = at;
        at = stpcpy(at, wants->keys[i]) + 1;
    }
    return waiter;
}

static void
client_waiters_add(struct cluster *cluster, struct waiter *waiter)
{
    struct waiter *first = waiters_of_client(cluster, waiter->client);

    if (!first) {
        HASH_ADD(hh_client, cluster->clients, client, sizeof(waiter->client),
                 waiter);
        return;
    }
    waiter->previous = first;
    waiter->next = first->next;
    first->next = waiter;
    if (waiter->next)
        waiter->next->previous = waiter;
}

static void
client_waiters_remove(struct cluster *cluster, struct waiter *waiter)
{
    struct waiter *next = waiter->next;

    if (next)
        next->previous = waiter->previous;
    if (waiter->previous) {
        waiter->previous->next = next;
        return;
    }
    HASH_DELETE(hh_client, cluster->clients, waiter);
    if (next)
        HASH_ADD(hh_client, cluster->clients, client, sizeof(next->client),
                 next);
}

enum hoop_status
waiter_park(struct cluster *cluster,
            struct job *job,
            const struct cluster_event *event,
            struct waiter **out_waiter)
{
    const struct waiter_condition wants = waiter_condition_of(event);
    const enum hoop_status status = waiter_limits_check(cluster, job, &wants);

    if (status != HOOP_OK)
        return error_pass(status);
    assert(!waiter_find(cluster, event->ticket));

    struct waiter *waiter = waiter_create(job, &wants);

    waiter->ticket = event->ticket;
    waiter->client = event->client;
    waiter->parked_ns = cluster->now_ns;
    waiter->role = cluster->role;
    HASH_ADD(hh, cluster->waiters, ticket, sizeof(waiter->ticket), waiter);
    client_waiters_add(cluster, waiter);
    TAILQ_INSERT_TAIL(&job->waiters, waiter, link);
    timer_heap_set(&cluster->timer_heap, &waiter->timer, event->deadline_ns);
    cluster->n_non_worker_waiters += waiter->role != ROLE_WORKER;
    job->n_waiters++;
    job->n_waiter_bytes += waiter->n_bytes;
    cluster->counters.waiters++;
    *out_waiter = waiter;
    return HOOP_OK;
}

static void
waiter_remove(struct cluster *cluster, struct waiter *waiter)
{
    struct job *job = waiter->job;

    if (waiter->member)
        waiter->member->waiter = NULL;
    if (waiter->group_slot)
        waiter->group_slot->waiter = NULL;
    if (waiter->voter)
        waiter->voter->waiter = NULL;
    if (waiter->recording)
        waiter->recording->waiter = NULL;
    HASH_DEL(cluster->waiters, waiter);
    client_waiters_remove(cluster, waiter);
    TAILQ_REMOVE(&job->waiters, waiter, link);
    timer_heap_remove(&cluster->timer_heap, &waiter->timer);
    cluster->n_non_worker_waiters -= waiter->role != ROLE_WORKER;
    job->n_waiters--;
    job->n_waiter_bytes -= waiter->n_bytes;
    cluster->counters.waiters--;
    memory_free_charged(&job->memory, waiter);
}

struct cluster_reply *
waiter_end_with_reply(struct cluster *cluster, struct waiter *waiter)
{
    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, waiter->ticket);

    waiter_remove(cluster, waiter);
    cluster->counters.replies_parked++;
    return reply;
}

void
waiter_end_without_reply(struct cluster *cluster, struct waiter *waiter)
{
    waiter_remove(cluster, waiter);
    cluster->counters.replies_dropped++;
}

void
waiters_fail_all(struct cluster *cluster,
                 struct job *job,
                 enum hoop_status status,
                 const char *format,
                 ...)
{
    char text[LIMIT_ERROR_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);

    while (!TAILQ_EMPTY(&job->waiters)) {
        struct waiter *waiter = TAILQ_FIRST(&job->waiters);

        action_list_fail_reply(&cluster->action_list,
                               waiter_end_with_reply(cluster, waiter), status,
                               "%s", text);
    }
}

struct waiter *
waiter_find(struct cluster *cluster, uint64_t ticket)
{
    struct waiter *waiter = NULL;

    HASH_FIND(hh, cluster->waiters, &ticket, sizeof(ticket), waiter);
    return waiter;
}

struct waiter *
member_parked_watch(const struct cluster *cluster, const struct member *member)
{
    struct waiter *waiter = waiters_of_client(cluster, member->client);

    while (waiter && (waiter->kind != WAITER_MEMBERSHIP_WATCH ||
                      waiter->job != member->job))
        waiter = waiter->next;
    return waiter;
}

struct waiter *
waiters_of_client(const struct cluster *cluster, uint64_t client)
{
    struct waiter *waiter = NULL;

    HASH_FIND(hh_client, cluster->clients, &client, sizeof(client), waiter);
    return waiter;
}

/* A worker of a job, with its memberships in one or more worlds. */

static struct worker *
worker_find_or_create(struct job *root, uint64_t id, const char *host)
{
    struct worker *worker = NULL;

    HASH_FIND(hh, root->workers, &id, sizeof(id), worker);
    if (worker)
        return worker;
    worker = memory_alloc_charged(&root->memory, 1, sizeof(*worker));
    worker->id = id;
    worker->root = root;
    worker->metrics_host = job_metrics_host(root->metrics, host);
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
    struct job *root = job_root(member->job);

    if (!root->metrics)
        root->metrics = job_metrics_begin(&cluster->job_metrics, root->name,
                                          cluster->now_ns);
    struct worker *worker = worker_find_or_create(root, id, member->host);

    member->worker = worker;
    LIST_INSERT_HEAD(&worker->memberships, member, membership);
    if (worker->n_living_memberships == 0)
        job_metrics_set_state(worker, member->state);
    if (!member_is_living(member))
        return;
    if (worker->n_living_memberships == 0) {
        worker->root->n_workers++;
        cluster->counters.members++;
    }
    worker->n_living_memberships++;
}

bool
worker_end_member(struct cluster *cluster, struct member *member)
{
    struct worker *worker = member->worker;
    struct job *root = worker->root;

    if (member->state != CLUSTER_MEMBER_JOINING)
        worker->last_end_state = member->state;
    worker->n_living_memberships--;
    if (worker->n_living_memberships > 0)
        return false;
    if (worker->last_end_state == CLUSTER_MEMBER_JOINING)
        job_metrics_forget(worker);
    else
        job_metrics_set_state(worker, worker->last_end_state);
    root->n_workers--;
    cluster->counters.members--;
    root->n_workers_left += worker->last_end_state == CLUSTER_MEMBER_LEFT;
    root->n_workers_lost += worker->last_end_state == CLUSTER_MEMBER_LOST;
    if (worker->last_end_state != CLUSTER_MEMBER_JOINING)
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
worker_newest_active_member(const struct worker *worker)
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
    member->least_accepted_rank = join->least_accepted_rank;
    member->pid = join->pid;
    member->pid_namespace_id = join->pid_namespace_id;
    member->requested_sizes[MEMBER_REQUEST_SIZE] = join->world_size;
    member->requested_sizes[MEMBER_REQUEST_SIZE_MIN] = join->size_min;
    member->requested_sizes[MEMBER_REQUEST_SETTLE_MS] = join->settle_ms;
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
    memory_free_charged(memory, member->failure);
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

void
text_buffer_append(struct text_buffer *text_buffer, const char *format, ...)
{
    const size_t n_room = sizeof(text_buffer->text) - text_buffer->n_bytes;
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(text_buffer->text + text_buffer->n_bytes, n_room,
                            format, arguments);
    va_end(arguments);

    if (n < 0)
        return;
    if ((size_t)n < n_room) {
        text_buffer->n_bytes += (size_t)n;
        return;
    }
    text_buffer->n_bytes = sizeof(text_buffer->text) - 1;
    memcpy(text_buffer->text + text_buffer->n_bytes - 3, "...", 3);
}

struct text_buffer
member_end_text(const struct member *member)
{
    struct text_buffer fate = {0};

    if (member->state == CLUSTER_MEMBER_LOST)
        text_buffer_append(&fate, "%s%s",
                           member->has_reported_own_failure ? "" : "is lost: ",
                           member->reason);
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
        .given_up_revision =
            member->has_reported_own_failure ? member->lost_revision : 0,
        .totals = &member->totals,
        .lost_revision = member->lost_revision,
        .lost_ns =
            member->lost_revision > 0
                ? now_ns - member->job->world.changes[member->lost_revision - 1]
                               .when_ns
                : 0,
    };
}
