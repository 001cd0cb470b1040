/* core/waiter.c - parked requests, by ticket and by job */

#include "core/waiter.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/memory.h"
#include "core/state.h"
#include "core/vote.h"

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
        return WAITER_WATCH;
    if (kind == CLUSTER_STORE_WAIT)
        return WAITER_KEYS;
    if (kind == CLUSTER_GROUP_JOIN)
        return WAITER_GROUP_SLOT;
    if (kind == CLUSTER_VOTE)
        return WAITER_VOTE;
    if (kind == CLUSTER_JOB)
        return WAITER_ACTIVITY;
    assert(kind == CLUSTER_STORE_WATCH);
    return WAITER_KEY_WATCH;
}

static struct waiter_condition
waiter_condition_of(const struct cluster_event *event)
{
    struct waiter_condition wants = {.kind = waiter_kind_of_event(event->kind)};

    if (wants.kind == WAITER_KEYS) {
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
    if (cluster->role != ROLE_WORKER && cluster->n_observers >= LIMIT_ONLOOKERS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "%d requests wait whose token is not a worker's, "
                           "the limit: ask again when others have been "
                           "answered",
                           LIMIT_ONLOOKERS);
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
    cluster->n_observers += waiter->role != ROLE_WORKER;
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
    HASH_DEL(cluster->waiters, waiter);
    client_waiters_remove(cluster, waiter);
    TAILQ_REMOVE(&job->waiters, waiter, link);
    timer_heap_remove(&cluster->timer_heap, &waiter->timer);
    cluster->n_observers -= waiter->role != ROLE_WORKER;
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
waiters_of_client(const struct cluster *cluster, uint64_t client)
{
    struct waiter *waiter = NULL;

    HASH_FIND(hh_client, cluster->clients, &client, sizeof(client), waiter);
    return waiter;
}
