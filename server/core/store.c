/* core/store.c - the keys and values of a job, and their limits */

#include "core/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"

static void
store_entry_destroy(struct store_entry *entry)
{
    free(entry->value);
    free(entry);
}

void
store_deinit(struct store *store)
{
    struct store_entry *entry = store->entries;

    HASH_CLEAR(hh, store->entries);
    while (entry) {
        struct store_entry *next = entry->hh.next;

        store_entry_destroy(entry);
        entry = next;
    }
    history_deinit(&store->history);
}

void
store_remove_timers(struct cluster *cluster, struct job *job)
{
    for (struct store_entry *entry = job->store.entries; entry;
         entry = entry->hh.next)
        timer_heap_remove(&cluster->timer_heap, &entry->expiry);
    cluster->counters.keys -= job->store.n_keys;
    cluster->counters.store_bytes -= job->store.n_bytes;
}

enum hoop_status
store_key_check(const char *key)
{
    if (!key || !*key || strnlen(key, LIMIT_STORE_KEY) == LIMIT_STORE_KEY)
        return error_raise(HOOP_E_INVALID, "a key has 1 to %d bytes",
                           LIMIT_STORE_KEY - 1);
    return HOOP_OK;
}

struct store_entry *
store_find(const struct store *store, const char *key)
{
    struct store_entry *entry = NULL;

    HASH_FIND_STR(store->entries, key, entry);
    return entry;
}

/* Return the memory of keys and values including the allocation overhead. */
static size_t
store_memory_bytes(size_t n_bytes, size_t n_keys)
{
    return n_bytes + n_keys * LIMIT_STORE_OVERHEAD;
}

/* Check that n_more bytes fit beside those in the store. */
static enum hoop_status
store_limits_check(const struct cluster *cluster,
                   const struct job *job,
                   size_t n_more)
{
    const size_t n_job =
        store_memory_bytes(job->store.n_bytes, job->store.n_keys);
    const size_t n_all = store_memory_bytes(cluster->counters.store_bytes,
                                            cluster->counters.keys);

    if (n_job + n_more > LIMIT_STORE_BYTES)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the store of job \"%s\" has %zu bytes: %zu more "
                           "are over the limit of %d",
                           job->name, n_job, n_more, LIMIT_STORE_BYTES);
    if (n_all + n_more > LIMIT_STORE_TOTAL)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the stores of all jobs have %zu bytes: %zu more "
                           "are over the limit of %d",
                           n_all, n_more, LIMIT_STORE_TOTAL);
    return HOOP_OK;
}

static enum hoop_status
store_put_check(const struct cluster *cluster,
                const struct job *job,
                const char *key,
                const struct store_value *value)
{
    const struct store_entry *entry = store_find(&job->store, key);
    const size_t n_had = entry ? entry->n_bytes : 0;
    const size_t n_wanted =
        value->n_bytes + (entry ? 0 : store_memory_bytes(strlen(key), 1));

    if (value->n_bytes > LIMIT_STORE_VALUE)
        return error_raise(HOOP_E_EXHAUSTED,
                           "a value of %zu bytes is over the limit of %d",
                           value->n_bytes, LIMIT_STORE_VALUE);
    if (!entry && job->store.n_keys >= LIMIT_STORE_KEYS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the store of job \"%s\" has %d keys, the limit",
                           job->name, LIMIT_STORE_KEYS);
    if (n_wanted > n_had)
        return store_limits_check(cluster, job, n_wanted - n_had);
    return HOOP_OK;
}

static struct store_entry *
store_entry_create(struct cluster *cluster, struct job *job, const char *key)
{
    const size_t n_key_bytes = strlen(key);
    struct store_entry *entry =
        memory_calloc(1, sizeof(*entry) + n_key_bytes + 1);

    entry->job = job;
    entry->expiry.kind = TIMER_KEY_EXPIRY;
    memcpy(entry->key, key, n_key_bytes);
    HASH_ADD_KEYPTR(hh, job->store.entries, entry->key, n_key_bytes, entry);
    job->store.n_keys++;
    job->store.n_bytes += n_key_bytes;
    cluster->counters.keys++;
    cluster->counters.store_bytes += n_key_bytes;
    return entry;
}

static void
store_entry_set_value(struct cluster *cluster,
                      struct store_entry *entry,
                      void *bytes,
                      const struct store_value *value)
{
    struct store *store = &entry->job->store;

    store->n_bytes += value->n_bytes - entry->n_bytes;
    cluster->counters.store_bytes += value->n_bytes - entry->n_bytes;
    free(entry->value);
    entry->value = bytes;
    entry->n_bytes = value->n_bytes;
    timer_heap_set(&cluster->timer_heap, &entry->expiry, value->end_ns);
}

/* Handle: HOOP_E_EXHAUSTED (nothing has changed). */
static enum hoop_status
store_entry_put(struct cluster *cluster,
                struct job *job,
                const char *key,
                const struct store_value *value,
                struct store_entry **out_entry)
{
    const enum hoop_status status = store_put_check(cluster, job, key, value);

    if (status != HOOP_OK)
        return error_pass(status);

    void *bytes = malloc(value->n_bytes ? value->n_bytes : 1);

    if (!bytes)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator has no memory for a value of %zu "
                           "bytes",
                           value->n_bytes);
    if (value->n_bytes)
        memcpy(bytes, value->bytes, value->n_bytes);

    struct store_entry *entry = store_find(&job->store, key);

    if (!entry)
        entry = store_entry_create(cluster, job, key);
    store_entry_set_value(cluster, entry, bytes, value);
    *out_entry = entry;
    return HOOP_OK;
}

enum hoop_status
store_put(struct cluster *cluster,
          struct job *job,
          const char *key,
          const struct store_value *value,
          struct store_entry **out_entry)
{
    struct store_entry *entry = NULL;
    const enum hoop_status status =
        store_entry_put(cluster, job, key, value, &entry);

    if (status != HOOP_OK)
        return error_pass(status);
    entry->revision = history_add(&job->store.history, CLUSTER_KEY_SET, key);
    if (!entry->number)
        entry->number = entry->revision;
    journal_write_store_entry(cluster, entry);
    job_mark_touched(cluster, job);
    *out_entry = entry;
    return HOOP_OK;
}

enum hoop_status
store_recover_entry(struct cluster *cluster,
                    struct job *job,
                    const char *key,
                    const struct store_recovered_entry *former)
{
    struct store_entry *entry = NULL;
    enum hoop_status status = store_key_check(key);

    if (status == HOOP_OK && store_find(&job->store, key))
        status = error_raise(HOOP_E_DATA_LOSS, "a key is there twice");
    if (status == HOOP_OK &&
        (!former->number || former->number > former->revision ||
         former->revision > job->store.history.revision))
        status = error_raise(HOOP_E_DATA_LOSS,
                             "a key has a revision that never was");
    if (status == HOOP_OK)
        status = store_entry_put(cluster, job, key, &former->value, &entry);
    if (status != HOOP_OK)
        return error_pass(status);
    entry->number = former->number;
    entry->revision = former->revision;
    return HOOP_OK;
}

void
store_remove(struct cluster *cluster,
             struct store_entry *entry,
             enum cluster_key_change_kind kind)
{
    struct job *job = entry->job;
    const size_t n_bytes = strlen(entry->key) + entry->n_bytes;

    history_add(&job->store.history, kind, entry->key);
    journal_erase_store_entry(cluster, entry);
    HASH_DEL(job->store.entries, entry);
    timer_heap_remove(&cluster->timer_heap, &entry->expiry);
    job->store.n_keys--;
    job->store.n_bytes -= n_bytes;
    cluster->counters.keys--;
    cluster->counters.store_bytes -= n_bytes;
    job_mark_touched(cluster, job);
    store_entry_destroy(entry);
}

void
store_on_key_expired(struct cluster *cluster, struct store_entry *entry)
{
    cluster->counters.keys_expired++;
    store_remove(cluster, entry, CLUSTER_KEY_EXPIRED);
}

struct cluster_store_entry
store_entry_view(const struct store_entry *entry)
{
    return (struct cluster_store_entry){
        .key = entry->key,
        .value = entry->value,
        .n_bytes = entry->n_bytes,
        .revision = entry->revision,
    };
}
