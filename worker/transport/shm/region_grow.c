/*
 * transport/shm/region_grow.c - allocating a shared region as it is used
 *
 * A program may have hundreds of communicators, most of which move little.
 * What is beside the lines is allocated when something first goes there, and
 * the ring of cells grows with what has gone through it. The writer alone
 * decides how long its own ring is, since each post says where its bytes
 * begin. Readers map as much as they have had to read, in the same steps. So
 * no rank takes a page fault for each page, and none takes any in the
 * hundredth call.
 */

#include "transport/shm/region_layout.h"

/* Bytes that the shared regions of this process use, or may need for a single
 * post. */
static _Atomic size_t n_bytes_used;

size_t
shm_region_min_bytes(uint32_t n_ranks, size_t n_slot)
{
    return sizeof(struct shm_region_control) +
           n_ranks * sizeof(struct shm_region_rank_control) +
           SHM_REGION_SMALLS + n_slot;
}

bool
shm_region_charge_budget(struct shm_region *shm_region, size_t n_bytes)
{
    if (atomic_fetch_add(&n_bytes_used, n_bytes) + n_bytes >
        LIMIT_SHM_REGIONS) {
        atomic_fetch_sub(&n_bytes_used, n_bytes);
        return false;
    }
    shm_region->n_charged += n_bytes;
    return true;
}

void
shm_region_uncharge(struct shm_region *shm_region)
{
    atomic_fetch_sub(&n_bytes_used, shm_region->n_charged);
}

/* Returns n_first, doubled until it is enough: fewer and larger steps. */
static size_t
double_until(size_t n_first, size_t n_wanted)
{
    while (n_first < n_wanted)
        n_first *= 2;
    return n_first;
}

static bool
should_grow_ring(const struct shm_region *shm_region, unsigned n_wanted)
{
    return shm_region->n_taken + n_wanted > shm_region->n_cells &&
           shm_region->n_cells < SHM_REGION_CELLS &&
           shm_region->n_laps >= SHM_REGION_LAPS;
}

/* Up to one slot is charged from the beginning. */
static bool
charge_growth(struct shm_region *shm_region)
{
    return shm_region->n_cells < SHM_REGION_SLOT_CELLS ||
           shm_region_charge_budget(shm_region,
                                    shm_region->n_cells *
                                        shm_region_cell_bytes(shm_region));
}

void
shm_region_grow_ring(struct shm_region *shm_region, unsigned n_wanted)
{
    if (n_wanted > shm_region->n_cells)
        shm_region->n_cells =
            (unsigned)double_until(SHM_REGION_CELLS_MIN, n_wanted);
    else if (should_grow_ring(shm_region, n_wanted) &&
             charge_growth(shm_region))
        shm_region->n_cells *= 2;
    else
        return;
    shm_region->n_laps = 0;
}

static uint8_t *
rank_area(const struct shm_region *shm_region, uint32_t rank)
{
    return shm_region->areas + rank * shm_region->n_area;
}

static enum hoop_status
smalls_populate(struct shm_region *shm_region)
{
    const enum hoop_status status = memory_populate(
        rank_area(shm_region, shm_region->rank), SHM_REGION_SMALLS);

    shm_region->has_smalls = status == HOOP_OK;
    return status;
}

static enum hoop_status
cells_populate(struct shm_region *shm_region)
{
    uint8_t *cells =
        rank_area(shm_region, shm_region->rank) + SHM_REGION_SMALLS;
    const size_t n_before =
        shm_region->n_filled * shm_region_cell_bytes(shm_region);
    const size_t n_after =
        shm_region->n_cells * shm_region_cell_bytes(shm_region);
    const enum hoop_status status =
        memory_populate(cells + n_before, n_after - n_before);

    if (status == HOOP_OK)
        shm_region->n_filled = shm_region->n_cells;
    return status;
}

enum hoop_status
shm_region_populate(struct shm_region *shm_region, unsigned where)
{
    if (where == SHM_REGION_IN_SMALLS && !shm_region->has_smalls)
        return smalls_populate(shm_region);
    if (where >= SHM_REGION_IN_CELLS &&
        shm_region->n_filled < shm_region->n_cells)
        return cells_populate(shm_region);
    return HOOP_OK;
}

void
shm_region_prefault_smalls(struct shm_region *shm_region, uint32_t rank)
{
    memory_prefault(rank_area(shm_region, rank), SHM_REGION_SMALLS);
    shm_region->ranks[rank].has_smalls = true;
}

void
shm_region_prefault_cells(struct shm_region *shm_region,
                          uint32_t rank,
                          size_t n_bytes)
{
    struct shm_region_peer *known = &shm_region->ranks[rank];
    const size_t n_before = known->n_mapped_cells;

    known->n_mapped_cells = double_until(
        SHM_REGION_CELLS_MIN * shm_region_cell_bytes(shm_region), n_bytes);
    memory_prefault(rank_area(shm_region, rank) + SHM_REGION_SMALLS + n_before,
                    known->n_mapped_cells - n_before);
}
