/*
 * select/samples_apply.c - lets measured times replace the model's choices
 *
 * A size that was measured stands for the sizes up to the geometric mean with
 * the next measured size, but for none that is more than four times as large or
 * as small.
 */

#include "select/samples.h"

enum {
    REACH = 4,
    /* WINS of WINS_OF samples must be faster. */
    WINS = 3,
    WINS_OF = 4,
};

/* The samples of one number of ranks and nodes, collective and size. */
struct sample_set {
    const struct sample *samples;
    size_t n;
    /* What the ranks of the communicator share. */
    const struct plan_shm_region *shm_region;
};

static bool
samples_are_comparable(const struct sample *one, const struct sample *other)
{
    return one->n_ranks == other->n_ranks && one->n_nodes == other->n_nodes &&
           one->collective == other->collective &&
           one->n_bytes == other->n_bytes;
}

/* Returns the set that begins at samples->all[first]. */
static struct sample_set
sample_set_at(const struct samples *samples, size_t first)
{
    struct sample_set sample_set = {&samples->all[first], 1, NULL};

    while (first + sample_set.n < samples->n &&
           samples_are_comparable(sample_set.samples,
                                  &sample_set.samples[sample_set.n]))
        sample_set.n++;
    return sample_set;
}

static bool
sample_set_is_faster(const struct sample_set *sample_set,
                     size_t one,
                     size_t other)
{
    size_t n_both = 0;
    size_t n_won = 0;

    for (size_t i = 0; i < sample_set->n; i++) {
        const uint64_t *ns = sample_set->samples[i].ns;

        n_both += ns[one] > 0 && ns[other] > 0;
        n_won += ns[one] > 0 && ns[one] < ns[other];
    }
    return n_both >= SAMPLES_MIN && n_won * WINS_OF >= n_both * WINS;
}

/* Compares each algorithm with the best so far, which is at first holder. */
static const struct registry_algorithm *
fastest_algorithm_of_set(const struct sample_set *sample_set,
                         const struct registry_algorithm *holder,
                         enum tuning_table_form form)
{
    size_t n_entries;
    const struct registry_algorithm *first = registry_collective_entries(
        sample_set->samples->collective, &n_entries);

    for (size_t i = 0; i < n_entries && i < SAMPLE_ENTRIES_MAX; i++) {
        const size_t held = (size_t)(holder - first);
        const bool may =
            (form == TABLE_EVEN || !first[i].is_even_only) &&
            plan_shm_region_can_run(sample_set->shm_region, first[i].algorithm);

        if (may && held < SAMPLE_ENTRIES_MAX &&
            sample_set_is_faster(sample_set, i, held))
            holder = &first[i];
    }
    return holder;
}

static uint64_t
geometric_mean_of(uint64_t below, uint64_t above)
{
    const double product = (double)below * (double)above;

    while (above - below > 1) {
        const uint64_t middle = below + (above - below) / 2;

        if ((double)middle * (double)middle < product)
            below = middle;
        else
            above = middle;
    }
    return below;
}

/* The samples [first, end) of one number of ranks and nodes and one
 * collective. */
struct sample_range {
    const struct samples *samples;
    size_t first;
    size_t end;
    const struct plan_shm_region *shm_region;
};

static struct sample_range
sample_range_at(const struct samples *samples, size_t first)
{
    const struct sample *sample = &samples->all[first];
    size_t end = first + 1;

    while (end < samples->n && samples->all[end].n_ranks == sample->n_ranks &&
           samples->all[end].n_nodes == sample->n_nodes &&
           samples->all[end].collective == sample->collective)
        end++;
    return (struct sample_range){
        .samples = samples, .first = first, .end = end};
}

struct size_span {
    uint64_t after_bytes;
    uint64_t up_to_bytes;
};

/* The sizes that the set at index at stands for. */
static struct size_span
size_span_of_set(const struct sample_range *sample_range,
                 size_t at,
                 const struct sample_set *sample_set)
{
    const struct sample *all = sample_range->samples->all;
    const uint64_t n_bytes = all[at].n_bytes;
    struct size_span size_span = {n_bytes / REACH, n_bytes * REACH};

    if (at > sample_range->first) {
        const uint64_t middle = geometric_mean_of(all[at - 1].n_bytes, n_bytes);

        if (size_span.after_bytes < middle)
            size_span.after_bytes = middle;
    }
    if (at + sample_set->n < sample_range->end) {
        const uint64_t middle =
            geometric_mean_of(n_bytes, all[at + sample_set->n].n_bytes);

        if (size_span.up_to_bytes > middle)
            size_span.up_to_bytes = middle;
    }
    return size_span;
}

static void
table_row_apply_samples(const struct sample_range *sample_range,
                        enum tuning_table_form form,
                        struct table *table)
{
    const struct sample *all = sample_range->samples->all;
    const enum collective_kind collective = all[sample_range->first].collective;
    const struct tuning_table_row model = table->rows[collective][form];
    struct tuning_table_row row = {.n_points = 0};
    uint64_t up_to_bytes = 0; /* up to which size the row is complete */

    for (size_t at = sample_range->first; at < sample_range->end;) {
        struct sample_set sample_set = sample_set_at(sample_range->samples, at);
        const struct size_span size_span =
            size_span_of_set(sample_range, at, &sample_set);
        const struct registry_algorithm *holder = tuning_table_find_algorithm(
            table, collective, form, all[at].n_bytes);

        sample_set.shm_region = sample_range->shm_region;
        const struct registry_algorithm *winner =
            fastest_algorithm_of_set(&sample_set, holder, form);

        at += sample_set.n;
        if (winner == holder)
            continue;
        tuning_table_row_copy(&row, &model, up_to_bytes, size_span.after_bytes);
        tuning_table_row_append(&row, size_span.up_to_bytes, winner);
        up_to_bytes = size_span.up_to_bytes;
    }
    tuning_table_row_copy(&row, &model, up_to_bytes, UINT64_MAX);
    table->rows[collective][form] = row;
}

void
samples_apply(const struct samples *samples,
              const struct plan_nodes *nodes,
              const struct plan_shm_region *shm_region,
              struct table *table)
{
    for (size_t at = 0; at < samples->n;) {
        struct sample_range sample_range = sample_range_at(samples, at);

        sample_range.shm_region = shm_region;
        if (samples->all[at].n_ranks == nodes->n_ranks &&
            samples->all[at].n_nodes == nodes->n_nodes) {
            table_row_apply_samples(&sample_range, TABLE_EVEN, table);
            table_row_apply_samples(&sample_range, TABLE_UNEVEN, table);
        }
        at = sample_range.end;
    }
}

size_t
samples_count_for_nodes(const struct samples *samples,
                        const struct plan_nodes *nodes)
{
    size_t n_most = 0;

    for (size_t at = 0; samples && at < samples->n;) {
        const struct sample_set sample_set = sample_set_at(samples, at);
        const bool is_alike = sample_set.samples->n_ranks == nodes->n_ranks &&
                              sample_set.samples->n_nodes == nodes->n_nodes;

        if (is_alike && sample_set.n > n_most)
            n_most = sample_set.n;
        at += sample_set.n;
    }
    return n_most;
}
