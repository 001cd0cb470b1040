/* transport/hall_making.c - halls are made, found by others, and given back */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/descriptor.h"
#include "transport/hall_parts.h"

static const uint64_t MAGIC = 0x3430304c4c414848; /* "HHALL004" */

size_t
hall_slot_bytes(uint32_t n_ranks)
{
    size_t n_bytes = LIMIT_HALL_SLOT_MAX;

    while (n_bytes > LIMIT_HALL_SLOT_MIN &&
           HALL_SLOTS * n_bytes * n_ranks > LIMIT_HALL)
        n_bytes /= 2;
    return n_bytes;
}

void
hall_seal_off(struct hall *hall)
{
    descriptor_close(hall->fd);
    hall->fd = -1;
}

void
hall_destroy(struct hall *hall)
{
    if (!hall)
        return;
    hall_seal_off(hall);
    memory_unmap(hall->base, hall->n_mapped);
    hall_discharge(hall);
    hall_shut(hall);
    free(hall);
}

DEFINE_CLEANUP(struct hall *, hall_destroy)

static size_t
desks_end(uint32_t n_ranks)
{
    const size_t n_bytes =
        sizeof(struct hall_page) + n_ranks * sizeof(struct hall_desk);

    return (n_bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
}

static size_t
hall_size(uint32_t n_ranks, size_t n_slot)
{
    return desks_end(n_ranks) + n_ranks * (HALL_SMALLS + HALL_SLOTS * n_slot);
}

/* Within the budget of all; what it may grow by is another matter. */
static enum hoop_status
hall_alloc(uint32_t n_ranks, size_t n_slot, struct hall **out_hall)
{
    struct hall *hall =
        calloc(1, sizeof(*hall) + n_ranks * sizeof(*hall->ranks));

    if (!hall)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a hall");
    hall->fd = -1;
    hall->n_mapped = hall_size(n_ranks, n_slot);
    *out_hall = hall;
    if (!hall_charge(hall, hall_least(n_ranks, n_slot)))
        return error_raise(HOOP_E_EXHAUSTED,
                           "the communicators of this process share enough "
                           "memory already");
    return HOOP_OK;
}

/* Only the lines are there at once. */
static enum hoop_status
hall_map(struct hall *hall, uint32_t n_ranks)
{
    enum hoop_status status = memory_reserve(hall->n_mapped, &hall->base);

    if (status == HOOP_OK)
        status = memory_map_sparse(hall->base, hall->n_mapped, hall->fd);
    if (status == HOOP_OK)
        status = memory_keep_from_children(hall->base, hall->n_mapped);
    if (status == HOOP_OK)
        status = memory_fill(hall->base, desks_end(n_ranks));
    if (status != HOOP_OK)
        return error_pass(status);
    hall->page = (struct hall_page *)hall->base;
    return HOOP_OK;
}

static void
hall_init(struct hall *hall, uint32_t rank, uint32_t n_ranks, size_t n_slot)
{
    hall->rank = rank;
    hall->n_ranks = n_ranks;
    hall->n_slot = n_slot;
    hall->n_room = HALL_SMALLS + HALL_SLOTS * n_slot;
    hall->rooms = hall->base + desks_end(n_ranks);
}

enum hoop_status
hall_create(uint32_t n_ranks,
            size_t n_slot,
            struct memory_place *out_place,
            struct hall **out_hall)
{
    CLEANUP(hall_destroy) struct hall *hall = NULL;
    struct memory_place place;

    enum hoop_status status = hall_alloc(n_ranks, n_slot, &hall);
    if (status == HOOP_OK)
        status = memory_create_sparse(hall->n_mapped, &place, &hall->fd);
    if (status == HOOP_OK)
        status = hall_map(hall, n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    hall_init(hall, 0, n_ranks, n_slot);
    hall->page->magic = MAGIC;
    hall->page->n_ranks = n_ranks;
    hall->page->n_slot = n_slot;
    memcpy(hall->page->key, place.key, MEMORY_KEY);
    *out_place = place;
    *out_hall = STEAL(hall);
    return HOOP_OK;
}

/* What a file of n_bytes would have for slots; 0: it is no hall. */
static size_t
slot_of(size_t n_bytes, uint32_t n_ranks)
{
    const size_t n_desks = desks_end(n_ranks);

    if (n_bytes <= n_desks || (n_bytes - n_desks) % n_ranks != 0)
        return 0;
    const size_t n_room = (n_bytes - n_desks) / n_ranks;
    if (n_room <= HALL_SMALLS || n_room > HALL_SMALLS + LIMIT_HALL ||
        (n_room - HALL_SMALLS) % ((size_t)HALL_SLOTS * MEMORY_PAGE) != 0)
        return 0;
    return (n_room - HALL_SMALLS) / HALL_SLOTS;
}

static enum hoop_status
size_check(size_t n_bytes, uint32_t n_ranks)
{
    if (slot_of(n_bytes, n_ranks) > 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS,
                       "a hall of %zu bytes for %u ranks is none", n_bytes,
                       n_ranks);
}

static enum hoop_status
page_check(const struct hall *hall,
           const struct memory_place *place,
           uint32_t n_ranks,
           size_t n_slot)
{
    const struct hall_page *page = hall->page;

    if (page->magic == MAGIC && page->n_ranks == n_ranks &&
        page->n_slot == n_slot &&
        memcmp(page->key, place->key, MEMORY_KEY) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DATA_LOSS, "a hall of somebody else");
}

enum hoop_status
hall_open(const struct memory_place *place,
          uint32_t rank,
          uint32_t n_ranks,
          struct hall **out_hall)
{
    CLEANUP(hall_destroy) struct hall *hall = NULL;
    size_t n_bytes = 0;
    int fd = -1;

    enum hoop_status status = memory_open(place, &fd, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t n_slot = slot_of(n_bytes, n_ranks);
    status = size_check(n_bytes, n_ranks);
    if (status == HOOP_OK)
        status = hall_alloc(n_ranks, n_slot, &hall);
    if (hall)
        hall->fd = fd;
    else
        descriptor_close(fd);
    if (status == HOOP_OK)
        status = hall_map(hall, n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    status = page_check(hall, place, n_ranks, n_slot);
    if (status != HOOP_OK)
        return error_pass(status);
    hall_seal_off(hall);
    hall_init(hall, rank, n_ranks, n_slot);
    *out_hall = STEAL(hall);
    return HOOP_OK;
}
