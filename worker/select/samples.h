/*
 * select/samples.h - measured times of algorithms, which override the model
 *
 * HOOP_TUNING names a file in which each line is a sample, as hoop-perf --tune
 * adds them: ranks, nodes, collective, bytes of the larger buffer, and the time
 * of each algorithm in whole ns:
 *
 *     8 1 allreduce 32768 recursive_doubling=333400 hierarchical_tree=403000
 *
 * On which processors ranks run is a matter of luck that lasts as long as a
 * job, so one sample says little. An algorithm replaces the model's choice only
 * if it was faster in three quarters of the samples, of which there must be at
 * least three. Other sizes use the nearest size that was measured.
 */

#ifndef SELECT_SAMPLES_H
#define SELECT_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "plan/nodes.h"
#include "select/table.h"

enum {
    SAMPLE_ENTRIES_MAX = 10, /* algorithms of one collective */
    SAMPLES_MIN = 3,         /* samples that a comparison needs */
};

struct sample {
    uint32_t n_ranks;
    uint32_t n_nodes;
    enum collective_kind collective;
    uint64_t n_bytes;
    /* By index in registry_collective_entries(); 0: not measured. */
    uint64_t ns[SAMPLE_ENTRIES_MAX];
};

/* Sorted by ranks, nodes, collective and size, so that comparable samples are
 * adjacent. */
struct samples {
    struct sample *all;
    size_t n;
    size_t capacity;
    char *text; /* the text that was parsed, to be sent to other ranks */
    size_t n_bytes;
};

/*
 * where names the source of the text in errors, as in "measured.txt:7". The
 * caller destroys *out_samples.
 * Handle: HOOP_E_INVALID.
 */
enum hoop_status
samples_parse(const char *where,
              const char *text,
              size_t n_bytes,
              struct samples **out_samples);

/* Parse a file. Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID. */
enum hoop_status
samples_read(const char *path, struct samples **out_samples);

/* The largest number of samples of one collective and size for as many ranks
 * and nodes. samples may be NULL. */
size_t
samples_count_for_nodes(const struct samples *samples,
                        const struct plan_nodes *nodes);

/* samples may be NULL. */
void
samples_destroy(struct samples *samples);
DEFINE_CLEANUP(struct samples *, samples_destroy)

/* Change the rows of table as the samples show, for ranks on these nodes that
 * share shm_region. */
void
samples_apply(const struct samples *samples,
              const struct plan_nodes *nodes,
              const struct plan_shm_region *shm_region,
              struct table *table);

/*
 * With HOOP_TUNING=auto samples are kept for later jobs, in the file
 * hoop/tuning-<signature>.txt in the user's cache folder. The signature covers
 * the kind and the number of processors, the transport, and the names of hoop's
 * algorithms. The file is replaced as a whole, so that no reader sees half of
 * one. If two jobs add samples at the same moment, those of one are lost.
 */

/*
 * The path of the file for this machine and transport ("tcp"). The caller frees
 * *out_path.
 * Handle: HOOP_E_NOT_FOUND (neither XDG_CACHE_HOME nor HOME is an absolute
 * path).
 */
enum hoop_status
sample_store_path(const char *transport, char **out_path);

/* Returns NULL if there are no samples, or none that this build understands. */
struct samples *
sample_store_read(const char *path);

/* Handle: HOOP_E_UNAVAILABLE (the file cannot be written; the previous one
 * stays). */
enum hoop_status
sample_store_write(const char *path, const char *text, size_t n_bytes);

#endif
