/*
 * tune/samples.h - what was measured here: algorithms that ran in turns
 *
 * HOOP_TUNING names a file of which each line is a sample, as hoop-perf --tune
 * adds them: ranks, nodes, collective, bytes of the larger buffer, and what
 * each algorithm took, in whole ns:
 *
 *     8 1 allreduce 32768 recursive_doubling=333400 hierarchical_tree=403000
 *
 * Where ranks land on processors is luck that lasts as long as a job, so one
 * sample says little. Only what won three of four against the model's choice,
 * and at least three, takes its place; sizes are taken for the nearest one
 * that was measured.
 */

#ifndef TUNE_SAMPLES_H
#define TUNE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "plan/nodes.h"
#include "plan/registry.h"
#include "tune/table.h"

enum {
    SAMPLE_ENTRIES_MAX = 10, /* algorithms of one collective */
    SAMPLES_MIN = 3,         /* before one counts */
};

struct sample {
    uint32_t n_ranks;
    uint32_t n_nodes;
    enum collective_kind collective;
    uint64_t n_bytes;
    /* By the place among registry_of(); 0: took no part. */
    uint64_t ns[SAMPLE_ENTRIES_MAX];
};

/* Those of one form, collective and size stand side by side, sizes ascending. */
struct samples {
    struct sample *all;
    size_t n;
    size_t capacity;
    char *text; /* what it was read from, to be read again elsewhere */
    size_t n_bytes;
};

/*
 * where is what the text's places are told by: "measured.txt:7".
 * *out_samples is the caller's. Handle: HOOP_E_INVALID.
 */
enum hoop_status
samples_parse(const char *where,
              const char *text,
              size_t n_bytes,
              struct samples **out_samples);

/* Of a file. Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID. */
enum hoop_status
samples_read(const char *path, struct samples **out_samples);

/* How often ranks on nodes like these have measured; NULL: never. */
size_t
samples_count(const struct samples *samples, const struct plan_nodes *nodes);

/* NULL is fine. */
void
samples_destroy(struct samples *samples);
DEFINE_CLEANUP(struct samples *, samples_destroy)

/* Change the rows of a table for ranks on these nodes, who share that, as samples
 * tell. */
void
samples_apply(const struct samples *samples,
              const struct plan_nodes *nodes,
              const struct plan_shm_region *shm_region,
              struct table *table);

#endif
