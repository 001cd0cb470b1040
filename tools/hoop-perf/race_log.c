/* hoop-perf/race_log.c - --tune: appends a line for each comparison to a
 * file */

#include "hoop-perf/race_log.h"

#include <err.h>
#include <string.h>

static const double NS_PER_US = 1e3;

bool
race_log_takes(const struct operation *operation)
{
    const size_t n = strlen(operation->name);

    return operation->name[n - 1] != 'v' && operation->layout != LAYOUT_NONE &&
           hoop_algorithm_name(operation->name, 1);
}

enum hoop_status
race_log_open(struct race_log *log, const char *path, const hoop_comm_t *comm)
{
    *log = (struct race_log){
        .path = path,
        .n_ranks = hoop_comm_size(comm),
        .n_nodes = hoop_comm_nodes(comm),
    };
    if (!path)
        return HOOP_OK;
    log->file = fopen(path, "ae");
    if (log->file)
        return HOOP_OK;
    warn("cannot write %s", path);
    return HOOP_E_UNAVAILABLE;
}

static bool
is_raced(const struct measurement *measurement)
{
    return measurement->candidate &&
           strcmp(measurement->candidate, "auto") != 0 &&
           measurement->n_wrong <= 0 && measurement->timing.p50_us > 0;
}

void
race_log_add(struct race_log *log,
             const struct operation *operation,
             const struct extent *extent,
             const struct candidates *candidates)
{
    if (!log->file || !race_log_takes(operation))
        return;
    fprintf(log->file, "%u %u %s %zu", log->n_ranks, log->n_nodes,
            operation->name, extent->n_bytes);
    for (size_t i = 0; i < candidates->n; i++) {
        const struct measurement *measurement = &candidates->measurements[i];

        if (is_raced(measurement))
            fprintf(log->file, " %s=%.0f", measurement->candidate,
                    measurement->timing.p50_us * NS_PER_US);
    }
    fputc('\n', log->file);
}

enum hoop_status
race_log_close(struct race_log *log)
{
    if (!log->file)
        return HOOP_OK;
    const bool is_whole = !ferror(log->file);
    const bool is_closed = fclose(log->file) == 0;

    log->file = NULL;
    if (is_whole && is_closed)
        return HOOP_OK;
    warn("cannot write %s", log->path);
    return HOOP_E_DATA_LOSS;
}
