/*
 * core/key_wait.c - wait until all of some keys exist
 *
 * A parked wait remembers one missing key and is looked at again only when that
 * key is set. Then all of its keys are looked up again, because a key that
 * existed may have been deleted.
 */

#include "core/key_wait.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/key_call.h"
#include "core/state.h"

/* Leaves room for keys, revisions and framing beside the values. */
enum {
    REPLY_BYTES_MAX = LIMIT_RPC_MESSAGE - LIMIT_STORE_VALUE / 2,
};

/* Return the index of the first key that does not exist, or n_keys. */
static size_t
first_missing_key(const struct store *store,
                  const char *const *keys,
                  size_t n_keys)
{
    size_t i = 0;

    while (i < n_keys && store_find(store, keys[i]))
        i++;
    return i;
}

enum hoop_status
store_keys_fit_reply(const struct store *store,
                     const char *const *keys,
                     size_t n_keys)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_keys; i++) {
        const struct store_entry *entry = store_find(store, keys[i]);

        n_bytes += strlen(keys[i]) + (entry ? entry->n_bytes : 0);
    }
    if (n_bytes > REPLY_BYTES_MAX)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the %zu keys take %zu bytes, over the limit of %d "
                           "for one reply: ask for fewer",
                           n_keys, n_bytes, REPLY_BYTES_MAX);
    return HOOP_OK;
}

static void
store_values_reply(struct cluster *cluster,
                   const struct store *store,
                   const struct cluster_store_entry *entries,
                   size_t n_entries,
                   struct cluster_reply *reply)
{
    cluster->counters.store_reads++;
    reply->kind = CLUSTER_REPLY_STORE;
    reply->store = (struct cluster_store_reply){
        .revision = store->history.revision,
        .entries = entries,
        .n_entries = n_entries,
    };
}

/* Return the entries of keys that all exist. */
static const struct cluster_store_entry *
store_values_view(struct cluster *cluster,
                  const struct store *store,
                  const char *const *keys,
                  size_t n_keys)
{
    struct cluster_store_entry *entries =
        action_list_alloc(&cluster->action_list, n_keys, sizeof(*entries));

    for (size_t i = 0; i < n_keys; i++)
        entries[i] = store_entry_view(store_find(store, keys[i]));
    return entries;
}

enum hoop_status
key_wait(struct cluster *cluster,
         struct job *job,
         const struct cluster_event *event)
{
    const struct cluster_store_keys *keys = &event->keys;
    struct waiter *waiter = NULL;
    enum hoop_status status = store_keys_check(keys);

    if (status != HOOP_OK)
        return error_pass(status);

    const size_t missing =
        first_missing_key(&job->store, keys->keys, keys->n_keys);

    if (missing < keys->n_keys) {
        status = waiter_park(cluster, job, event, &waiter);
        if (status != HOOP_OK)
            return error_pass(status);
        waiter->missing = missing;
        return HOOP_OK;
    }

    status = store_keys_fit_reply(&job->store, keys->keys, keys->n_keys);
    if (status != HOOP_OK)
        return error_pass(status);
    store_values_reply(
        cluster, &job->store,
        store_values_view(cluster, &job->store, keys->keys, keys->n_keys),
        keys->n_keys,
        action_list_add_reply(&cluster->action_list, event->ticket));
    return HOOP_OK;
}

static void
key_wait_reply(struct cluster *cluster, struct waiter *waiter)
{
    const struct store *store = &waiter->job->store;
    const size_t n_keys = waiter->n_keys;
    const enum hoop_status status =
        store_keys_fit_reply(store, waiter->keys, n_keys);

    if (status != HOOP_OK) {
        action_list_fail_reply(&cluster->action_list,
                               waiter_end_with_reply(cluster, waiter), status,
                               "%s", error_text());
        return;
    }

    const struct cluster_store_entry *entries =
        store_values_view(cluster, store, waiter->keys, n_keys);

    store_values_reply(cluster, store, entries, n_keys,
                       waiter_end_with_reply(cluster, waiter));
}

void
key_waits_on_key_set(struct cluster *cluster, struct job *job, const char *key)
{
    struct waiter *waiter = TAILQ_FIRST(&job->waiters);

    while (waiter) {
        struct waiter *next = TAILQ_NEXT(waiter, link);

        if (waiter->kind == WAITER_KEYS &&
            strcmp(waiter->keys[waiter->missing], key) == 0) {
            waiter->missing =
                first_missing_key(&job->store, waiter->keys, waiter->n_keys);
            if (waiter->missing == waiter->n_keys)
                key_wait_reply(cluster, waiter);
        }
        waiter = next;
    }
}

void
key_wait_on_deadline(struct cluster *cluster, struct waiter *waiter)
{
    const struct job *job = waiter->job;
    char key[LIMIT_STORE_KEY];
    size_t n_missing = 0;

    strcpy(key, waiter->keys[waiter->missing]);
    for (size_t i = 0; i < waiter->n_keys; i++)
        n_missing += !store_find(&job->store, waiter->keys[i]);
    action_list_fail_reply(
        &cluster->action_list, waiter_end_with_reply(cluster, waiter),
        HOOP_E_TIMEOUT,
        "nobody has set key \"%.64s\"%s in the store of job \"%s\" "
        "before the deadline",
        key, n_missing > 1 ? " and others" : "", job->name);
}

/*
 * Watch the changes of one key, or of all keys with a prefix.
 *
 * A parked watch knows the revision up to which it has been compared, so
 * each change is compared with it once.
 */

struct key_watch_filter {
    const char *key;
    enum cluster_key_match match;
    uint64_t since;
};

static bool
key_change_matches(const struct key_watch_filter *view, const char *key)
{
    if (view->match == CLUSTER_MATCH_KEY)
        return strcmp(key, view->key) == 0;
    return strncmp(key, view->key, strlen(view->key)) == 0;
}

/* Return the revision of the first matching change after since; 0: none. */
static uint64_t
key_change_find_first(const struct history *history,
                      const struct key_watch_filter *view)
{
    for (uint64_t at = view->since + 1; at <= history->revision; at++)
        if (key_change_matches(view, history_change_at(history, at).key))
            return at;
    return 0;
}

/* Return how many changes one reply holds. */
static size_t
key_changes_count(const struct history *history,
                  const struct key_watch_filter *view)
{
    size_t n_changes = 0;

    for (uint64_t at = view->since + 1; at <= history->revision; at++)
        n_changes +=
            key_change_matches(view, history_change_at(history, at).key);
    return n_changes < LIMIT_PAGE ? n_changes : LIMIT_PAGE;
}

/* Later changes of this step may overwrite the history, so copy what is handed
 * out. */
static struct cluster_key_changes
key_changes_copy(struct cluster *cluster,
                 const struct history *history,
                 const struct key_watch_filter *view)
{
    struct cluster_key_change *items =
        action_list_alloc(&cluster->action_list,
                          key_changes_count(history, view), sizeof(*items));
    struct cluster_key_changes changes = {
        .revision = view->since,
        .items = items,
    };

    while (changes.revision < history->revision &&
           changes.n_items < LIMIT_PAGE) {
        struct cluster_key_change change =
            history_change_at(history, ++changes.revision);

        if (!key_change_matches(view, change.key))
            continue;
        change.key = action_list_copy_text(&cluster->action_list, change.key);
        items[changes.n_items++] = change;
    }
    return changes;
}

static void
key_changes_reply(struct cluster_reply *reply,
                  const struct cluster_key_changes *changes)
{
    reply->kind = CLUSTER_REPLY_KEY_CHANGES;
    reply->key_changes = *changes;
}

static enum hoop_status
key_watch_check(const struct job *job, const struct key_watch_filter *view)
{
    const struct history *history = &job->store.history;

    if (strnlen(view->key, LIMIT_STORE_KEY) == LIMIT_STORE_KEY)
        return error_raise(HOOP_E_INVALID, "a key has 1 to %d bytes",
                           LIMIT_STORE_KEY - 1);
    if (view->since > history->revision)
        return error_raise(HOOP_E_RANGE,
                           "the store of job \"%s\" is at revision %llu, "
                           "before revision %llu to watch from",
                           job->name, (unsigned long long)history->revision,
                           (unsigned long long)view->since);
    if (view->since + 1 < history_first_revision(history))
        return error_raise(HOOP_E_RANGE,
                           "the store of job \"%s\" has forgotten what came "
                           "before revision %llu: list again, watch from there",
                           job->name,
                           (unsigned long long)history_first_revision(history));
    return HOOP_OK;
}

enum hoop_status
key_watch(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event)
{
    struct cluster_event wanted = *event;
    struct waiter *waiter = NULL;

    if (!wanted.scan.prefix)
        wanted.scan.prefix = "";

    const struct key_watch_filter view = {
        .key = wanted.scan.prefix,
        .match = wanted.scan.match,
        .since = wanted.scan.since,
    };
    enum hoop_status status = key_watch_check(job, &view);

    if (status != HOOP_OK)
        return error_pass(status);
    if (key_change_find_first(&job->store.history, &view)) {
        const struct cluster_key_changes changes =
            key_changes_copy(cluster, &job->store.history, &view);

        key_changes_reply(
            action_list_add_reply(&cluster->action_list, event->ticket),
            &changes);
        return HOOP_OK;
    }

    status = waiter_park(cluster, job, &wanted, &waiter);
    if (status != HOOP_OK)
        return error_pass(status);
    waiter->match = view.match;
    waiter->since = job->store.history.revision;
    return HOOP_OK;
}

static struct key_watch_filter
key_watch_filter_of(const struct waiter *waiter)
{
    return (struct key_watch_filter){
        .key = waiter->keys[0],
        .match = waiter->match,
        .since = waiter->since,
    };
}

/* A parked watch never falls behind the history, because jobs are settled often
 * enough. */
static void
key_watch_reply(struct cluster *cluster, struct waiter *waiter)
{
    const struct key_watch_filter view = key_watch_filter_of(waiter);
    const struct cluster_key_changes changes =
        key_changes_copy(cluster, &waiter->job->store.history, &view);

    key_changes_reply(waiter_end_with_reply(cluster, waiter), &changes);
}

void
key_watches_answer(struct cluster *cluster, struct job *job)
{
    const struct history *history = &job->store.history;
    struct waiter *waiter = TAILQ_FIRST(&job->waiters);

    if (job->store.published == history->revision)
        return;
    job->store.published = history->revision;
    while (waiter) {
        struct waiter *next = TAILQ_NEXT(waiter, link);

        if (waiter->kind == WAITER_KEY_WATCH) {
            const struct key_watch_filter view = key_watch_filter_of(waiter);

            if (key_change_find_first(history, &view))
                key_watch_reply(cluster, waiter);
            else
                waiter->since = history->revision;
        }
        waiter = next;
    }
    history_trim(&job->store.history);
}

void
key_watch_on_deadline(struct cluster *cluster, struct waiter *waiter)
{
    key_watch_reply(cluster, waiter);
}
