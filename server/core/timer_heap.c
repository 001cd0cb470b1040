/* core/timer_heap.c - a binary heap whose entries know their place */

#include "core/timer_heap.h"

#include <assert.h>
#include <stdlib.h>

#include "core/memory.h"

static void
timer_entry_put_at(struct timer_heap *timer_heap,
                   struct timer_entry *entry,
                   size_t place)
{
    timer_heap->heap[place] = entry;
    entry->place = place;
}

static void
timer_entry_sift_up(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    size_t place = entry->place;

    while (place > 1 &&
           timer_heap->heap[place / 2]->deadline_ns > entry->deadline_ns) {
        timer_entry_put_at(timer_heap, timer_heap->heap[place / 2], place);
        place /= 2;
    }
    timer_entry_put_at(timer_heap, entry, place);
}

static void
timer_entry_sift_down(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    size_t place = entry->place;

    while (place * 2 <= timer_heap->n_entries) {
        size_t child = place * 2;

        if (child < timer_heap->n_entries &&
            timer_heap->heap[child + 1]->deadline_ns <
                timer_heap->heap[child]->deadline_ns)
            child++;
        if (timer_heap->heap[child]->deadline_ns >= entry->deadline_ns)
            break;
        timer_entry_put_at(timer_heap, timer_heap->heap[child], place);
        place = child;
    }
    timer_entry_put_at(timer_heap, entry, place);
}

void
timer_heap_deinit(struct timer_heap *timer_heap)
{
    free(timer_heap->heap);
}

static void
timer_heap_append(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    if (timer_heap->n_entries + 1 >= timer_heap->n_room) {
        timer_heap->n_room = timer_heap->n_room ? 2 * timer_heap->n_room : 64;
        timer_heap->heap = memory_realloc(timer_heap->heap, timer_heap->n_room,
                                          sizeof(*timer_heap->heap));
    }
    timer_heap->n_entries++;
    timer_entry_put_at(timer_heap, entry, timer_heap->n_entries);
}

void
timer_heap_set(struct timer_heap *timer_heap,
               struct timer_entry *entry,
               uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        timer_heap_remove(timer_heap, entry);
        return;
    }
    entry->deadline_ns = deadline_ns;
    if (!entry->place)
        timer_heap_append(timer_heap, entry);
    timer_entry_sift_up(timer_heap, entry);
    timer_entry_sift_down(timer_heap, entry);
}

void
timer_heap_remove(struct timer_heap *timer_heap, struct timer_entry *entry)
{
    if (!entry->place)
        return;
    assert(timer_heap->heap[entry->place] == entry);

    struct timer_entry *last = timer_heap->heap[timer_heap->n_entries--];

    if (last != entry) {
        timer_entry_put_at(timer_heap, last, entry->place);
        timer_entry_sift_up(timer_heap, last);
        timer_entry_sift_down(timer_heap, last);
    }
    entry->place = 0;
}

struct timer_entry *
timer_heap_first(const struct timer_heap *timer_heap)
{
    return timer_heap->n_entries ? timer_heap->heap[1] : NULL;
}
