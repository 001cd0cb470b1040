/*
 * tune/races_apply.c - who won takes the place of what the model chose
 *
 * A size that was raced speaks for those up to half way to the next one that
 * was, by quotient, and for none that is more than four times as large or as
 * small.
 */

#include "tune/races.h"

enum {
    REACH = 4,
    /* Of so many races, so many must be won. */
    WINS = 3,
    WINS_OF = 4,
};

/* The races of one form, collective and size. */
struct heat {
    const struct race *races;
    size_t n;
    const struct plan_hall *shm_region; /* of who wants to know who won */
};

static bool
is_same_heat(const struct race *one, const struct race *other)
{
    return one->n_ranks == other->n_ranks && one->n_nodes == other->n_nodes &&
           one->collective == other->collective &&
           one->n_bytes == other->n_bytes;
}

/* The one that begins at races->all[first]. */
static struct heat
heat_at(const struct races *races, size_t first)
{
    struct heat heat = {&races->all[first], 1, NULL};

    while (first + heat.n < races->n &&
           is_same_heat(heat.races, &heat.races[heat.n]))
        heat.n++;
    return heat;
}

static bool
heat_is_won(const struct heat *heat, size_t one, size_t other)
{
    size_t n_both = 0;
    size_t n_won = 0;

    for (size_t i = 0; i < heat->n; i++) {
        const uint64_t *ns = heat->races[i].ns;

        n_both += ns[one] > 0 && ns[other] > 0;
        n_won += ns[one] > 0 && ns[one] < ns[other];
    }
    return n_both >= RACES_MIN && n_won * WINS_OF >= n_both * WINS;
}

/* Whoever holds the place is challenged by all others in turn. */
static const struct catalog_entry *
winner_of(const struct heat *heat,
          const struct catalog_entry *holder,
          enum table_form form)
{
    size_t n_entries;
    const struct catalog_entry *first =
        catalog_of(heat->races->collective, &n_entries);

    for (size_t i = 0; i < n_entries && i < RACE_ENTRIES_MAX; i++) {
        const size_t held = (size_t)(holder - first);
        const bool may = (form == TABLE_EVEN || !first[i].is_even_only) &&
                         plan_hall_suits(heat->shm_region, first[i].algorithm);

        if (may && held < RACE_ENTRIES_MAX && heat_is_won(heat, i, held))
            holder = &first[i];
    }
    return holder;
}

static uint64_t
middle_of(uint64_t below, uint64_t above)
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

/* Races of one form and collective: those from first to end. */
struct meeting {
    const struct races *races;
    size_t first;
    size_t end;
    const struct plan_hall *shm_region;
};

static struct meeting
meeting_at(const struct races *races, size_t first)
{
    const struct race *race = &races->all[first];
    size_t end = first + 1;

    while (end < races->n && races->all[end].n_ranks == race->n_ranks &&
           races->all[end].n_nodes == race->n_nodes &&
           races->all[end].collective == race->collective)
        end++;
    return (struct meeting){.races = races, .first = first, .end = end};
}

struct span {
    uint64_t after_bytes;
    uint64_t up_to_bytes;
};

/* For which sizes the heat that begins at speaks. */
static struct span
span_of(const struct meeting *meeting, size_t at, const struct heat *heat)
{
    const struct race *all = meeting->races->all;
    const uint64_t n_bytes = all[at].n_bytes;
    struct span span = {n_bytes / REACH, n_bytes * REACH};

    if (at > meeting->first) {
        const uint64_t middle = middle_of(all[at - 1].n_bytes, n_bytes);

        if (span.after_bytes < middle)
            span.after_bytes = middle;
    }
    if (at + heat->n < meeting->end) {
        const uint64_t middle = middle_of(n_bytes, all[at + heat->n].n_bytes);

        if (span.up_to_bytes > middle)
            span.up_to_bytes = middle;
    }
    return span;
}

static void
row_apply(const struct meeting *meeting,
          enum table_form form,
          struct table *table)
{
    const struct race *all = meeting->races->all;
    const enum catalog_collective collective = all[meeting->first].collective;
    const struct table_row model = table->rows[collective][form];
    struct table_row row = {.n_points = 0};
    uint64_t up_to_bytes = 0; /* what the row says so far */

    for (size_t at = meeting->first; at < meeting->end;) {
        struct heat heat = heat_at(meeting->races, at);
        const struct span span = span_of(meeting, at, &heat);
        const struct catalog_entry *holder =
            table_find(table, collective, form, all[at].n_bytes);

        heat.shm_region = meeting->shm_region;
        const struct catalog_entry *winner = winner_of(&heat, holder, form);

        at += heat.n;
        if (winner == holder)
            continue;
        table_row_copy(&row, &model, up_to_bytes, span.after_bytes);
        table_row_put(&row, span.up_to_bytes, winner);
        up_to_bytes = span.up_to_bytes;
    }
    table_row_copy(&row, &model, up_to_bytes, UINT64_MAX);
    table->rows[collective][form] = row;
}

void
races_apply(const struct races *races,
            const struct plan_nodes *nodes,
            const struct plan_hall *shm_region,
            struct table *table)
{
    for (size_t at = 0; at < races->n;) {
        struct meeting meeting = meeting_at(races, at);

        meeting.shm_region = shm_region;
        if (races->all[at].n_ranks == nodes->n_ranks &&
            races->all[at].n_nodes == nodes->n_nodes) {
            row_apply(&meeting, TABLE_EVEN, table);
            row_apply(&meeting, TABLE_UNEVEN, table);
        }
        at = meeting.end;
    }
}

size_t
races_count(const struct races *races, const struct plan_nodes *nodes)
{
    size_t n_most = 0;

    for (size_t at = 0; races && at < races->n;) {
        const struct heat heat = heat_at(races, at);
        const bool is_alike = heat.races->n_ranks == nodes->n_ranks &&
                              heat.races->n_nodes == nodes->n_nodes;

        if (is_alike && heat.n > n_most)
            n_most = heat.n;
        at += heat.n;
    }
    return n_most;
}
