/* hoop-perf/rivals.c - all algorithms of an operation, measured in turns */

#include "hoop-perf/rivals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MAX = 96,
};

/* "ring" is one of "auto,ring,chain", or the list is "all" or "forced". */
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

/* The uneven forms are forced with their even one. */
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
comm_add(struct rivals *rivals)
{
    hoop_comm_t *world = hoop_world(rivals->session);
    const uint32_t n_ranks = hoop_comm_size(world);
    uint32_t *ranks = calloc(n_ranks, sizeof(*ranks));

    if (!ranks)
        return HOOP_E_EXHAUSTED;
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        ranks[rank] = rank;
    const enum hoop_status status = hoop_comm_create(
        rivals->session, ranks, n_ranks, &rivals->comms[rivals->n_comms]);
    free(ranks);
    rivals->n_comms += status == HOOP_OK;
    return status;
}

static enum hoop_status
rival_add(struct rivals *rivals,
          const struct operation *operation,
          const char *algorithm)
{
    const bool is_auto = strcmp(algorithm, "auto") == 0;
    char list[LIST_MAX] = "";
    enum hoop_status status = HOOP_OK;

    if (rivals->n == RIVALS_MAX ||
        !is_wanted(rivals->options->algorithms, algorithm))
        return HOOP_OK;
    if (rivals->n == rivals->n_comms)
        status = comm_add(rivals);
    if (status != HOOP_OK)
        return status;
    if (!is_auto)
        list_make(operation, algorithm, list);
    status = hoop_comm_set_algorithms(rivals->comms[rivals->n], list);
    /* It cannot be run here; rank 0 alone knows why. */
    if (status == HOOP_E_PRECONDITION || status == HOOP_E_INVALID)
        return HOOP_OK;
    rivals->names[rivals->n++] = algorithm;
    return status;
}

enum hoop_status
rivals_gather(struct rivals *rivals, const struct operation *operation)
{
    const char *name;

    rivals->n = 1;
    if (!rivals->options->algorithms)
        return HOOP_OK;
    rivals->n = 0;
    enum hoop_status status = rival_add(rivals, operation, "auto");
    for (uint32_t i = 0;
         status == HOOP_OK && (name = hoop_algorithm_name(operation->name, i));
         i++)
        status = rival_add(rivals, operation, name);
    return status;
}

/* times_us holds n_rounds of the first rival, then of the second, ... */
static enum hoop_status
rounds_run(struct rivals *rivals,
           struct bench *bench,
           const struct operation *operation,
           const struct extent *extent,
           double *times_us)
{
    const size_t n_rounds = rivals->options->n_rounds;

    for (size_t i = 0; i < n_rounds * rivals->n; i++) {
        const size_t round = i / rivals->n;
        const size_t rival = (i + round) % rivals->n;

        bench->comm = rivals->comms[rival];
        bench->is_warm = round > 0;
        const enum hoop_status status = bench_round(
            bench, operation, extent, &times_us[rival * n_rounds + round]);
        if (status != HOOP_OK)
            return status;
    }
    return HOOP_OK;
}

static enum hoop_status
rivals_check(struct rivals *rivals,
             struct bench *bench,
             const struct operation *operation,
             const struct extent *extent)
{
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; i < rivals->n && status == HOOP_OK; i++) {
        bench->comm = rivals->comms[i];
        status = bench_check(bench, operation, extent,
                             &rivals->measurements[i].n_wrong);
    }
    return status;
}

static void
measurements_make(struct rivals *rivals,
                  const struct operation *operation,
                  const struct extent *extent,
                  double *times_us)
{
    const size_t n_rounds = rivals->options->n_rounds;

    for (size_t i = 0; i < rivals->n; i++) {
        double total_us = 0;

        for (size_t j = 0; j < n_rounds; j++)
            total_us += times_us[i * n_rounds + j];
        rivals->measurements[i] = (struct measurement){
            .timing = timing_of(&times_us[i * n_rounds], n_rounds, total_us),
            .n_wrong = -1,
            .rival = rivals->names[i],
            .algorithm = hoop_comm_algorithm(rivals->comms[i], operation->name,
                                             extent->n_bytes),
        };
    }
}

enum hoop_status
rivals_measure(struct rivals *rivals,
               struct bench *bench,
               const struct operation *operation,
               const struct extent *extent)
{
    if (!rivals->options->algorithms)
        return bench_measure(bench, operation, extent,
                             &rivals->measurements[0]);

    hoop_comm_t *comm = bench->comm;
    const size_t n_times = rivals->n * rivals->options->n_rounds;
    double *times_us = calloc(n_times + 1, sizeof(*times_us));

    if (!times_us)
        return HOOP_E_EXHAUSTED;
    enum hoop_status status =
        rounds_run(rivals, bench, operation, extent, times_us);
    bench->comm = comm;
    if (status == HOOP_OK)
        status = hoop_allreduce(HOOP_IN_PLACE, times_us, n_times, HOOP_FLOAT64,
                                HOOP_MAX, comm);
    if (status == HOOP_OK)
        measurements_make(rivals, operation, extent, times_us);
    if (status == HOOP_OK && rivals->options->has_check)
        status = rivals_check(rivals, bench, operation, extent);
    bench->comm = comm;
    free(times_us);
    return status;
}

void
rivals_deinit(struct rivals *rivals)
{
    for (size_t i = 0; i < rivals->n_comms; i++)
        hoop_comm_free(rivals->comms[i]);
    *rivals = (struct rivals){0};
}
