/*
 * model/simulation_dependency.c - finds the steps that a step depends on
 *
 * The file has byte ranges and their overlaps, an index that finds the ranges
 * of a round that overlap a given one, and the search through the rounds.
 * Earlier steps are searched from the newest round backwards. The search for
 * some bytes ends at a step that writes all of them, because that step has
 * waited for everything before it.
 */

#include <stdlib.h>

#include "base/error.h"
#include "model/simulation_graph.h"

/* Ranges of elements of a buffer, and overlaps. */

bool
simulation_range_has_overlap(const struct simulation_range *one,
                             const struct simulation_range *other)
{
    return one->begin < other->end && other->begin < one->end;
}

bool
simulation_range_covers(const struct simulation_range *outer,
                        const struct simulation_range *inner)
{
    return outer->begin <= inner->begin && inner->end <= outer->end;
}

static float
range_fraction_at(const struct simulation_range *range, size_t at)
{
    return (float)((double)(at - range->begin) /
                   (double)(range->end - range->begin));
}

struct simulation_flow_overlap
simulation_range_overlap(const struct simulation_range *earlier,
                         const struct simulation_range *later)
{
    const size_t begin =
        later->begin > earlier->begin ? later->begin : earlier->begin;
    const size_t end = later->end < earlier->end ? later->end : earlier->end;

    return (struct simulation_flow_overlap){
        .earlier_begin = range_fraction_at(earlier, begin),
        .earlier_end = range_fraction_at(earlier, end),
        .later_begin = range_fraction_at(later, begin),
        .later_end = range_fraction_at(later, end),
    };
}

/*
 * Finds the ranges that overlap a given one.
 *
 * Entries are sorted by their start. Ranges may overlap each other. The
 * greatest end up to an entry never decreases, so a binary search can use
 * it.
 */

enum {
    INDEX_CAPACITY_MIN = 64
};

void
simulation_index_deinit(struct simulation_index *index)
{
    free(index->entries);
    *index = (struct simulation_index){0};
}

enum hoop_status
simulation_index_add_range(struct simulation_index *index,
                           enum plan_buffer buffer,
                           const struct simulation_range *range,
                           uint32_t step)
{
    if (range->begin == range->end)
        return HOOP_OK;
    if (index->n_entries == index->capacity) {
        const size_t capacity =
            index->capacity ? 2 * index->capacity : INDEX_CAPACITY_MIN;
        struct simulation_index_entry *entries =
            reallocarray(index->entries, capacity, sizeof(*entries));

        if (!entries)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory to simulate %zu steps of a round",
                               capacity);
        index->entries = entries;
        index->capacity = capacity;
    }
    index->entries[index->n_entries++] = (struct simulation_index_entry){
        .range = *range,
        .buffer = buffer,
        .step = step,
    };
    return HOOP_OK;
}

static int
index_entry_compare(const void *left, const void *right)
{
    const struct simulation_index_entry *one = left;
    const struct simulation_index_entry *other = right;

    if (one->buffer != other->buffer)
        return one->buffer < other->buffer ? -1 : 1;
    if (one->range.begin != other->range.begin)
        return one->range.begin < other->range.begin ? -1 : 1;
    return one->step < other->step ? -1 : one->step > other->step;
}

void
simulation_index_sort(struct simulation_index *index)
{
    struct simulation_index_entry *entries = index->entries;

    if (index->n_entries == 0)
        return;
    qsort(entries, index->n_entries, sizeof(*entries), index_entry_compare);
    for (size_t i = 0; i < index->n_entries; i++) {
        entries[i].reach = entries[i].range.end;
        if (i > 0 && entries[i - 1].buffer == entries[i].buffer &&
            entries[i - 1].reach > entries[i].reach)
            entries[i].reach = entries[i - 1].reach;
    }
}

size_t
simulation_index_find_first(const struct simulation_index *index,
                            enum plan_buffer buffer,
                            const struct simulation_range *range)
{
    size_t low = 0;
    size_t high = index->n_entries;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct simulation_index_entry *entry = &index->entries[middle];

        if (entry->buffer < (uint32_t)buffer ||
            (entry->buffer == (uint32_t)buffer && entry->reach <= range->begin))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool
simulation_index_entry_may_overlap(const struct simulation_index *index,
                                   size_t number,
                                   enum plan_buffer buffer,
                                   const struct simulation_range *range)
{
    return number < index->n_entries &&
           index->entries[number].buffer == (uint32_t)buffer &&
           index->entries[number].range.begin < range->end;
}

enum {
    LINEAR_SEARCH_MAX = 64 /* larger rounds get an index */
};

/* The ranges that the steps of a round read and write. */
struct round_access_index {
    struct simulation_index reads;
    struct simulation_index writes;
};

/* Two ranges of one buffer, the later step's and the earlier one's. */
struct dependency_range_pair {
    const struct simulation_range *later;
    const struct simulation_range *earlier;
};

static enum hoop_status
range_pair_add_dependency(
    struct simulation_graph *graph,
    uint32_t later,
    uint32_t earlier,
    const struct dependency_range_pair *dependency_range_pair)
{
    if (!simulation_range_has_overlap(dependency_range_pair->later,
                                      dependency_range_pair->earlier))
        return HOOP_OK;

    const struct simulation_flow_overlap overlap = simulation_range_overlap(
        dependency_range_pair->earlier, dependency_range_pair->later);

    return simulation_graph_add_edge(graph, later, earlier, &overlap);
}

/* The ranges of a step that still have to be compared with earlier steps. */
struct dependency_search {
    uint32_t step;
    struct simulation_range reads;
    struct simulation_range writes;
};

static enum hoop_status
search_compare_step(struct simulation_graph *graph,
                    struct dependency_search *dependency_search,
                    uint32_t earlier)
{
    const struct simulation_step *step = &graph->steps[dependency_search->step];
    const struct simulation_step *before = &graph->steps[earlier];
    const struct dependency_range_pair range_pairs[] = {
        {&step->writes, &before->writes},
        {&step->writes, &before->reads},
        {&step->reads, &before->writes},
    };
    const bool is_sought[] = {
        dependency_search->writes.end > 0 &&
            step->writes_to == before->writes_to,
        dependency_search->writes.end > 0 &&
            step->writes_to == before->reads_from,
        dependency_search->reads.end > 0 &&
            step->reads_from == before->writes_to,
    };
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; status == HOOP_OK && i < 3; i++)
        if (is_sought[i])
            status = range_pair_add_dependency(graph, dependency_search->step,
                                               earlier, &range_pairs[i]);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_sought[0] &&
        simulation_range_covers(&before->writes, &dependency_search->writes))
        dependency_search->writes = (struct simulation_range){0};
    if (is_sought[2] &&
        simulation_range_covers(&before->writes, &dependency_search->reads))
        dependency_search->reads = (struct simulation_range){0};
    return HOOP_OK;
}

/* Compares with all steps of a round that touch range. */
static enum hoop_status
search_index_range(struct simulation_graph *graph,
                   struct dependency_search *dependency_search,
                   const struct simulation_index *index,
                   const struct simulation_range *range)
{
    const struct simulation_step *step = &graph->steps[dependency_search->step];
    const enum plan_buffer buffer = (enum plan_buffer)(
        range == &step->reads ? step->reads_from : step->writes_to);
    enum hoop_status status = HOOP_OK;

    for (size_t i = simulation_index_find_first(index, buffer, range);
         status == HOOP_OK &&
         simulation_index_entry_may_overlap(index, i, buffer, range);
         i++)
        status = search_compare_step(graph, dependency_search,
                                     index->entries[i].step);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
search_round_by_index(struct simulation_graph *graph,
                      struct dependency_search *dependency_search,
                      const struct round_access_index *index)
{
    const struct simulation_step *step = &graph->steps[dependency_search->step];
    enum hoop_status status = HOOP_OK;

    if (dependency_search->writes.end > 0)
        status = search_index_range(graph, dependency_search, &index->reads,
                                    &step->writes);
    if (status == HOOP_OK && dependency_search->writes.end > 0)
        status = search_index_range(graph, dependency_search, &index->writes,
                                    &step->writes);
    if (status == HOOP_OK && dependency_search->reads.end > 0)
        status = search_index_range(graph, dependency_search, &index->writes,
                                    &step->reads);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
search_round_linearly(struct simulation_graph *graph,
                      struct dependency_search *dependency_search,
                      uint32_t first)
{
    enum hoop_status status = HOOP_OK;

    for (uint32_t i = first; status == HOOP_OK && i != SIMULATION_LIST_END;
         i = graph->steps[i].next)
        status = search_compare_step(graph, dependency_search, i);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Goes through the rounds from the newest on, until nothing is left to
 * compare. */
enum hoop_status
simulation_dependency_add_for_step(struct simulation_graph *graph,
                                   uint32_t step)
{
    const uint32_t vrank = graph->steps[step].vrank;
    const uint32_t round = graph->steps[step].round;
    const uint32_t n_before = round - graph->setup.rounds.first;
    struct dependency_search dependency_search = {
        .step = step,
        .reads = graph->steps[step].reads,
        .writes = graph->steps[step].writes,
    };

    for (uint32_t back = 1; back < graph->window && back <= n_before; back++) {
        const struct simulation_round_slot *slot =
            simulation_graph_round_slot(graph, vrank, round - back);
        const enum hoop_status status =
            slot->index
                ? search_round_by_index(graph, &dependency_search, slot->index)
                : search_round_linearly(graph, &dependency_search, slot->first);

        if (status != HOOP_OK)
            return error_pass(status);
        if (dependency_search.reads.end == 0 &&
            dependency_search.writes.end == 0)
            break;
    }
    return HOOP_OK;
}

static bool
round_has_few_steps(const struct simulation_graph *graph,
                    const struct simulation_round_slot *slot)
{
    uint32_t i = slot->first;

    for (int n = 0; n < LINEAR_SEARCH_MAX && i != SIMULATION_LIST_END; n++)
        i = graph->steps[i].next;
    return i == SIMULATION_LIST_END;
}

enum hoop_status
simulation_dependency_index_round(struct simulation_graph *graph,
                                  struct simulation_round_slot *slot)
{
    enum hoop_status status = HOOP_OK;

    if (round_has_few_steps(graph, slot))
        return HOOP_OK;
    slot->index = calloc(1, sizeof(*slot->index));
    if (!slot->index)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to simulate a round");
    for (uint32_t i = slot->first;
         status == HOOP_OK && i != SIMULATION_LIST_END;
         i = graph->steps[i].next) {
        const struct simulation_step *step = &graph->steps[i];

        status = simulation_index_add_range(&slot->index->reads,
                                            (enum plan_buffer)step->reads_from,
                                            &step->reads, i);
        if (status == HOOP_OK)
            status = simulation_index_add_range(
                &slot->index->writes, (enum plan_buffer)step->writes_to,
                &step->writes, i);
    }
    simulation_index_sort(&slot->index->reads);
    simulation_index_sort(&slot->index->writes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
simulation_dependency_free_index(struct simulation_round_slot *slot)
{
    struct round_access_index *index = slot->index;

    if (!index)
        return;
    simulation_index_deinit(&index->reads);
    simulation_index_deinit(&index->writes);
    free(index);
    slot->index = NULL;
}
