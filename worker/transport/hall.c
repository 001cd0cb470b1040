/* transport/hall.c - memory that all ranks of a communicator on one host share */

#include "transport/hall.h"

#include <string.h>

#include "transport/hall_parts.h"
#include "transport/stamp.h"

enum {
    SLOTS = HALL_SLOTS,
};

/* No stamp that anybody looks for. */
static const uint64_t NONE = 0;

size_t
hall_n_slot(const struct hall *hall)
{
    return hall->n_slot;
}

/* A hint. Baseline x86-64 does not name the instruction, all of them take it. */
#ifdef __x86_64__
__attribute__((target("prfchw")))
#endif
static void
prefetch_to_write(const void *line)
{
    __builtin_prefetch(line, 1);
}

static uint8_t *
slot_at(const struct hall *hall, uint32_t rank, unsigned slot)
{
    return hall->slots + (SLOTS * (size_t)rank + slot) * hall->n_slot;
}

static uint64_t
stamp_in(const struct hall_desk *desk, unsigned slot)
{
    return atomic_load_explicit(&desk->lines[slot].stamp, memory_order_acquire);
}

/* Who publishes a round has read all before it, also of this rank's. */
static uint64_t
reached_by(const struct hall_desk *desk)
{
    uint64_t reached =
        stamp_next(atomic_load_explicit(&desk->finished, memory_order_acquire));

    for (unsigned i = 0; i < SLOTS; i++) {
        const uint64_t stamp = stamp_in(desk, i);

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
    const uint8_t flags = n_bytes <= HALL_INLINE ? HALL_IS_INLINE : 0;

    line->call = (struct hall_call){
        .count = header->count,
        .root = header->root,
        .name = header->name,
        .dtype = header->dtype,
        .reduce_op = header->reduce_op,
    };
    line->before = hall->last;
    line->signature = header->signature;
    line->failed = header->failed;
    line->stamp_before = hall->last.stamp;
    line->flags = header->flags | flags;
    atomic_store_explicit(&line->stamp, header->stamp, memory_order_release);
    hall->last = *header;
    hall->stamps[hall->turn] = header->stamp;
    hall->turn = 1 - hall->turn;
}

void
hall_finish(struct hall *hall, uint64_t stamp)
{
    struct hall_desk *desk = &hall->page->desks[hall->rank];

    atomic_store_explicit(&desk->finished, stamp, memory_order_release);
    /* Others have read it. Who writes it soon should have it by then. */
    prefetch_to_write(&desk->lines[hall->turn]);
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

/* What stamp says is there, in slot. */
static enum hall_sight
rank_note(struct hall_rank *known,
          const struct hall_desk *desk,
          unsigned slot,
          uint64_t stamp)
{
    const struct hall_line *line = &desk->lines[slot];

    if (known->header.stamp != stamp)
        known->seen = known->header.stamp;
    known->header.stamp = stamp;
    known->header.signature = line->signature;
    known->header.failed = line->failed;
    known->header.flags = line->flags;
    known->slot = slot;
    known->next = 1 - slot;
    known->wanted = NONE;
    if (stamp_is_before(known->reached, stamp))
        known->reached = stamp;
    return HALL_POSTED;
}

/* stamp is in neither slot. It will be where the older one is; what was
 * withdrawn is neither older nor younger. */
static void
rank_expect(struct hall_rank *known,
            uint64_t stamp,
            const uint64_t found[SLOTS])
{
    known->next = stamp_is_before(found[1], found[0]);
    known->stale = found[known->next];
    known->wanted = known->stale == 0 ? NONE : stamp;
}

/* As long as nothing is written where it must be, the other slot is not
 * touched: its line is the other rank's to write. */
enum hall_sight
hall_look(struct hall *hall, uint32_t rank, uint64_t stamp)
{
    const struct hall_desk *desk = &hall->page->desks[rank];
    struct hall_rank *known = &hall->ranks[rank];
    const unsigned slot = known->next;
    const uint64_t here = stamp_in(desk, slot);

    if (here == stamp)
        return rank_note(known, desk, slot, stamp);
    if (stamp == known->wanted && here == known->stale)
        return HALL_NOTHING;
    const uint64_t found[] = {stamp_in(desk, 0), stamp_in(desk, 1)};
    if (found[0] == stamp || found[1] == stamp)
        return rank_note(known, desk, found[1] == stamp, stamp);
    rank_expect(known, stamp, found);
    return stamp_is_before(stamp, found[0]) && stamp_is_before(stamp, found[1])
               ? HALL_PASSED
               : HALL_NOTHING;
}

bool
hall_has(const struct hall *hall, uint32_t rank, uint64_t stamp)
{
    const struct hall_desk *desk = &hall->page->desks[rank];

    return stamp_in(desk, 0) == stamp || stamp_in(desk, 1) == stamp;
}

static const struct hall_line *
line_found(const struct hall *hall, uint32_t rank)
{
    return &hall->page->desks[rank].lines[hall->ranks[rank].slot];
}

bool
hall_has_more(const struct hall *hall, uint32_t rank)
{
    return line_found(hall, rank)->stamp_before != hall->ranks[rank].seen;
}

/* It stands in the line that was found: the other one may be written over. */
bool
hall_look_back(struct hall *hall, uint32_t rank, struct hall_header *out_header)
{
    struct hall_rank *known = &hall->ranks[rank];

    if (!hall_has_more(hall, rank))
        return false;
    *out_header = line_found(hall, rank)->before;
    if (out_header->stamp == 0 || out_header->stamp == known->seen ||
        stamp_is_before(known->header.stamp, out_header->stamp))
        return false;
    known->seen = out_header->stamp;
    return true;
}

const struct hall_header *
hall_brief_of(const struct hall *hall, uint32_t rank)
{
    return &hall->ranks[rank].header;
}

const struct hall_header *
hall_header_of(struct hall *hall, uint32_t rank)
{
    struct hall_rank *known = &hall->ranks[rank];
    const struct hall_call call = line_found(hall, rank)->call;

    known->header.count = call.count;
    known->header.root = call.root;
    known->header.name = call.name;
    known->header.dtype = call.dtype;
    known->header.reduce_op = call.reduce_op;
    return &known->header;
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
