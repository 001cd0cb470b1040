/*
 * select/builder.c - builds a table of switch points from the cost of the plans
 */

#include "select/builder.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/* The cost of an algorithm as a function of size, from a few samples. */

void
curve_add_sample(struct curve *curve, double bytes, double ns)
{
    uint32_t at = 0;

    if (curve->n_samples == CURVE_SAMPLES)
        return;
    while (at < curve->n_samples && curve->samples[at].bytes < bytes)
        at++;
    if (at < curve->n_samples && curve->samples[at].bytes <= bytes)
        return;
    memmove(&curve->samples[at + 1], &curve->samples[at],
            (curve->n_samples - at) * sizeof(curve->samples[0]));
    curve->samples[at].bytes = bytes;
    curve->samples[at].ns = ns;
    curve->n_samples++;
}

double
curve_cost_at(const struct curve *curve, double bytes)
{
    uint32_t right = 1;

    assert(curve->n_samples > 0);
    if (curve->n_samples == 1)
        return curve->samples[0].ns;
    while (right + 1 < curve->n_samples && curve->samples[right].bytes < bytes)
        right++;

    const double begin = curve->samples[right - 1].bytes;
    const double width = curve->samples[right].bytes - begin;
    const double rise = curve->samples[right].ns - curve->samples[right - 1].ns;
    return curve->samples[right - 1].ns + rise * (bytes - begin) / width;
}

/* Find the best algorithm for each size, and where it changes. */

enum {
    /* The algorithms of one collective that are considered at most. */
    CANDIDATE_ALGORITHMS_MAX = 8,
    /* The sizes at which the best algorithm is determined: powers of two, 8 B
     * to 256 MiB. */
    SIZE_GRID_FIRST_LOG2 = 3,
    SIZE_GRID_LAST_LOG2 = 28,
    /* How often samples are added on both sides of each switch point. */
    SWITCH_POINT_REFINEMENTS_MAX = 3,
    /* With so many ranks, or so many ranks per processor, simulating takes too
     * long for more than a few samples. In the second case it also takes
     * processor time from the other ranks. */
    SLOW_SIMULATION_RANKS_MIN = 24,
    SLOW_OVERSUBSCRIPTION_MIN = 4,
};

/* An algorithm must be faster by this fraction to replace another one. */
static const double ALGORITHM_SWITCH_GAIN_MIN = 0.03;
/* If two algorithms are equally fast, the one that combines less than this
 * fraction of the other's elements is better, because processors have other
 * work to do. */
static const double COMBINE_COUNT_GAIN_RATIO = 0.9;

enum {
    /* The size at which combined elements are counted. */
    COMBINE_COUNT_SAMPLE_BYTES = 1 << 20,
};

static const double full_sample_sizes[] = {
    64, 4096, 16384, 65536, 1 << 18, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
static const double reduced_sample_sizes[] = {64, 65536, 4 << 20};

struct candidates {
    const struct estimate_environment *place;
    size_t n;
    const struct registry_algorithm *entries[CANDIDATE_ALGORITHMS_MAX];
    struct curve curves[CANDIDATE_ALGORITHMS_MAX];
    double combining
        [CANDIDATE_ALGORITHMS_MAX]; /* as in estimate.h; 0: not counted */
};

static bool
simulation_would_be_slow(const struct estimate_environment *place)
{
    return place->nodes->n_ranks >= SLOW_SIMULATION_RANKS_MIN ||
           estimate_oversubscription(place) >= SLOW_OVERSUBSCRIPTION_MIN;
}

static enum hoop_status
candidate_add_sample(struct candidates *candidates, size_t index, double bytes)
{
    double ns = 0;

    const enum hoop_status status = estimate_cost(
        candidates->place, candidates->entries[index], (uint64_t)bytes, &ns);
    if (status != HOOP_OK)
        return error_pass(status);
    curve_add_sample(&candidates->curves[index], bytes, ns);
    return HOOP_OK;
}

static enum hoop_status
candidates_sample_curves(struct candidates *candidates)
{
    const bool is_short = simulation_would_be_slow(candidates->place);
    const double *sizes = is_short ? reduced_sample_sizes : full_sample_sizes;
    const size_t n_sizes =
        is_short ? COUNT_OF(reduced_sample_sizes) : COUNT_OF(full_sample_sizes);

    for (size_t i = 0; i < candidates->n; i++) {
        for (size_t j = 0; j < n_sizes; j++) {
            const enum hoop_status status =
                candidate_add_sample(candidates, i, sizes[j]);

            if (status != HOOP_OK)
                return error_pass(status);
        }
    }
    return HOOP_OK;
}

/* Compressed sums take more bytes than the data they are made of, so sending
 * sums saves nothing. With many ranks, no algorithm combines that much less. */
static enum hoop_status
candidates_count_combined(struct candidates *candidates)
{
    const struct estimate_environment *place = candidates->place;

    if (place->is_coded || simulation_would_be_slow(place))
        return HOOP_OK;
    for (size_t i = 0; i < candidates->n; i++) {
        const enum hoop_status status = estimate_combined_share(
            place, candidates->entries[i], COMBINE_COUNT_SAMPLE_BYTES,
            &candidates->combining[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static bool
candidate_supports_form(const struct candidates *candidates,
                        size_t index,
                        enum tuning_table_form form)
{
    return form == TABLE_FORM_EVEN_BLOCKS ||
           !candidates->entries[index]->is_even_only;
}

/* Of the algorithms that take as long as the fastest, the one that combines
 * least. */
static size_t
candidate_with_least_combining(const struct candidates *candidates,
                               double bytes,
                               enum tuning_table_form form,
                               size_t fastest)
{
    const double longest_ns =
        curve_cost_at(&candidates->curves[fastest], bytes) *
        (1 + ALGORITHM_SWITCH_GAIN_MIN);
    size_t best = fastest;

    for (size_t i = 0; i < candidates->n; i++) {
        if (candidate_supports_form(candidates, i, form) &&
            curve_cost_at(&candidates->curves[i], bytes) <= longest_ns &&
            candidates->combining[i] <
                COMBINE_COUNT_GAIN_RATIO * candidates->combining[best])
            best = i;
    }
    return best;
}

/* held is the algorithm for the next smaller size; a better one must be clearly
 * faster. */
static size_t
candidate_best_at_size(const struct candidates *candidates,
                       double bytes,
                       enum tuning_table_form form,
                       size_t held)
{
    size_t best = held;
    double best_ns = curve_cost_at(&candidates->curves[held], bytes) *
                     (1 - ALGORITHM_SWITCH_GAIN_MIN);

    for (size_t i = 0; i < candidates->n; i++) {
        const double ns = curve_cost_at(&candidates->curves[i], bytes);

        if (!candidate_supports_form(candidates, i, form) || ns >= best_ns)
            continue;
        best = i;
        best_ns = ns;
    }
    return candidate_with_least_combining(candidates, bytes, form, best);
}

/* The size between below and above at which pair[1] becomes better than
 * pair[0]. */
static double
switch_point_search(const struct candidates *candidates,
                    const size_t pair[2],
                    double below,
                    double above)
{
    const struct curve *left = &candidates->curves[pair[0]];
    const struct curve *right = &candidates->curves[pair[1]];

    while (above - below > below / 16) {
        const double middle = (below + above) / 2;

        if (curve_cost_at(right, middle) <
            curve_cost_at(left, middle) * (1 - ALGORITHM_SWITCH_GAIN_MIN))
            above = middle;
        else
            below = middle;
    }
    return below;
}

/* Make a row from the current curves. */
static void
switch_points_find(const struct candidates *candidates,
                   enum tuning_table_form form,
                   struct tuning_table_row *out_row)
{
    size_t held =
        candidate_best_at_size(candidates, 1 << SIZE_GRID_FIRST_LOG2, form, 0);
    struct tuning_table_row row;

    tuning_table_row_set(&row, candidates->entries[held]);
    for (unsigned i = SIZE_GRID_FIRST_LOG2 + 1; i <= SIZE_GRID_LAST_LOG2; i++) {
        const double bytes = (double)((uint64_t)1 << i);
        const size_t best =
            candidate_best_at_size(candidates, bytes, form, held);

        if (best == held || row.n_points == TABLE_SWITCH_POINTS_MAX)
            continue;
        row.points[row.n_points - 1].up_to_bytes =
            (uint64_t)switch_point_search(candidates, (size_t[]){held, best},
                                          bytes / 2, bytes);
        row.points[row.n_points++] = (struct tuning_table_switch_point){
            UINT64_MAX, candidates->entries[best]};
        held = best;
    }
    *out_row = row;
}

static size_t
candidate_index_of(const struct candidates *candidates,
                   const struct registry_algorithm *entry)
{
    size_t index = 0;

    while (candidates->entries[index] != entry)
        index++;
    return index;
}

/* Sample the algorithms on both sides of each switch point at that size. */
static enum hoop_status
switch_points_refine(struct candidates *candidates,
                     const struct tuning_table_row *row)
{
    enum hoop_status status = HOOP_OK;

    for (uint32_t i = 0; i + 1 < row->n_points && status == HOOP_OK; i++) {
        const double bytes = (double)row->points[i].up_to_bytes;

        status = candidate_add_sample(
            candidates, candidate_index_of(candidates, row->points[i].entry),
            bytes);
        if (status == HOOP_OK)
            status = candidate_add_sample(
                candidates,
                candidate_index_of(candidates, row->points[i + 1].entry),
                bytes);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
candidates_find(struct candidates *candidates, enum collective_kind collective)
{
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(collective, &n_entries);

    candidates->n = 0;
    for (size_t i = 0; i < n_entries; i++) {
        if (candidates->n < CANDIDATE_ALGORITHMS_MAX &&
            estimate_can_choose(candidates->place, &entries[i]))
            candidates->entries[candidates->n++] = &entries[i];
    }
}

static enum hoop_status
collective_rows_build(const struct estimate_environment *place,
                      enum collective_kind collective,
                      struct tuning_table_row rows[N_TABLE_FORMS])
{
    struct candidates candidates = {.place = place};

    candidates_find(&candidates, collective);
    if (candidates.n < 2)
        return HOOP_OK;
    enum hoop_status status = candidates_count_combined(&candidates);
    if (status == HOOP_OK)
        status = candidates_sample_curves(&candidates);
    if (status != HOOP_OK)
        return error_pass(status);
    switch_points_find(&candidates, TABLE_FORM_EVEN_BLOCKS,
                       &rows[TABLE_FORM_EVEN_BLOCKS]);
    const unsigned n_refinements =
        simulation_would_be_slow(place) ? 1 : SWITCH_POINT_REFINEMENTS_MAX;
    for (unsigned i = 0; i < n_refinements; i++) {
        status =
            switch_points_refine(&candidates, &rows[TABLE_FORM_EVEN_BLOCKS]);
        if (status != HOOP_OK)
            return error_pass(status);
        switch_points_find(&candidates, TABLE_FORM_EVEN_BLOCKS,
                           &rows[TABLE_FORM_EVEN_BLOCKS]);
    }
    switch_points_find(&candidates, TABLE_FORM_UNEVEN_BLOCKS,
                       &rows[TABLE_FORM_UNEVEN_BLOCKS]);
    return HOOP_OK;
}

enum hoop_status
builder_build_table(const struct estimate_environment *place,
                    struct table *out_table)
{
    struct table table;

    tuning_table_init(&table);
    table.machine = *place->machine;
    for (unsigned i = 0; i < COLLECTIVE_KINDS && place->nodes->n_ranks > 1;
         i++) {
        const enum hoop_status status =
            collective_rows_build(place, i, table.rows[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_table = table;
    return HOOP_OK;
}
