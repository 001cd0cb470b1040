/*
 * transport/shm/region_create.c - creating, opening, growing and freeing shared
 * regions
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/wakeup.h"
#include "transport/shm/region.h"

/* "HHALL004" in memory order */
static const uint64_t SHM_REGION_MAGIC = 0x3430304c4c414848;

void
shm_region_close_fd(struct shm_region *shm_region)
{
    descriptor_close(shm_region->fd);
    shm_region->fd = -1;
}

void
shm_region_destroy(struct shm_region *shm_region)
{
    if (!shm_region)
        return;
    shm_region_close_fd(shm_region);
    memory_unmap(shm_region->base, shm_region->n_mapped);
    shm_region_uncharge(shm_region);
    shm_region_disable_cma(shm_region);
    free(shm_region);
}

DEFINE_CLEANUP(struct shm_region *, shm_region_destroy)

static size_t
rank_controls_end(uint32_t n_ranks)
{
    const size_t n_bytes = sizeof(struct shm_region_control) +
                           n_ranks * sizeof(struct shm_region_rank_control);

    return (n_bytes + MEMORY_PAGE_BYTES - 1) / MEMORY_PAGE_BYTES *
           MEMORY_PAGE_BYTES;
}

static size_t
shm_region_mapped_bytes(uint32_t n_ranks, size_t slot_capacity)
{
    return rank_controls_end(n_ranks) +
           n_ranks * (SHM_REGION_RANK_SMALL_BYTES +
                      LIMIT_SHM_REGION_RANK_SLOTS * slot_capacity);
}

/* The least size is charged to the budget of all regions; what the region
 * grows by is charged later. */
static enum hoop_status
shm_region_alloc(uint32_t n_ranks,
                 size_t slot_capacity,
                 struct shm_region **out_shm_region)
{
    struct shm_region *shm_region =
        calloc(1, sizeof(*shm_region) + n_ranks * sizeof(*shm_region->ranks));

    if (!shm_region)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a shared region");
    shm_region->fd = -1;
    shm_region->n_mapped = shm_region_mapped_bytes(n_ranks, slot_capacity);
    *out_shm_region = shm_region;
    if (!shm_region_charge_budget(shm_region,
                                  shm_region_min_bytes(n_ranks, slot_capacity)))
        return error_raise(HOOP_E_EXHAUSTED,
                           "the communicators of this process share enough "
                           "memory already");
    return HOOP_OK;
}

/* Map all of the region, and allocate the lines. */
static enum hoop_status
shm_region_map(struct shm_region *shm_region, uint32_t n_ranks)
{
    enum hoop_status status =
        memory_reserve(shm_region->n_mapped, &shm_region->base);

    if (status == HOOP_OK)
        status = memory_map_sparse(shm_region->base, shm_region->n_mapped,
                                   shm_region->fd);
    if (status == HOOP_OK)
        status = memory_dont_fork(shm_region->base, shm_region->n_mapped);
    if (status == HOOP_OK)
        status = memory_populate(shm_region->base, rank_controls_end(n_ranks));
    if (status != HOOP_OK)
        return error_pass(status);
    shm_region->control = (struct shm_region_control *)shm_region->base;
    return HOOP_OK;
}

static void
shm_region_init(struct shm_region *shm_region,
                uint32_t rank,
                uint32_t n_ranks,
                size_t slot_capacity)
{
    shm_region->rank = rank;
    shm_region->n_ranks = n_ranks;
    shm_region->slot_capacity = slot_capacity;
    shm_region->n_area = SHM_REGION_RANK_SMALL_BYTES +
                         LIMIT_SHM_REGION_RANK_SLOTS * slot_capacity;
    shm_region->areas = shm_region->base + rank_controls_end(n_ranks);
}

enum hoop_status
shm_region_create(uint32_t n_ranks,
                  size_t slot_capacity,
                  struct shared_memory_handle *out_place,
                  struct shm_region **out_shm_region)
{
    CLEANUP(shm_region_destroy) struct shm_region *shm_region = NULL;
    struct shared_memory_handle place;

    enum hoop_status status =
        shm_region_alloc(n_ranks, slot_capacity, &shm_region);
    if (status == HOOP_OK)
        status = shared_memory_create_sparse(shm_region->n_mapped, &place,
                                             &shm_region->fd);
    if (status == HOOP_OK)
        status = shm_region_map(shm_region, n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    shm_region_init(shm_region, 0, n_ranks, slot_capacity);
    shm_region->control->magic = SHM_REGION_MAGIC;
    shm_region->control->n_ranks = n_ranks;
    shm_region->control->slot_capacity = slot_capacity;
    memcpy(shm_region->control->key, place.key, MEMORY_KEY_BYTES);
    *out_place = place;
    *out_shm_region = STEAL(shm_region);
    return HOOP_OK;
}

/* Returns the slot size of a region file of n_bytes, or 0 if that is no shared
 * region. */
static size_t
region_file_slot_size(size_t n_bytes, uint32_t n_ranks)
{
    const size_t n_control_bytes = rank_controls_end(n_ranks);

    if (n_bytes <= n_control_bytes ||
        (n_bytes - n_control_bytes) % n_ranks != 0)
        return 0;
    const size_t n_area = (n_bytes - n_control_bytes) / n_ranks;
    if (n_area <= SHM_REGION_RANK_SMALL_BYTES ||
        n_area > SHM_REGION_RANK_SMALL_BYTES + LIMIT_SHM_REGION ||
        (n_area - SHM_REGION_RANK_SMALL_BYTES) %
                ((size_t)LIMIT_SHM_REGION_RANK_SLOTS * MEMORY_PAGE_BYTES) !=
            0)
        return 0;
    return (n_area - SHM_REGION_RANK_SMALL_BYTES) / LIMIT_SHM_REGION_RANK_SLOTS;
}

static enum hoop_status
shm_region_size_check(size_t n_bytes, uint32_t n_ranks)
{
    if (region_file_slot_size(n_bytes, n_ranks) > 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS,
                       "a shared region of %zu bytes for %u ranks is invalid",
                       n_bytes, n_ranks);
}

static enum hoop_status
shm_region_control_check(const struct shm_region *shm_region,
                         const struct shared_memory_handle *place,
                         uint32_t n_ranks,
                         size_t slot_capacity)
{
    const struct shm_region_control *control = shm_region->control;

    if (control->magic == SHM_REGION_MAGIC && control->n_ranks == n_ranks &&
        control->slot_capacity == slot_capacity &&
        memcmp(control->key, place->key, MEMORY_KEY_BYTES) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS, "a shared region of another job");
}

enum hoop_status
shm_region_open(const struct shared_memory_handle *place,
                uint32_t rank,
                uint32_t n_ranks,
                struct shm_region **out_shm_region)
{
    CLEANUP(shm_region_destroy) struct shm_region *shm_region = NULL;
    size_t n_bytes = 0;
    int fd = -1;

    enum hoop_status status = shared_memory_open(place, &fd, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t slot_capacity = region_file_slot_size(n_bytes, n_ranks);
    status = shm_region_size_check(n_bytes, n_ranks);
    if (status == HOOP_OK)
        status = shm_region_alloc(n_ranks, slot_capacity, &shm_region);
    if (shm_region)
        shm_region->fd = fd;
    else
        descriptor_close(fd);
    if (status == HOOP_OK)
        status = shm_region_map(shm_region, n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        shm_region_control_check(shm_region, place, n_ranks, slot_capacity);
    if (status != HOOP_OK)
        return error_pass(status);
    shm_region_close_fd(shm_region);
    shm_region_init(shm_region, rank, n_ranks, slot_capacity);
    *out_shm_region = STEAL(shm_region);
    return HOOP_OK;
}

/*
 * Allocate a shared region as it is used.
 *
 * A program may have hundreds of communicators, most of which move little.
 * What is beside the lines is allocated when something first goes there, and
 * the ring of cells grows with what has gone through it. The writer alone
 * decides how long its own ring is, since each post says where its bytes
 * begin. Readers map as much as they have had to read, in the same steps. So
 * no rank takes a page fault for each page, and none takes any in the
 * hundredth call.
 */

/* Bytes that the shared regions of this process use, or may need for a single
 * post. */
static _Atomic size_t n_bytes_used;

size_t
shm_region_min_bytes(uint32_t n_ranks, size_t slot_capacity)
{
    return sizeof(struct shm_region_control) +
           n_ranks * sizeof(struct shm_region_rank_control) +
           SHM_REGION_RANK_SMALL_BYTES + slot_capacity;
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
double_until_enough(size_t n_first, size_t n_wanted)
{
    while (n_first < n_wanted)
        n_first *= 2;
    return n_first;
}

static bool
should_grow_ring(const struct shm_region *shm_region, unsigned n_wanted)
{
    return shm_region->n_taken + n_wanted > shm_region->n_cells &&
           shm_region->n_cells < SHM_REGION_N_CELLS &&
           shm_region->n_ring_laps >= SHM_REGION_GROW_LAPS;
}

/* Up to one slot is charged from the beginning. */
static bool
charge_ring_growth(struct shm_region *shm_region)
{
    return shm_region->n_cells < SHM_REGION_CELLS_PER_SLOT ||
           shm_region_charge_budget(shm_region,
                                    shm_region->n_cells *
                                        shm_region_cell_bytes(shm_region));
}

void
shm_region_grow_ring(struct shm_region *shm_region, unsigned n_wanted)
{
    if (n_wanted > shm_region->n_cells)
        shm_region->n_cells =
            (unsigned)double_until_enough(SHM_REGION_CELLS_MIN, n_wanted);
    else if (should_grow_ring(shm_region, n_wanted) &&
             charge_ring_growth(shm_region))
        shm_region->n_cells *= 2;
    else
        return;
    shm_region->n_ring_laps = 0;
}

static uint8_t *
rank_area(const struct shm_region *shm_region, uint32_t rank)
{
    return shm_region->areas + rank * shm_region->n_area;
}

static enum hoop_status
small_payload_area_populate(struct shm_region *shm_region)
{
    const enum hoop_status status = memory_populate(
        rank_area(shm_region, shm_region->rank), SHM_REGION_RANK_SMALL_BYTES);

    shm_region->has_small_payload_area = status == HOOP_OK;
    return status;
}

static enum hoop_status
cells_populate(struct shm_region *shm_region)
{
    uint8_t *cells =
        rank_area(shm_region, shm_region->rank) + SHM_REGION_RANK_SMALL_BYTES;
    const size_t n_before =
        shm_region->n_allocated_cells * shm_region_cell_bytes(shm_region);
    const size_t n_after =
        shm_region->n_cells * shm_region_cell_bytes(shm_region);
    const enum hoop_status status =
        memory_populate(cells + n_before, n_after - n_before);

    if (status == HOOP_OK)
        shm_region->n_allocated_cells = shm_region->n_cells;
    return status;
}

enum hoop_status
shm_region_populate(struct shm_region *shm_region, unsigned where)
{
    if (where == SHM_PAYLOAD_IN_SMALL_AREA &&
        !shm_region->has_small_payload_area)
        return small_payload_area_populate(shm_region);
    if (where >= SHM_PAYLOAD_IN_CELLS &&
        shm_region->n_allocated_cells < shm_region->n_cells)
        return cells_populate(shm_region);
    return HOOP_OK;
}

void
shm_region_prefault_smalls(struct shm_region *shm_region, uint32_t rank)
{
    memory_prefault(rank_area(shm_region, rank), SHM_REGION_RANK_SMALL_BYTES);
    shm_region->ranks[rank].has_small_payload_area = true;
}

void
shm_region_prefault_cells(struct shm_region *shm_region,
                          uint32_t rank,
                          size_t n_bytes)
{
    struct shm_region_peer *known = &shm_region->ranks[rank];
    const size_t n_before = known->n_mapped_cell_bytes;

    known->n_mapped_cell_bytes = double_until_enough(
        SHM_REGION_CELLS_MIN * shm_region_cell_bytes(shm_region), n_bytes);
    memory_prefault(rank_area(shm_region, rank) + SHM_REGION_RANK_SMALL_BYTES +
                        n_before,
                    known->n_mapped_cell_bytes - n_before);
}

/* Let the ranks of a region read each other's buffers. */

enum hoop_status
shm_region_cma_attach(struct shm_region *shm_region,
                      uint32_t rank,
                      uint32_t pid,
                      const struct cma_address *place)
{
    struct cma_process *other = &shm_region->ranks[rank].cma_process;

    *other = (struct cma_process){.pid = pid, .place = *place};
    const enum hoop_status status = cma_read(other, 0, NULL, 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
shm_region_enable_cma(struct shm_region *shm_region)
{
    void *cma_buffer = NULL;

    if (posix_memalign(&cma_buffer, SHM_REGION_LINE_PAIR_BYTES,
                       SHM_REGION_CMA_BUFFER_BYTES) != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read through");
    shm_region->cma_buffer = cma_buffer;
    return HOOP_OK;
}

void
shm_region_disable_cma(struct shm_region *shm_region)
{
    free(shm_region->cma_buffer);
    shm_region->cma_buffer = NULL;
}

bool
shm_region_has_cma(const struct shm_region *shm_region)
{
    return shm_region->cma_buffer;
}

uint8_t *
shm_region_cma_buffer(const struct shm_region *shm_region)
{
    return shm_region->cma_buffer;
}

enum hoop_status
shm_region_cma_read(struct shm_region *shm_region,
                    uint32_t rank,
                    uint64_t address,
                    void *to,
                    size_t n_bytes)
{
    const enum hoop_status status =
        cma_read(&shm_region->ranks[rank].cma_process, address, to, n_bytes);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
