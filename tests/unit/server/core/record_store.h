/*
 * tests/unit/server/core/record_store.h - the records of a cluster, on a disk
 *
 * They are in the order of their keys. A cluster can be created again from them
 * at any time, and must then be the same as before.
 */

#ifndef TESTS_UNIT_SERVER_CORE_RECORD_STORE_H
#define TESTS_UNIT_SERVER_CORE_RECORD_STORE_H

#include "fixture.h"
/* after cmocka */
#include <stdlib.h>

#include "core/cluster.h"

struct record_store_row {
    uint8_t *key;
    size_t n_key_bytes;
    uint8_t *value;
    size_t n_value_bytes;
};

struct record_store {
    struct record_store_row *rows;
    size_t n_rows;
    uint64_t wall_ahead_ns; /* how far the wall clock has been set forward */
};

static inline void
record_store_deinit(struct record_store *record_store)
{
    for (size_t i = 0; i < record_store->n_rows; i++) {
        free(record_store->rows[i].key);
        free(record_store->rows[i].value);
    }
    free(record_store->rows);
    *record_store = (struct record_store){0};
}

static inline void *
record_store_copy(const void *bytes, size_t n_bytes)
{
    void *copy = malloc(n_bytes ? n_bytes : 1);

    assert_non_null(copy);
    if (n_bytes)
        memcpy(copy, bytes, n_bytes);
    return copy;
}

/* Returns the index of the first key that is not less than this one. */
static inline size_t
record_store_find(const struct record_store *record_store,
                  const uint8_t *key,
                  size_t n_key_bytes)
{
    size_t place = 0;

    for (; place < record_store->n_rows; place++) {
        const struct record_store_row *row = &record_store->rows[place];
        const size_t n_both =
            row->n_key_bytes < n_key_bytes ? row->n_key_bytes : n_key_bytes;
        const int order = memcmp(row->key, key, n_both);

        if (order > 0 || (order == 0 && row->n_key_bytes >= n_key_bytes))
            break;
    }
    return place;
}

static inline bool
record_store_has_prefix(const struct record_store_row *row,
                        const uint8_t *key,
                        size_t n_key_bytes)
{
    return row->n_key_bytes >= n_key_bytes &&
           memcmp(row->key, key, n_key_bytes) == 0;
}

static inline void
record_store_drop(struct record_store *record_store, size_t place)
{
    free(record_store->rows[place].key);
    free(record_store->rows[place].value);
    record_store->n_rows--;
    memmove(&record_store->rows[place], &record_store->rows[place + 1],
            (record_store->n_rows - place) * sizeof(*record_store->rows));
}

static inline void
record_store_erase(struct record_store *record_store,
                   const uint8_t *key,
                   size_t n_key_bytes)
{
    const size_t place = record_store_find(record_store, key, n_key_bytes);

    while (
        place < record_store->n_rows &&
        record_store_has_prefix(&record_store->rows[place], key, n_key_bytes))
        record_store_drop(record_store, place);
}

static inline void
record_store_put(struct record_store *record_store,
                 const struct cluster_journal_record *record)
{
    const size_t place =
        record_store_find(record_store, record->key, record->n_key_bytes);

    if (place < record_store->n_rows &&
        record_store->rows[place].n_key_bytes == record->n_key_bytes &&
        record_store_has_prefix(&record_store->rows[place], record->key,
                                record->n_key_bytes))
        record_store_drop(record_store, place);
    record_store->rows =
        realloc(record_store->rows,
                (record_store->n_rows + 1) * sizeof(*record_store->rows));
    assert_non_null(record_store->rows);
    memmove(&record_store->rows[place + 1], &record_store->rows[place],
            (record_store->n_rows - place) * sizeof(*record_store->rows));
    record_store->n_rows++;
    record_store->rows[place] = (struct record_store_row){
        .key = record_store_copy(record->key, record->n_key_bytes),
        .n_key_bytes = record->n_key_bytes,
        .value = record_store_copy(record->value, record->n_value_bytes),
        .n_value_bytes = record->n_value_bytes,
    };
}

/* Stores the records of the last step of a fixture. */
static inline void
record_store_apply(struct record_store *record_store,
                   const struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->actions.n_items; i++) {
        const struct cluster_action *action = &fixture->actions.items[i];

        if (action->kind != CLUSTER_ACTION_STORE_RECORD)
            continue;
        if (action->record.kind == CLUSTER_RECORD_PUT)
            record_store_put(record_store, &action->record);
        else
            record_store_erase(record_store, action->record.key,
                               action->record.n_key_bytes);
    }
}

static inline enum hoop_status
record_store_recover(const struct record_store *record_store,
                     struct cluster *cluster)
{
    for (size_t i = 0; i < record_store->n_rows; i++) {
        const struct record_store_row *row = &record_store->rows[i];
        const enum hoop_status status = cluster_recover_record(
            cluster, &(struct cluster_journal_record){
                         .key = row->key,
                         .n_key_bytes = row->n_key_bytes,
                         .value = row->value,
                         .n_value_bytes = row->n_value_bytes,
                     });

        if (status != HOOP_OK)
            return status;
    }
    return cluster_recovery_finish(cluster);
}

/* Returns options with records, at the fixture's time. The wall clock is
 * ahead. */
static inline struct cluster_options
record_store_options(uint64_t now_ns)
{
    return (struct cluster_options){
        .keeps_records = true,
        .now_ns = now_ns,
        .wall_offset_ns = 1000000 * FIXTURE_S,
    };
}

/* Starts a fixture whose cluster stores records. */
static inline void
record_store_begin(struct fixture *fixture)
{
    const struct cluster_options options = record_store_options(FIXTURE_S);

    fixture_init(fixture, &options);
}

/* Destroys the fixture's cluster and creates it again from the records. */
static inline void
record_store_restart(const struct record_store *record_store,
                     struct fixture *fixture)
{
    struct cluster_options options = record_store_options(fixture->now_ns);

    options.wall_offset_ns += record_store->wall_ahead_ns;
    cluster_destroy(fixture->cluster);
    fixture->actions = (struct cluster_actions){0};
    assert_ok(cluster_create(&options, &fixture->cluster));
    assert_ok(record_store_recover(record_store, fixture->cluster));
}

#endif
