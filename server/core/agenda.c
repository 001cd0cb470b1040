/* core/agenda.c - a binary heap whose entries know their place */

#include "core/agenda.h"

#include <assert.h>
#include <stdlib.h>

#include "core/memory.h"

static void
entry_place(struct agenda *agenda, struct agenda_entry *entry, size_t place)
{
    agenda->heap[place] = entry;
    entry->place = place;
}

static void
entry_rise(struct agenda *agenda, struct agenda_entry *entry)
{
    size_t place = entry->place;

    while (place > 1 &&
           agenda->heap[place / 2]->deadline_ns > entry->deadline_ns) {
        entry_place(agenda, agenda->heap[place / 2], place);
        place /= 2;
    }
    entry_place(agenda, entry, place);
}

static void
entry_sink(struct agenda *agenda, struct agenda_entry *entry)
{
    size_t place = entry->place;

    while (place * 2 <= agenda->n_entries) {
        size_t child = place * 2;

        if (child < agenda->n_entries && agenda->heap[child + 1]->deadline_ns <
                                             agenda->heap[child]->deadline_ns)
            child++;
        if (agenda->heap[child]->deadline_ns >= entry->deadline_ns)
            break;
        entry_place(agenda, agenda->heap[child], place);
        place = child;
    }
    entry_place(agenda, entry, place);
}

void
agenda_deinit(struct agenda *agenda)
{
    free(agenda->heap);
}

static void
agenda_append(struct agenda *agenda, struct agenda_entry *entry)
{
    if (agenda->n_entries + 1 >= agenda->n_room) {
        agenda->n_room = agenda->n_room ? 2 * agenda->n_room : 64;
        agenda->heap =
            memory_resize(agenda->heap, agenda->n_room, sizeof(*agenda->heap));
    }
    agenda->n_entries++;
    entry_place(agenda, entry, agenda->n_entries);
}

void
agenda_set(struct agenda *agenda,
           struct agenda_entry *entry,
           uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        agenda_remove(agenda, entry);
        return;
    }
    entry->deadline_ns = deadline_ns;
    if (!entry->place)
        agenda_append(agenda, entry);
    entry_rise(agenda, entry);
    entry_sink(agenda, entry);
}

void
agenda_remove(struct agenda *agenda, struct agenda_entry *entry)
{
    if (!entry->place)
        return;
    assert(agenda->heap[entry->place] == entry);

    struct agenda_entry *last = agenda->heap[agenda->n_entries--];

    if (last != entry) {
        entry_place(agenda, last, entry->place);
        entry_rise(agenda, last);
        entry_sink(agenda, last);
    }
    entry->place = 0;
}

struct agenda_entry *
agenda_first(const struct agenda *agenda)
{
    return agenda->n_entries ? agenda->heap[1] : NULL;
}
