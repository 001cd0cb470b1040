/* transport/hall.c - memory that all ranks of a communicator on one host share */

#include "transport/hall.h"

#include <string.h>

#include "transport/hall_parts.h"
#include "transport/stamp.h"

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

static unsigned
line_of(uint64_t stamp)
{
    const uint32_t n_later = stamp_stage(stamp) + stamp_round(stamp);

    return n_later == 0 ? stamp_number(stamp) % HALL_FIRST_LINES
                        : HALL_FIRST_LINES + n_later % HALL_LATER_LINES;
}

/* Beside a line, or in cells. */
static uint8_t *
room_at(const struct hall *hall, uint32_t rank, unsigned line, unsigned where)
{
    uint8_t *room = hall->rooms + rank * hall->n_room;

    if (where == HALL_BESIDE)
        return room + (size_t)line * HALL_SMALL;
    return room + HALL_SMALLS + (where - HALL_IN_CELLS) * hall_cell_bytes(hall);
}

static uint64_t
stamp_in(const struct hall_desk *desk, unsigned line)
{
    return atomic_load_explicit(&desk->lines[line].stamp, memory_order_acquire);
}

/* Whether all others have read what has that stamp. */
static bool
is_read(struct hall *hall, uint64_t stamp, uint32_t *out_rank)
{
    for (uint32_t i = 0; i < hall->n_ranks; i++) {
        struct hall_rank *rank = &hall->ranks[i];

        if (stamp_is_before(stamp, rank->reached) || i == hall->rank)
            continue;
        rank->reached = stamp_next(atomic_load_explicit(
            &hall->page->desks[i].finished, memory_order_acquire));
        if (!stamp_is_before(stamp, rank->reached)) {
            *out_rank = i;
            return false;
        }
    }
    return true;
}

static unsigned
cells_for(const struct hall *hall, size_t n_bytes)
{
    return (unsigned)((n_bytes + hall_cell_bytes(hall) - 1) /
                      hall_cell_bytes(hall));
}

/* What does not fit the rest of the ring begins it anew. */
static unsigned
cell_next(const struct hall *hall, size_t n_bytes)
{
    return hall->n_taken + cells_for(hall, n_bytes) > hall->n_cells
               ? 0
               : hall->n_taken;
}

/* The newest of what lies where n_bytes go. */
static uint64_t
stamp_under(const struct hall *hall, size_t n_bytes)
{
    const unsigned first = cell_next(hall, n_bytes);
    uint64_t newest = 0;

    for (unsigned i = 0; i < cells_for(hall, n_bytes); i++) {
        const uint64_t stamp = hall->cell_stamps[first + i];

        if (stamp_is_before(newest, stamp))
            newest = stamp;
    }
    return newest;
}

bool
hall_is_free(struct hall *hall,
             uint64_t stamp,
             size_t n_bytes,
             uint32_t *out_rank)
{
    if (n_bytes > HALL_SMALL)
        hall_fit(hall, cells_for(hall, n_bytes));
    return is_read(hall, hall->stamps[line_of(stamp)], out_rank) &&
           (n_bytes <= HALL_SMALL ||
            is_read(hall, stamp_under(hall, n_bytes), out_rank));
}

static unsigned
where_for(const struct hall *hall, size_t n_bytes)
{
    if (n_bytes <= HALL_INLINE)
        return HALL_IN_LINE;
    return n_bytes <= HALL_SMALL ? HALL_BESIDE
                                 : HALL_IN_CELLS + cell_next(hall, n_bytes);
}

uint8_t *
hall_place(struct hall *hall, uint64_t stamp, size_t n_bytes)
{
    const unsigned line = line_of(stamp);
    const unsigned where = where_for(hall, n_bytes);

    if (where == HALL_IN_LINE)
        return hall->page->desks[hall->rank].lines[line].payload;
    if (hall_fill(hall, where) != HOOP_OK)
        return NULL;
    return room_at(hall, hall->rank, line, where);
}

static void
cells_take(struct hall *hall, uint64_t stamp, size_t n_bytes)
{
    const unsigned first = cell_next(hall, n_bytes);

    hall->n_laps += first < hall->n_taken;
    for (unsigned i = 0; i < cells_for(hall, n_bytes); i++)
        hall->cell_stamps[first + i] = stamp;
    hall->n_taken = first + cells_for(hall, n_bytes);
}

void
hall_publish(struct hall *hall,
             const struct hall_header *header,
             size_t n_bytes)
{
    const unsigned number = line_of(header->stamp);
    const unsigned where = where_for(hall, n_bytes);
    struct hall_line *line = &hall->page->desks[hall->rank].lines[number];

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
    line->flags = header->flags;
    line->where = (uint8_t)where;
    atomic_store_explicit(&line->stamp, header->stamp, memory_order_release);
    hall->last = *header;
    hall->stamps[number] = header->stamp;
    if (where >= HALL_IN_CELLS)
        cells_take(hall, header->stamp, n_bytes);
}

void
hall_finish(struct hall *hall, uint64_t stamp)
{
    struct hall_desk *desk = &hall->page->desks[hall->rank];
    const uint64_t next = stamp_of(stamp_number(stamp) + 1, 0, 0);

    atomic_store_explicit(&desk->finished, stamp, memory_order_release);
    /* The next operation begins there: others had read it long ago. */
    prefetch_to_write(&desk->lines[line_of(next)]);
}

void
hall_forgo(struct hall *hall, uint64_t number)
{
    struct hall_desk *desk = &hall->page->desks[hall->rank];
    const uint64_t end = stamp_end(number - 1);
    const uint64_t finished =
        atomic_load_explicit(&desk->finished, memory_order_relaxed);

    if (stamp_is_before(finished, end))
        atomic_store_explicit(&desk->finished, end, memory_order_release);
}

void
hall_withdraw(struct hall *hall, uint64_t number)
{
    for (unsigned i = 0; i < HALL_ALL_LINES; i++) {
        if (stamp_number(hall->stamps[i]) >= number)
            atomic_store_explicit(&hall->page->desks[hall->rank].lines[i].stamp,
                                  0, memory_order_release);
    }
}

bool
hall_look(struct hall *hall, uint32_t rank, uint64_t stamp)
{
    const struct hall_desk *desk = &hall->page->desks[rank];
    struct hall_rank *known = &hall->ranks[rank];
    const unsigned number = line_of(stamp);
    const struct hall_line *line = &desk->lines[number];

    if (stamp_in(desk, number) != stamp)
        return false;
    if (known->header.stamp != stamp)
        known->seen = known->header.stamp;
    known->header.stamp = stamp;
    known->header.signature = line->signature;
    known->header.failed = line->failed;
    known->header.flags = line->flags;
    known->where = line->where;
    known->line = number;
    if (stamp_is_before(known->reached, stamp))
        known->reached = stamp;
    return true;
}

bool
hall_has(const struct hall *hall, uint32_t rank, uint64_t stamp)
{
    return stamp_in(&hall->page->desks[rank], line_of(stamp)) == stamp;
}

static const struct hall_line *
line_found(const struct hall *hall, uint32_t rank)
{
    return &hall->page->desks[rank].lines[hall->ranks[rank].line];
}

bool
hall_has_more(const struct hall *hall, uint32_t rank)
{
    return line_found(hall, rank)->stamp_before != hall->ranks[rank].seen;
}

/* It stands in the line that was found: others may be written over. */
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

/* How much there may be, by what the writer says. */
static size_t
capacity_of(const struct hall *hall, unsigned where)
{
    if (where >= HALL_IN_CELLS + HALL_CELLS)
        return 0;
    if (where == HALL_IN_LINE)
        return HALL_INLINE;
    return where == HALL_BESIDE
               ? HALL_SMALL
               : (HALL_IN_CELLS + HALL_CELLS - where) * hall_cell_bytes(hall);
}

/* Of what does not lie in a line: n_bytes from where it is posted. */
static const uint8_t *
bytes_reach(struct hall *hall, uint32_t rank, size_t n_bytes)
{
    const struct hall_rank *known = &hall->ranks[rank];
    const uint8_t *at = room_at(hall, rank, known->line, known->where);
    const uint8_t *cells = room_at(hall, rank, 0, HALL_IN_CELLS);

    if (known->where == HALL_BESIDE && !known->has_smalls)
        hall_reach_smalls(hall, rank);
    else if (known->where >= HALL_IN_CELLS &&
             (size_t)(at - cells) + n_bytes > known->n_celled)
        hall_reach_cells(hall, rank, (size_t)(at - cells) + n_bytes);
    return at;
}

const uint8_t *
hall_bytes(struct hall *hall, uint32_t rank, size_t offset, size_t n_bytes)
{
    const struct hall_rank *known = &hall->ranks[rank];
    const size_t n_there = capacity_of(hall, known->where);

    if (offset > n_there || n_bytes > n_there - offset)
        return NULL;
    return offset + (known->where == HALL_IN_LINE
                         ? line_found(hall, rank)->payload
                         : bytes_reach(hall, rank, offset + n_bytes));
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
