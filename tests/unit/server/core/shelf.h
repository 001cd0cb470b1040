/*
 * tests/unit/server/core/shelf.h - the records of a cluster, as a disk has them
 *
 * In the order of their keys. A cluster may be made again from them at any
 * time, and must then be what it was.
 */

#ifndef CORE_SHELF_H
#define CORE_SHELF_H

#include "fixture.h"
/* after cmocka */
#include <stdlib.h>

#include "core/cluster.h"

struct shelf_row {
    uint8_t *key;
    size_t n_key;
    uint8_t *value;
    size_t n_value;
};

struct shelf {
    struct shelf_row *rows;
    size_t n_rows;
    uint64_t wall_ahead_ns; /* how far the wall clock has been set forward */
};

static inline void
shelf_deinit(struct shelf *shelf)
{
    for (size_t i = 0; i < shelf->n_rows; i++) {
        free(shelf->rows[i].key);
        free(shelf->rows[i].value);
    }
    free(shelf->rows);
    *shelf = (struct shelf){0};
}

static inline void *
shelf_copy(const void *bytes, size_t n_bytes)
{
    void *copy = malloc(n_bytes ? n_bytes : 1);

    assert_non_null(copy);
    if (n_bytes)
        memcpy(copy, bytes, n_bytes);
    return copy;
}

/* Where the first key is that is not before this one. */
static inline size_t
shelf_place(const struct shelf *shelf, const uint8_t *key, size_t n_key)
{
    size_t place = 0;

    for (; place < shelf->n_rows; place++) {
        const struct shelf_row *row = &shelf->rows[place];
        const size_t n_both = row->n_key < n_key ? row->n_key : n_key;
        const int order = memcmp(row->key, key, n_both);

        if (order > 0 || (order == 0 && row->n_key >= n_key))
            break;
    }
    return place;
}

static inline bool
shelf_begins(const struct shelf_row *row, const uint8_t *key, size_t n_key)
{
    return row->n_key >= n_key && memcmp(row->key, key, n_key) == 0;
}

static inline void
shelf_drop(struct shelf *shelf, size_t place)
{
    free(shelf->rows[place].key);
    free(shelf->rows[place].value);
    shelf->n_rows--;
    memmove(&shelf->rows[place], &shelf->rows[place + 1],
            (shelf->n_rows - place) * sizeof(*shelf->rows));
}

static inline void
shelf_erase(struct shelf *shelf, const uint8_t *key, size_t n_key)
{
    const size_t place = shelf_place(shelf, key, n_key);

    while (place < shelf->n_rows &&
           shelf_begins(&shelf->rows[place], key, n_key))
        shelf_drop(shelf, place);
}

static inline void
shelf_put(struct shelf *shelf, const struct cluster_journal_record *record)
{
    const size_t place = shelf_place(shelf, record->key, record->n_key);

    if (place < shelf->n_rows && shelf->rows[place].n_key == record->n_key &&
        shelf_begins(&shelf->rows[place], record->key, record->n_key))
        shelf_drop(shelf, place);
    shelf->rows =
        realloc(shelf->rows, (shelf->n_rows + 1) * sizeof(*shelf->rows));
    assert_non_null(shelf->rows);
    memmove(&shelf->rows[place + 1], &shelf->rows[place],
            (shelf->n_rows - place) * sizeof(*shelf->rows));
    shelf->n_rows++;
    shelf->rows[place] = (struct shelf_row){
        .key = shelf_copy(record->key, record->n_key),
        .n_key = record->n_key,
        .value = shelf_copy(record->value, record->n_value),
        .n_value = record->n_value,
    };
}

/* What the last step of a fixture said. */
static inline void
shelf_follow(struct shelf *shelf, const struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->actions.n_items; i++) {
        const struct cluster_action *action = &fixture->actions.items[i];

        if (action->kind != CLUSTER_RECORD)
            continue;
        if (action->record.kind == CLUSTER_RECORD_PUT)
            shelf_put(shelf, &action->record);
        else
            shelf_erase(shelf, action->record.key, action->record.n_key);
    }
}

static inline enum hoop_status
shelf_read(const struct shelf *shelf, struct cluster *cluster)
{
    for (size_t i = 0; i < shelf->n_rows; i++) {
        const struct shelf_row *row = &shelf->rows[i];
        const enum hoop_status status =
            cluster_recover_record(cluster, &(struct cluster_journal_record){
                                                .key = row->key,
                                                .n_key = row->n_key,
                                                .value = row->value,
                                                .n_value = row->n_value,
                                            });

        if (status != HOOP_OK)
            return status;
    }
    return cluster_recovery_finish(cluster);
}

/* Kept records, at the fixture's time; the wall clock shows more. */
static inline struct cluster_options
shelf_options(uint64_t now_ns)
{
    return (struct cluster_options){
        .keeps_records = true,
        .now_ns = now_ns,
        .wall_offset_ns = 1000000 * FIXTURE_S,
    };
}

/* A fixture whose cluster keeps records. */
static inline void
shelf_begin(struct fixture *fixture)
{
    const struct cluster_options options = shelf_options(FIXTURE_S);

    fixture_init(fixture, &options);
}

/* The fixture's cluster dies and is made again. */
static inline void
shelf_restart(const struct shelf *shelf, struct fixture *fixture)
{
    struct cluster_options options = shelf_options(fixture->now_ns);

    options.wall_offset_ns += shelf->wall_ahead_ns;
    cluster_destroy(fixture->cluster);
    fixture->actions = (struct cluster_actions){0};
    assert_int_equal(cluster_create(&options, &fixture->cluster), HOOP_OK);
    assert_int_equal(shelf_read(shelf, fixture->cluster), HOOP_OK);
}

#endif
