/* hoop-perf/candidates.c - measures all algorithms of an operation in turns */

#include "hoop-perf/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MAX = 96,
};

/* Return whether list has name. The list "all" has every name, and "forced" has
 * all but "auto". */
static bool
is_wanted(const char *list, const char *name)
{
    const size_t n = strlen(name);

    if (strcmp(list, "all") == 0)
        return true;
    if (strcmp(list, "forced") == 0)
        return strcmp(name, "auto") != 0;
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

/* The uneven variants are forced together with their even one. */
static void
list_make(const struct operation *operation,
          const char *algorithm,
          char out_list[static LIST_MAX])
{
    int n = (int)strlen(operation->name);

    if (operation->name[n - 1] == 'v')
        n--;
    snprintf(out_list, LIST_MAX, "%.*s:%s", n, operation->name, algorithm);
}

static enum hoop_status
comm_add(struct candidates *candidates)
{
    hoop_comm_t *world = hoop_world(candidates->session);
    const uint32_t n_ranks = hoop_comm_size(world);
    uint32_t *ranks = calloc(n_ranks, sizeof(*ranks));

    if (!ranks)
        return HOOP_E_EXHAUSTED;
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        ranks[rank] = rank;
    const enum hoop_status status =
        hoop_comm_create(candidates->session, ranks, n_ranks,
                         &candidates->comms[candidates->n_comms]);
    free(ranks);
    candidates->n_comms += status == HOOP_OK;
    return status;
}

static enum hoop_status
candidate_add(struct candidates *candidates,
              const struct operation *operation,
              const char *algorithm)
{
    const bool is_auto = strcmp(algorithm, "auto") == 0;
    char list[LIST_MAX] = "";
    enum hoop_status status = HOOP_OK;

    if (candidates->n == CANDIDATES_MAX ||
        !is_wanted(candidates->options->algorithms, algorithm))
        return HOOP_OK;
    if (candidates->n == candidates->n_comms)
        status = comm_add(candidates);
    if (status != HOOP_OK)
        return status;
    if (!is_auto)
        list_make(operation, algorithm, list);
    status = hoop_comm_set_algorithms(candidates->comms[candidates->n], list);
    /* It cannot run here; only rank 0 knows the reason. */
    if (status == HOOP_E_PRECONDITION || status == HOOP_E_INVALID)
        return HOOP_OK;
    candidates->names[candidates->n++] = algorithm;
    return status;
}

enum hoop_status
candidates_gather(struct candidates *candidates,
                  const struct operation *operation)
{
    const char *name;

    candidates->n = 1;
    if (!candidates->options->algorithms)
        return HOOP_OK;
    candidates->n = 0;
    enum hoop_status status = candidate_add(candidates, operation, "auto");
    for (uint32_t i = 0;
         status == HOOP_OK && (name = hoop_algorithm_name(operation->name, i));
         i++)
        status = candidate_add(candidates, operation, name);
    return status;
}

/* times_us holds the n_rounds times of the first candidate, then those of the
 * second, and so on. */
static enum hoop_status
rounds_run(struct candidates *candidates,
           struct bench *bench,
           const struct operation *operation,
           const struct extent *extent,
           double *times_us)
{
    const size_t n_rounds = candidates->options->n_rounds;

    for (size_t i = 0; i < n_rounds * candidates->n; i++) {
        const size_t round = i / candidates->n;
        const size_t candidate = (i + round) % candidates->n;

        bench->comm = candidates->comms[candidate];
        bench->is_warm = round > 0;
        const enum hoop_status status = bench_round(
            bench, operation, extent, &times_us[candidate * n_rounds + round]);
        if (status != HOOP_OK)
            return status;
    }
    return HOOP_OK;
}

static enum hoop_status
candidates_check(struct candidates *candidates,
                 struct bench *bench,
                 const struct operation *operation,
                 const struct extent *extent)
{
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; i < candidates->n && status == HOOP_OK; i++) {
        bench->comm = candidates->comms[i];
        status = bench_check(bench, operation, extent,
                             &candidates->measurements[i].n_wrong);
    }
    return status;
}

static void
measurements_make(struct candidates *candidates,
                  const struct operation *operation,
                  const struct extent *extent,
                  double *times_us)
{
    const size_t n_rounds = candidates->options->n_rounds;

    for (size_t i = 0; i < candidates->n; i++) {
        double total_us = 0;

        for (size_t j = 0; j < n_rounds; j++)
            total_us += times_us[i * n_rounds + j];
        candidates->measurements[i] = (struct measurement){
            .timing = timing_of(&times_us[i * n_rounds], n_rounds, total_us),
            .n_wrong = -1,
            .candidate = candidates->names[i],
            .algorithm = hoop_comm_algorithm(candidates->comms[i],
                                             operation->name, extent->n_bytes),
        };
    }
}

enum hoop_status
candidates_measure(struct candidates *candidates,
                   struct bench *bench,
                   const struct operation *operation,
                   const struct extent *extent)
{
    if (!candidates->options->algorithms)
        return bench_measure(bench, operation, extent,
                             &candidates->measurements[0]);

    hoop_comm_t *comm = bench->comm;
    const size_t n_times = candidates->n * candidates->options->n_rounds;
    double *times_us = calloc(n_times + 1, sizeof(*times_us));

    if (!times_us)
        return HOOP_E_EXHAUSTED;
    enum hoop_status status =
        rounds_run(candidates, bench, operation, extent, times_us);
    bench->comm = comm;
    if (status == HOOP_OK)
        status = hoop_allreduce(HOOP_IN_PLACE, times_us, n_times, HOOP_FLOAT64,
                                HOOP_MAX, comm);
    if (status == HOOP_OK)
        measurements_make(candidates, operation, extent, times_us);
    if (status == HOOP_OK && candidates->options->has_check)
        status = candidates_check(candidates, bench, operation, extent);
    bench->comm = comm;
    free(times_us);
    return status;
}

void
candidates_deinit(struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->n_comms; i++)
        hoop_comm_free(candidates->comms[i]);
    *candidates = (struct candidates){0};
}
