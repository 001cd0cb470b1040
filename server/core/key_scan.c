/*
 * core/key_scan.c - list the keys that have a prefix, page by page
 *
 * The store is a hash table, because all other calls look up single keys. A
 * page is collected in one pass over it, keeping the smallest keys sorted.
 * Listing is meant for people and for small prefixes.
 */

#include "core/key_scan.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/state.h"

struct key_page {
    const struct store_entry **entries; /* sorted */
    size_t n_entries;
    size_t n_max;
    uint32_t n_more;
};

static size_t
key_page_find_place(const struct key_page *page, const char *key)
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
    const size_t place = key_page_find_place(page, entry->key);

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
        .n_max =
            scan->n_max && scan->n_max < LIMIT_PAGE ? scan->n_max : LIMIT_PAGE,
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
