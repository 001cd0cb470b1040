/*
 * model/simulation_index.c - finds the ranges that overlap a given one
 *
 * Entries are sorted by their start. Ranges may overlap each other. The
 * greatest end up to an entry never decreases, so a binary search can use it.
 */

#include "model/simulation_index.h"

#include <stdlib.h>

#include "base/error.h"

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
