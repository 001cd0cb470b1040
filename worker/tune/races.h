/*
 * tune/races.h - what was measured here: algorithms that ran in turns
 *
 * HOOP_TUNING names a file of which each line is a race, as hoop-perf --tune
 * adds them: ranks, nodes, collective, bytes of the larger buffer, and what
 * each algorithm took, in whole ns:
 *
 *     8 1 allreduce 32768 recursive_doubling=333400 hierarchical_tree=403000
 *
 * Where ranks land on processors is luck that lasts as long as a job, so one
 * race says little. Only what won three of four against the model's choice,
 * and at least three, takes its place; sizes are taken for the nearest one
 * that was raced.
 */

#ifndef TUNE_RACES_H
#define TUNE_RACES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "plan/catalog.h"
#include "plan/nodes.h"
#include "tune/table.h"

enum {
    RACE_ENTRIES_MAX = 10, /* algorithms of one collective */
    RACES_MIN = 3,         /* before one counts */
};

struct race {
    uint32_t n_ranks;
    uint32_t n_nodes;
    enum catalog_collective collective;
    uint64_t n_bytes;
    /* By the place among catalog_of(); 0: took no part. */
    uint64_t ns[RACE_ENTRIES_MAX];
};

/* Those of one form, collective and size stand side by side, sizes ascending. */
struct races {
    struct race *all;
    size_t n;
    size_t capacity;
    char *text; /* what it was read from, to be read again elsewhere */
    size_t n_bytes;
};

/*
 * where is what the text's places are told by: "measured.txt:7".
 * *out_races is the caller's. Handle: HOOP_E_INVALID.
 */
enum hoop_status
races_parse(const char *where,
            const char *text,
            size_t n_bytes,
            struct races **out_races);

/* Of a file. Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID. */
enum hoop_status
races_read(const char *path, struct races **out_races);

/* How often ranks on nodes like these have raced; NULL: never. */
size_t
races_count(const struct races *races, const struct plan_nodes *nodes);

/* NULL is fine. */
void
races_destroy(struct races *races);
DEFINE_CLEANUP(struct races *, races_destroy)

/* Change the rows of a table for ranks on these nodes, who share that, as races
 * tell. */
void
races_apply(const struct races *races,
            const struct plan_nodes *nodes,
            const struct plan_hall *shm_region,
            struct table *table);

#endif
