/* core/key_call.c - the store calls that are answered at once */

#include "core/key_call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"

static enum hoop_status
store_keys_fit_reply(const struct store *store,
                     const char *const *keys,
                     size_t n_keys);

static void
key_waits_on_key_set(struct cluster *cluster, struct job *job, const char *key);

/* Room for a decimal int64 with its sign. */
enum {
    COUNTER_TEXT_BYTES = 24,
};

static struct cluster_reply *
store_reply_add(struct cluster *cluster,
                const struct job *job,
                const struct cluster_event *event)
{
    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    reply->kind = CLUSTER_REPLY_STORE;
    reply->store.revision = job->store.history.revision;
    return reply;
}

/* Store the value, then answer the writer, then the requests that waited for
 * the key. */
static enum hoop_status
store_write_and_answer(struct cluster *cluster,
                       struct job *job,
                       const struct cluster_event *event,
                       const struct store_value *value,
                       int64_t counter)
{
    struct store_entry *entry = NULL;
    const enum hoop_status status =
        store_put(cluster, job, event->write.key, value, &entry);

    if (status != HOOP_OK)
        return error_pass(status);
    cluster->counters.store_writes++;
    store_reply_add(cluster, job, event)->store.counter = counter;
    key_waits_on_key_set(cluster, job, entry->key);
    return HOOP_OK;
}

static enum hoop_status
store_write_check(const struct cluster_store_write *write)
{
    if (write->n_bytes && !write->value)
        return error_raise(HOOP_E_INVALID, "a value of %zu bytes is missing",
                           write->n_bytes);
    return store_key_check(write->key);
}

/* A lifetime that overflows the clock counts as unlimited. */
static uint64_t
ttl_expiry_ns(const struct cluster *cluster, uint64_t ttl_ms)
{
    const uint64_t ttl_ms_max =
        (UINT64_MAX - cluster->now_ns) / CLOCK_NS_PER_MS;

    if (!ttl_ms || ttl_ms >= ttl_ms_max)
        return UINT64_MAX;
    return cluster->now_ns + ttl_ms * CLOCK_NS_PER_MS;
}

static struct store_value
store_value_of_write(const struct cluster *cluster,
                     const struct cluster_store_write *write)
{
    return (struct store_value){
        .bytes = write->value,
        .n_bytes = write->n_bytes,
        .end_ns = ttl_expiry_ns(cluster, write->ttl_ms),
    };
}

enum hoop_status
key_set(struct cluster *cluster,
        struct job *job,
        const struct cluster_event *event)
{
    const struct store_value value =
        store_value_of_write(cluster, &event->write);
    const enum hoop_status status = store_write_check(&event->write);

    if (status != HOOP_OK)
        return error_pass(status);
    return store_write_and_answer(cluster, job, event, &value, 0);
}

/* Handle: HOOP_E_PRECONDITION (not a decimal int64). */
static enum hoop_status
counter_parse(const struct store_entry *entry, int64_t *out_counter)
{
    char text[COUNTER_TEXT_BYTES] = {0};
    char *end = text;
    const bool fits = entry->n_bytes > 0 && entry->n_bytes < sizeof(text);

    if (fits)
        memcpy(text, entry->value, entry->n_bytes);

    errno = 0;
    const int64_t counter = strtoll(text, &end, 10);
    const bool is_number = (text[0] >= '0' && text[0] <= '9') || text[0] == '-';

    if (!fits || !is_number || errno || end != text + entry->n_bytes)
        return error_raise(HOOP_E_PRECONDITION,
                           "key \"%.64s\" holds no decimal number to add to",
                           entry->key);
    *out_counter = counter;
    return HOOP_OK;
}

enum hoop_status
key_add_to_counter(struct cluster *cluster,
                   struct job *job,
                   const struct cluster_event *event)
{
    const struct cluster_store_write *write = &event->write;
    enum hoop_status status = store_key_check(write->key);
    int64_t counter = 0;

    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_entry *entry = store_find(&job->store, write->key);

    if (entry)
        status = counter_parse(entry, &counter);
    if (status != HOOP_OK)
        return error_pass(status);

    int64_t sum = 0;

    if (__builtin_add_overflow(counter, write->delta, &sum))
        return error_raise(HOOP_E_RANGE,
                           "%" PRId64 " + %" PRId64 " in key \"%.64s\" does "
                           "not fit 64 bits",
                           counter, write->delta, write->key);

    char text[COUNTER_TEXT_BYTES];
    const int n_bytes = snprintf(text, sizeof(text), "%" PRId64, sum);
    const bool keeps_end = entry && entry->expiry.place && !write->ttl_ms;
    const struct store_value value = {
        .bytes = text,
        .n_bytes = (size_t)n_bytes,
        .end_ns = keeps_end ? entry->expiry.deadline_ns
                            : ttl_expiry_ns(cluster, write->ttl_ms),
    };

    return store_write_and_answer(cluster, job, event, &value, sum);
}

static bool
swap_expectation_matches(const struct store_entry *entry,
                         const struct cluster_store_write *write)
{
    if (write->expect == CLUSTER_EXPECT_ABSENT)
        return !entry;
    if (!entry || entry->n_bytes != write->n_expected)
        return false;
    return !entry->n_bytes ||
           memcmp(entry->value, write->expected, entry->n_bytes) == 0;
}

static struct cluster_store_entry
store_entry_or_absent(struct cluster *cluster,
                      const struct store_entry *entry,
                      const char *key)
{
    if (entry)
        return store_entry_view(entry);
    return (struct cluster_store_entry){
        .key = action_list_copy_text(&cluster->action_list, key)};
}

/* Answer a lost compare-and-set: the reply says what is there instead. */
static void
swap_answer_mismatch(struct cluster *cluster,
                     const struct job *job,
                     const struct cluster_event *event)
{
    const char *key = event->write.key;
    const struct store_entry *entry = store_find(&job->store, key);
    struct cluster_store_entry *shown =
        action_list_alloc(&cluster->action_list, 1, sizeof(*shown));
    struct cluster_reply *reply = store_reply_add(cluster, job, event);

    *shown = store_entry_or_absent(cluster, entry, key);
    reply->store.entries = shown;
    reply->store.n_entries = 1;
    action_list_fail_reply(&cluster->action_list, reply, HOOP_E_ABORTED,
                           entry ? "key \"%.64s\" holds another value"
                                 : "key \"%.64s\" does not exist",
                           key);
}

enum hoop_status
key_compare_and_swap(struct cluster *cluster,
                     struct job *job,
                     const struct cluster_event *event)
{
    const struct cluster_store_write *write = &event->write;
    const struct store_value value = store_value_of_write(cluster, write);
    const enum hoop_status status = store_write_check(write);

    if (status != HOOP_OK)
        return error_pass(status);
    if (write->n_expected && !write->expected)
        return error_raise(HOOP_E_INVALID,
                           "an expected value of %zu bytes is missing",
                           write->n_expected);
    if (swap_expectation_matches(store_find(&job->store, write->key), write))
        return store_write_and_answer(cluster, job, event, &value, 0);
    cluster->counters.store_reads++;
    swap_answer_mismatch(cluster, job, event);
    return HOOP_OK;
}

enum hoop_status
store_keys_check(const struct cluster_store_keys *keys)
{
    if (!keys->n_keys || keys->n_keys > LIMIT_STORE_KEYS_CALL)
        return error_raise(HOOP_E_INVALID, "a call names 1 to %d keys, not %zu",
                           LIMIT_STORE_KEYS_CALL, keys->n_keys);
    for (size_t i = 0; i < keys->n_keys; i++) {
        const enum hoop_status status = store_key_check(keys->keys[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
key_get(struct cluster *cluster,
        struct job *job,
        const struct cluster_event *event)
{
    enum hoop_status status = store_keys_check(&event->keys);

    if (status != HOOP_OK)
        return error_pass(status);
    status =
        store_keys_fit_reply(&job->store, event->keys.keys, event->keys.n_keys);
    if (status != HOOP_OK)
        return error_pass(status);

    const size_t n_keys = event->keys.n_keys;
    struct cluster_store_entry *entries =
        action_list_alloc(&cluster->action_list, n_keys, sizeof(*entries));

    for (size_t i = 0; i < n_keys; i++) {
        const char *key = event->keys.keys[i];

        entries[i] =
            store_entry_or_absent(cluster, store_find(&job->store, key), key);
    }
    cluster->counters.store_reads++;

    struct cluster_reply *reply = store_reply_add(cluster, job, event);

    reply->store.entries = entries;
    reply->store.n_entries = n_keys;
    return HOOP_OK;
}

enum hoop_status
key_delete(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event)
{
    const enum hoop_status status = store_keys_check(&event->keys);
    int64_t n_deleted = 0;

    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < event->keys.n_keys; i++) {
        struct store_entry *entry =
            store_find(&job->store, event->keys.keys[i]);

        if (!entry)
            continue;
        store_remove(cluster, entry, CLUSTER_KEY_DELETED);
        n_deleted++;
    }
    cluster->counters.store_writes++;
    store_reply_add(cluster, job, event)->store.counter = n_deleted;
    return HOOP_OK;
}

/*
 * List the keys that have a prefix, page by page.
 *
 * The store is a hash table, because all other calls look up single keys. A
 * page is collected in one pass over it, keeping the smallest keys sorted.
 * Listing is meant for people and for small prefixes.
 */

struct key_page {
    const struct store_entry **entries; /* sorted */
    size_t n_entries;
    size_t n_max;
    uint32_t n_more;
};

static size_t
key_page_insertion_index(const struct key_page *page, const char *key)
{
    size_t first = 0;
    size_t end = page->n_entries;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;

        if (strcmp(page->entries[middle]->key, key) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void
key_page_add(struct key_page *page, const struct store_entry *entry)
{
    const size_t place = key_page_insertion_index(page, entry->key);

    if (page->n_entries == page->n_max) {
        page->n_more++;
        if (place == page->n_max)
            return;
        page->n_entries--;
    }
    memmove(page->entries + place + 1, page->entries + place,
            (page->n_entries - place) * sizeof(struct store_entry *));
    page->entries[place] = entry;
    page->n_entries++;
}

static struct key_page
key_page_fill(struct cluster *cluster,
              const struct store *store,
              const struct cluster_store_scan *scan)
{
    const char *prefix = scan->prefix ? scan->prefix : "";
    const size_t n_prefix = strlen(prefix);
    struct key_page page = {
        .n_max = scan->n_max && scan->n_max < LIMIT_LIST_PAGE_ENTRIES
                     ? scan->n_max
                     : LIMIT_LIST_PAGE_ENTRIES,
    };

    page.entries = action_list_alloc(&cluster->action_list, page.n_max,
                                     sizeof(struct store_entry *));
    for (const struct store_entry *entry = store->entries; entry;
         entry = entry->hh.next)
        if (strncmp(entry->key, prefix, n_prefix) == 0 &&
            (!scan->after || strcmp(entry->key, scan->after) > 0))
            key_page_add(&page, entry);
    return page;
}

enum hoop_status
key_scan(struct cluster *cluster,
         struct job *job,
         const struct cluster_event *event)
{
    const struct key_page page =
        key_page_fill(cluster, &job->store, &event->scan);
    struct cluster_store_entry *shown = action_list_alloc(
        &cluster->action_list, page.n_entries, sizeof(*shown));

    for (size_t i = 0; i < page.n_entries; i++) {
        shown[i] = store_entry_view(page.entries[i]);
        shown[i].value = NULL;
    }
    cluster->counters.store_reads++;

    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    reply->kind = CLUSTER_REPLY_STORE;
    reply->store = (struct cluster_store_reply){
        .revision = job->store.history.revision,
        .entries = shown,
        .n_entries = page.n_entries,
        .n_more = page.n_more,
    };
    return HOOP_OK;
}

/*
 * Wait until all of some keys exist.
 *
 * A parked wait remembers one missing key and is looked at again only when
 * that key is set. Then all of its keys are looked up again, because a key
 * that existed may have been deleted.
 */

/* Leaves room for keys, revisions and framing beside the values. */
enum {
    STORE_REPLY_VALUE_BYTES_MAX = LIMIT_RPC_MESSAGE - LIMIT_STORE_VALUE / 2,
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

/* Check that keys and their values fit into one reply. Handle:
 * HOOP_E_EXHAUSTED. */
static enum hoop_status
store_keys_fit_reply(const struct store *store,
                     const char *const *keys,
                     size_t n_keys)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_keys; i++) {
        const struct store_entry *entry = store_find(store, keys[i]);

        n_bytes += strlen(keys[i]) + (entry ? entry->n_bytes : 0);
    }
    if (n_bytes > STORE_REPLY_VALUE_BYTES_MAX)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the %zu keys take %zu bytes, over the limit of %d "
                           "for one reply: ask for fewer",
                           n_keys, n_bytes, STORE_REPLY_VALUE_BYTES_MAX);
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
store_entries_view(struct cluster *cluster,
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
        store_entries_view(cluster, &job->store, keys->keys, keys->n_keys),
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
        store_entries_view(cluster, store, waiter->keys, n_keys);

    store_values_reply(cluster, store, entries, n_keys,
                       waiter_end_with_reply(cluster, waiter));
}

/* key exists now: answer the waits for which it was the last missing key. */
static void
key_waits_on_key_set(struct cluster *cluster, struct job *job, const char *key)
{
    struct waiter *waiter = TAILQ_FIRST(&job->waiters);

    while (waiter) {
        struct waiter *next = TAILQ_NEXT(waiter, link);

        if (waiter->kind == WAITER_KEYS_EXIST &&
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
    return n_changes < LIMIT_LIST_PAGE_ENTRIES ? n_changes
                                               : LIMIT_LIST_PAGE_ENTRIES;
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
           changes.n_items < LIMIT_LIST_PAGE_ENTRIES) {
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
