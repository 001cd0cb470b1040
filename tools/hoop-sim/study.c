/* hoop-sim/study.c - simulates all requested points and finds the fastest */

#include "hoop-sim/study.h"

#include <stdlib.h>
#include <string.h>

enum {
    STUDY_CAPACITY_MIN = 64,
};

void
study_deinit(struct study *study)
{
    free(study->points);
    *study = (struct study){0};
}

static enum hoop_status
point_append(struct study *study, const struct study_point *point)
{
    if (study->n_points == study->capacity) {
        const size_t capacity =
            study->capacity ? 2 * study->capacity : STUDY_CAPACITY_MIN;
        struct study_point *points =
            reallocarray(study->points, capacity, sizeof(*points));

        if (!points)
            return HOOP_E_EXHAUSTED;
        study->points = points;
        study->capacity = capacity;
    }
    study->points[study->n_points++] = *point;
    return HOOP_OK;
}

static bool
is_chosen(const struct options *options, const char *algorithm)
{
    for (size_t i = 0; i < options->n_algorithms; i++)
        if (strcmp(options->algorithms[i], algorithm) == 0)
            return true;
    return options->n_algorithms == 0;
}

static void
best_mark(struct study *study, size_t first)
{
    size_t best = first;

    for (size_t i = first; i < study->n_points; i++)
        if (study->points[i].outcome.time_us <
            study->points[best].outcome.time_us)
            best = i;
    if (best < study->n_points)
        study->points[best].is_best = true;
}

enum hoop_status
study_add(struct study *study,
          const struct options *options,
          const struct study_point *asked,
          size_t *out_first)
{
    const size_t first = study->n_points;
    struct study_point point = *asked;

    for (size_t i = 0;
         (point.algorithm = hoop_simulate_algorithm(asked->collective, i));
         i++) {
        const struct hoop_simulation simulation = {
            .collective = point.collective,
            .algorithm = point.algorithm,
            .n_ranks = point.n_ranks,
            .n_per_node = options->n_per_host,
            .n_bytes = point.n_bytes,
            .element_size = options->element_size,
        };

        if (!is_chosen(options, point.algorithm))
            continue;

        enum hoop_status status =
            hoop_simulate(&simulation, &options->machine, &point.outcome);
        if (status == HOOP_E_PRECONDITION)
            continue;
        if (status == HOOP_OK)
            status = point_append(study, &point);
        if (status != HOOP_OK)
            return status;
    }
    best_mark(study, first);
    *out_first = first;
    return HOOP_OK;
}
