/*
 * transport/hall_rooms.c - the rooms of a hall come into being as they are used
 *
 * A program may have hundreds of communicators, of which most move little: what
 * lies beside the lines is asked for when something first goes there, and the
 * ring of cells grows with what has gone through it. The writer alone decides how
 * long its own is: it says with each post where that begins. Readers map as much
 * of it as they have had to read, in the same steps, so that nobody takes a page
 * fault for each page, nor any in the hundredth call.
 */

#include "transport/hall_parts.h"

/* What the halls of this process use, or may use for a single post. */
static _Atomic size_t n_bytes_used;

size_t
hall_least(uint32_t n_ranks, size_t n_slot)
{
    return sizeof(struct hall_page) + n_ranks * sizeof(struct hall_desk) +
           HALL_SMALLS + n_slot;
}

bool
hall_charge(struct hall *hall, size_t n_bytes)
{
    if (atomic_fetch_add(&n_bytes_used, n_bytes) + n_bytes > LIMIT_HALLS) {
        atomic_fetch_sub(&n_bytes_used, n_bytes);
        return false;
    }
    hall->n_charged += n_bytes;
    return true;
}

void
hall_discharge(struct hall *hall)
{
    atomic_fetch_sub(&n_bytes_used, hall->n_charged);
}

/* Those that are there at a time: fewer and larger steps. */
static size_t
step_up(size_t n_first, size_t n_wanted)
{
    while (n_first < n_wanted)
        n_first *= 2;
    return n_first;
}

static bool
is_worn(const struct hall *hall, unsigned n_wanted)
{
    return hall->n_taken + n_wanted > hall->n_cells &&
           hall->n_cells < HALL_CELLS && hall->n_laps >= HALL_LAPS;
}

/* Up to a slot is paid for already. */
static bool
is_paid(struct hall *hall)
{
    return hall->n_cells < HALL_SLOT_CELLS ||
           hall_charge(hall, hall->n_cells * hall_cell_bytes(hall));
}

void
hall_fit(struct hall *hall, unsigned n_wanted)
{
    if (n_wanted > hall->n_cells)
        hall->n_cells = (unsigned)step_up(HALL_CELLS_MIN, n_wanted);
    else if (is_worn(hall, n_wanted) && is_paid(hall))
        hall->n_cells *= 2;
    else
        return;
    hall->n_laps = 0;
}

static uint8_t *
room_of(const struct hall *hall, uint32_t rank)
{
    return hall->rooms + rank * hall->n_room;
}

static enum hoop_status
smalls_fill(struct hall *hall)
{
    const enum hoop_status status =
        memory_fill(room_of(hall, hall->rank), HALL_SMALLS);

    hall->has_smalls = status == HOOP_OK;
    return status;
}

static enum hoop_status
cells_fill(struct hall *hall)
{
    uint8_t *cells = room_of(hall, hall->rank) + HALL_SMALLS;
    const size_t n_before = hall->n_filled * hall_cell_bytes(hall);
    const size_t n_after = hall->n_cells * hall_cell_bytes(hall);
    const enum hoop_status status =
        memory_fill(cells + n_before, n_after - n_before);

    if (status == HOOP_OK)
        hall->n_filled = hall->n_cells;
    return status;
}

enum hoop_status
hall_fill(struct hall *hall, unsigned where)
{
    if (where == HALL_BESIDE && !hall->has_smalls)
        return smalls_fill(hall);
    if (where >= HALL_IN_CELLS && hall->n_filled < hall->n_cells)
        return cells_fill(hall);
    return HOOP_OK;
}

void
hall_reach_smalls(struct hall *hall, uint32_t rank)
{
    memory_reach(room_of(hall, rank), HALL_SMALLS);
    hall->ranks[rank].has_smalls = true;
}

void
hall_reach_cells(struct hall *hall, uint32_t rank, size_t n_bytes)
{
    struct hall_rank *known = &hall->ranks[rank];
    const size_t n_before = known->n_celled;

    known->n_celled = step_up(HALL_CELLS_MIN * hall_cell_bytes(hall), n_bytes);
    memory_reach(room_of(hall, rank) + HALL_SMALLS + n_before,
                 known->n_celled - n_before);
}
