/* core/history.c - a ring of the last changes of a store */

#include "core/history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "core/memory.h"

struct history_record {
    enum cluster_key_change_kind kind;
    char *key;
};

void
history_deinit(struct history *history)
{
    for (size_t i = 0; history->ring && i < LIMIT_STORE_HISTORY; i++)
        memory_free_charged(history->memory, history->ring[i].key);
    memory_free_charged(history->memory, history->ring);
}

uint64_t
history_add(struct history *history,
            enum cluster_key_change_kind kind,
            const char *key)
{
    const size_t n_bytes = strlen(key) + 1;

    if (!history->ring)
        history->ring = memory_alloc_charged(
            history->memory, LIMIT_STORE_HISTORY, sizeof(*history->ring));

    const uint64_t revision = ++history->revision;
    struct history_record *record =
        &history->ring[revision % LIMIT_STORE_HISTORY];

    record->kind = kind;
    history->n_key_bytes -= memory_allocated_size(record->key);
    record->key =
        memory_realloc_charged(history->memory, record->key, n_bytes, 1);
    history->n_key_bytes += memory_allocated_size(record->key);
    memcpy(record->key, key, n_bytes);
    return revision;
}

void
history_trim(struct history *history)
{
    while (history->n_key_bytes > LIMIT_STORE_HISTORY_BYTES) {
        const uint64_t oldest = history_first_revision(history);
        struct history_record *record =
            &history->ring[oldest % LIMIT_STORE_HISTORY];

        history->n_key_bytes -= memory_allocated_size(record->key);
        memory_free_charged(history->memory, record->key);
        record->key = NULL;
        history->forgotten = oldest;
    }
}

void
history_recover(struct history *history, uint64_t revision)
{
    assert(!history->ring);
    history->revision = revision;
    history->forgotten = revision;
}

uint64_t
history_first_revision(const struct history *history)
{
    const uint64_t n_kept = history->revision - history->forgotten;

    return n_kept < LIMIT_STORE_HISTORY
               ? history->forgotten + 1
               : history->revision - LIMIT_STORE_HISTORY + 1;
}

struct cluster_key_change
history_change_at(const struct history *history, uint64_t revision)
{
    assert(revision >= history_first_revision(history));
    assert(revision <= history->revision);

    const struct history_record *record =
        &history->ring[revision % LIMIT_STORE_HISTORY];

    return (struct cluster_key_change){
        .revision = revision,
        .kind = record->kind,
        .key = record->key,
    };
}
