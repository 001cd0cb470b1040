/* model/simulation_heap.c - steps that may begin, earliest first */

#include "model/simulation_heap.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

struct simulation_heap_entry {
    double at_ns;
    uint64_t order;
    uint32_t step;
};

enum {
    HEAP_CAPACITY_MIN = 256
};

void
simulation_heap_deinit(struct simulation_heap *heap)
{
    free(heap->entries);
    *heap = (struct simulation_heap){0};
}

static bool
heap_entry_is_before(const struct simulation_heap_entry *one,
                     const struct simulation_heap_entry *other)
{
    if (one->at_ns < other->at_ns)
        return true;
    return !(one->at_ns > other->at_ns) && one->order < other->order;
}

static enum hoop_status
heap_grow(struct simulation_heap *heap)
{
    const size_t capacity =
        heap->capacity ? 2 * heap->capacity : HEAP_CAPACITY_MIN;
    struct simulation_heap_entry *entries =
        reallocarray(heap->entries, capacity, sizeof(*entries));

    if (!entries)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to simulate %zu steps at once", capacity);
    heap->entries = entries;
    heap->capacity = capacity;
    return HOOP_OK;
}

enum hoop_status
simulation_heap_push(struct simulation_heap *heap, double at_ns, uint32_t step)
{
    if (heap->n_entries == heap->capacity) {
        const enum hoop_status status = heap_grow(heap);
        if (status != HOOP_OK)
            return error_pass(status);
    }

    const struct simulation_heap_entry entry = {at_ns, heap->n_pushed++, step};
    size_t hole = heap->n_entries++;

    while (hole > 0 &&
           heap_entry_is_before(&entry, &heap->entries[(hole - 1) / 2])) {
        heap->entries[hole] = heap->entries[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->entries[hole] = entry;
    return HOOP_OK;
}

uint32_t
simulation_heap_pop(struct simulation_heap *heap)
{
    assert(heap->n_entries > 0);

    const uint32_t step = heap->entries[0].step;
    const struct simulation_heap_entry last = heap->entries[--heap->n_entries];
    const size_t n = heap->n_entries;
    size_t hole = 0;

    for (size_t child = 1; child < n; child = 2 * hole + 1) {
        if (child + 1 < n && heap_entry_is_before(&heap->entries[child + 1],
                                                  &heap->entries[child]))
            child++;
        if (!heap_entry_is_before(&heap->entries[child], &last))
            break;
        heap->entries[hole] = heap->entries[child];
        hole = child;
    }
    heap->entries[hole] = last;
    return step;
}
