/* transport/hall.c - memory that all ranks of a communicator on one host share */

#include "transport/hall.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/descriptor.h"
#include "transport/stamp.h"

enum {
    LINES = 128, /* the processor fetches them in pairs */
    SLOTS = 2,
};

static const uint64_t MAGIC = 0x3130304c4c414848; /* "HHALL001" */

/* Its stamp is written last. */
struct hall_line {
    alignas(LINES) _Atomic uint64_t stamp;
    uint8_t rest[sizeof(struct hall_header) - sizeof(uint64_t)];
    uint8_t payload[HALL_INLINE];
    struct hall_header before; /* what this rank had published last */
};

/* One rank's. Nobody else writes it. */
struct hall_desk {
    struct hall_line lines[SLOTS];
    alignas(LINES) _Atomic uint64_t finished;
    alignas(LINES) struct bell_place bell;
    struct hall_board board;
};

/* Only the maker writes the first four. */
struct hall_page {
    uint64_t magic;
    uint64_t n_ranks;
    uint64_t n_slot;
    uint8_t key[MEMORY_KEY];
    alignas(LINES) _Atomic uint64_t sleepers;
    struct hall_desk desks[];
};

/* What this rank knows of another. */
struct hall_rank {
    uint64_t reached; /* it has read all before that stamp, at least */
    unsigned next;    /* the slot that it writes next, probably */
    unsigned slot;    /* that it was last found in */
    uint64_t seen;    /* the stamp of what was looked at before that */
    struct hall_header header;
};

struct hall {
    struct hall_page *page;
    uint8_t *slots;
    size_t n_slot;
    uint32_t rank;
    uint32_t n_ranks;
    unsigned turn; /* the slot to write next */
    struct hall_header last;
    uint64_t stamps[SLOTS];
    bool is_resting;
    int fd;
    uint8_t *base;
    size_t n_mapped;
    struct hall_rank ranks[];
};

/* What the halls of this process use. */
static _Atomic uint64_t n_bytes_used;

size_t
hall_slot_bytes(uint32_t n_ranks)
{
    size_t n_bytes = LIMIT_HALL_SLOT_MAX;

    while (n_bytes > LIMIT_HALL_SLOT_MIN &&
           SLOTS * n_bytes * n_ranks > LIMIT_HALL)
        n_bytes /= 2;
    return n_bytes;
}

size_t
hall_n_slot(const struct hall *hall)
{
    return hall->n_slot;
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
    atomic_fetch_sub(&n_bytes_used, hall->n_mapped);
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
    return desks_end(n_ranks) + (size_t)SLOTS * n_ranks * n_slot;
}

/* Within the budget of all. */
static enum hoop_status
hall_alloc(uint32_t n_ranks, size_t n_bytes, struct hall **out_hall)
{
    struct hall *hall =
        calloc(1, sizeof(*hall) + n_ranks * sizeof(*hall->ranks));

    if (!hall)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a hall");
    hall->fd = -1;
    hall->n_mapped = n_bytes;
    *out_hall = hall;
    if (atomic_fetch_add(&n_bytes_used, n_bytes) + n_bytes > LIMIT_HALLS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the communicators of this process share enough "
                           "memory already");
    return HOOP_OK;
}

static enum hoop_status
hall_map(struct hall *hall)
{
    enum hoop_status status = memory_reserve(hall->n_mapped, &hall->base);

    if (status == HOOP_OK)
        status = memory_map(hall->base, hall->n_mapped, hall->fd, 0);
    if (status == HOOP_OK)
        status = memory_keep_from_children(hall->base, hall->n_mapped);
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
    hall->slots = hall->base + desks_end(n_ranks);
}

enum hoop_status
hall_create(uint32_t n_ranks,
            size_t n_slot,
            struct memory_place *out_place,
            struct hall **out_hall)
{
    CLEANUP(hall_destroy) struct hall *hall = NULL;
    const size_t n_bytes = hall_size(n_ranks, n_slot);
    struct memory_place place;

    enum hoop_status status = hall_alloc(n_ranks, n_bytes, &hall);
    if (status == HOOP_OK)
        status = memory_create(n_bytes, &place, &hall->fd);
    if (status == HOOP_OK)
        status = hall_map(hall);
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

static enum hoop_status
size_check(size_t n_bytes, uint32_t n_ranks)
{
    const size_t n_desks = desks_end(n_ranks);

    if (n_bytes > n_desks && n_bytes <= n_desks + LIMIT_HALL &&
        (n_bytes - n_desks) % ((size_t)SLOTS * n_ranks * MEMORY_PAGE) == 0)
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
    status = size_check(n_bytes, n_ranks);
    if (status == HOOP_OK)
        status = hall_alloc(n_ranks, n_bytes, &hall);
    if (hall)
        hall->fd = fd;
    else
        descriptor_close(fd);
    if (status == HOOP_OK)
        status = hall_map(hall);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t n_slot = (n_bytes - desks_end(n_ranks)) / SLOTS / n_ranks;
    status = page_check(hall, place, n_ranks, n_slot);
    if (status != HOOP_OK)
        return error_pass(status);
    hall_seal_off(hall);
    hall_init(hall, rank, n_ranks, n_slot);
    *out_hall = STEAL(hall);
    return HOOP_OK;
}

static uint8_t *
slot_at(const struct hall *hall, uint32_t rank, unsigned slot)
{
    return hall->slots + (SLOTS * (size_t)rank + slot) * hall->n_slot;
}

/* Who publishes a round has read all before it, also of this rank's. */
static uint64_t
reached_by(const struct hall_desk *desk)
{
    uint64_t reached =
        stamp_next(atomic_load_explicit(&desk->finished, memory_order_acquire));

    for (unsigned i = 0; i < SLOTS; i++) {
        const uint64_t stamp =
            atomic_load_explicit(&desk->lines[i].stamp, memory_order_acquire);

        if (stamp_is_before(reached, stamp))
            reached = stamp;
    }
    return reached;
}

bool
hall_is_free(struct hall *hall, uint32_t *out_rank)
{
    const uint64_t stamp = hall->stamps[hall->turn];

    for (uint32_t i = 0; i < hall->n_ranks; i++) {
        struct hall_rank *rank = &hall->ranks[i];

        if (stamp_is_before(stamp, rank->reached) || i == hall->rank)
            continue;
        rank->reached = reached_by(&hall->page->desks[i]);
        if (!stamp_is_before(stamp, rank->reached)) {
            *out_rank = i;
            return false;
        }
    }
    return true;
}

uint8_t *
hall_place(struct hall *hall, size_t n_bytes)
{
    if (n_bytes <= HALL_INLINE)
        return hall->page->desks[hall->rank].lines[hall->turn].payload;
    return slot_at(hall, hall->rank, hall->turn);
}

void
hall_publish(struct hall *hall,
             const struct hall_header *header,
             size_t n_bytes)
{
    struct hall_line *line = &hall->page->desks[hall->rank].lines[hall->turn];
    struct hall_header copy = *header;

    if (n_bytes <= HALL_INLINE)
        copy.flags |= HALL_IS_INLINE;
    memcpy(line->rest, &copy.signature, sizeof(line->rest));
    line->before = hall->last;
    hall->last = copy;
    atomic_store_explicit(&line->stamp, copy.stamp, memory_order_release);
    hall->stamps[hall->turn] = copy.stamp;
    hall->turn = 1 - hall->turn;
}

void
hall_finish(struct hall *hall, uint64_t stamp)
{
    atomic_store_explicit(&hall->page->desks[hall->rank].finished, stamp,
                          memory_order_release);
}

void
hall_withdraw(struct hall *hall, uint64_t number)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (stamp_number(hall->stamps[i]) >= number)
            atomic_store_explicit(&hall->page->desks[hall->rank].lines[i].stamp,
                                  0, memory_order_release);
    }
}

enum hall_sight
hall_look(struct hall *hall, uint32_t rank, uint64_t stamp)
{
    const struct hall_desk *desk = &hall->page->desks[rank];
    struct hall_rank *known = &hall->ranks[rank];
    bool is_passed = true;

    for (unsigned i = 0; i < SLOTS; i++) {
        const unsigned slot = known->next ^ i;
        const struct hall_line *line = &desk->lines[slot];
        const uint64_t found =
            atomic_load_explicit(&line->stamp, memory_order_acquire);

        is_passed &= stamp_is_before(stamp, found);
        if (found != stamp)
            continue;
        if (known->header.stamp != stamp)
            known->seen = known->header.stamp;
        known->header.stamp = stamp;
        memcpy(&known->header.signature, line->rest, sizeof(line->rest));
        known->slot = slot;
        known->next = 1 - slot;
        if (stamp_is_before(known->reached, stamp))
            known->reached = stamp;
        return HALL_POSTED;
    }
    return is_passed ? HALL_PASSED : HALL_NOTHING;
}

bool
hall_has(const struct hall *hall, uint32_t rank, uint64_t stamp)
{
    const struct hall_desk *desk = &hall->page->desks[rank];

    for (unsigned i = 0; i < SLOTS; i++) {
        if (atomic_load_explicit(&desk->lines[i].stamp, memory_order_acquire) ==
            stamp)
            return true;
    }
    return false;
}

/* It stands in the line that was found: the other one may be written over. */
bool
hall_look_back(struct hall *hall, uint32_t rank, struct hall_header *out_header)
{
    struct hall_rank *known = &hall->ranks[rank];

    *out_header = hall->page->desks[rank].lines[known->slot].before;
    if (out_header->stamp == 0 || out_header->stamp == known->seen ||
        stamp_is_before(known->header.stamp, out_header->stamp))
        return false;
    known->seen = out_header->stamp;
    return true;
}

const struct hall_header *
hall_header_of(const struct hall *hall, uint32_t rank)
{
    return &hall->ranks[rank].header;
}

const uint8_t *
hall_bytes(const struct hall *hall,
           uint32_t rank,
           size_t offset,
           size_t n_bytes)
{
    const struct hall_rank *known = &hall->ranks[rank];
    const bool is_inline = known->header.flags & HALL_IS_INLINE;
    const size_t n_there = is_inline ? HALL_INLINE : hall->n_slot;

    if (offset > n_there || n_bytes > n_there - offset)
        return NULL;
    return offset + (is_inline
                         ? hall->page->desks[rank].lines[known->slot].payload
                         : slot_at(hall, rank, known->slot));
}

void
hall_rest(struct hall *hall)
{
    hall->is_resting = true;
    atomic_fetch_or(&hall->page->sleepers, (uint64_t)1 << hall->rank);
    /* The looks that follow acquire only: they must not come before it. */
    atomic_thread_fence(memory_order_seq_cst);
}

void
hall_rouse(struct hall *hall)
{
    if (!hall->is_resting)
        return;
    hall->is_resting = false;
    atomic_fetch_and(&hall->page->sleepers, ~((uint64_t)1 << hall->rank));
}

uint64_t
hall_sleepers(struct hall *hall)
{
    const uint64_t own = (uint64_t)1 << hall->rank;
    const uint64_t all = UINT64_MAX >> (HALL_RANKS - hall->n_ranks);

    atomic_thread_fence(memory_order_seq_cst);
    if (!(atomic_load(&hall->page->sleepers) & all & ~own))
        return 0;
    return atomic_fetch_and(&hall->page->sleepers, own) & all & ~own;
}

struct hall_board *
hall_board(const struct hall *hall, uint32_t rank)
{
    return &hall->page->desks[rank].board;
}

void
hall_set_bell(struct hall *hall, const struct bell_place *place)
{
    hall->page->desks[hall->rank].bell = *place;
}

struct bell_place
hall_bell(const struct hall *hall, uint32_t rank)
{
    return hall->page->desks[rank].bell;
}
