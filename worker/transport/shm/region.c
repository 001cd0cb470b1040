/* transport/shm/region.c - memory shared by the ranks of a communicator */

#include "transport/shm/region.h"

#include <string.h>

#include "transport/sequence.h"

static unsigned
sequence_to_line_index(uint64_t sequence)
{
    const uint32_t n_later =
        sequence_stage(sequence) + sequence_round(sequence);

    return n_later == 0
               ? sequence_number(sequence) % SHM_REGION_FIRST_ROUND_LINES
               : SHM_REGION_FIRST_ROUND_LINES +
                     n_later % SHM_REGION_LATER_ROUND_LINES;
}

/* Returns a place beside a line or in the cells. */
static uint8_t *
payload_area(const struct shm_region *shm_region,
             uint32_t rank,
             unsigned line,
             unsigned where)
{
    uint8_t *area = shm_region->areas + rank * shm_region->n_area;

    if (where == SHM_PAYLOAD_IN_SMALL_AREA)
        return area + (size_t)line * SHM_REGION_SMALL_BYTES;
    return area + SHM_REGION_RANK_SMALL_BYTES +
           (where - SHM_PAYLOAD_IN_CELLS) * shm_region_cell_bytes(shm_region);
}

static uint64_t
load_line_sequence(const struct shm_region_rank_control *rank_control,
                   unsigned line)
{
    return atomic_load_explicit(&rank_control->lines[line].sequence,
                                memory_order_acquire);
}

/* Returns whether all others have read the round sequence. If not, out_rank is
 * one that has not. */
static bool
is_read_by_all(struct shm_region *shm_region,
               uint64_t sequence,
               uint32_t *out_rank)
{
    for (uint32_t i = 0; i < shm_region->n_ranks; i++) {
        struct shm_region_peer *rank = &shm_region->ranks[i];

        if (sequence_is_before(sequence, rank->reached) ||
            i == shm_region->rank)
            continue;
        rank->reached = sequence_next(atomic_load_explicit(
            &shm_region->control->rank_controls[i].finished,
            memory_order_acquire));
        if (!sequence_is_before(sequence, rank->reached)) {
            *out_rank = i;
            return false;
        }
    }
    return true;
}

static unsigned
cells_needed(const struct shm_region *shm_region, size_t n_bytes)
{
    return (unsigned)((n_bytes + shm_region_cell_bytes(shm_region) - 1) /
                      shm_region_cell_bytes(shm_region));
}

/* A post that does not fit the rest of the ring begins it anew. */
static unsigned
choose_first_cell(const struct shm_region *shm_region, size_t n_bytes)
{
    return shm_region->n_taken + cells_needed(shm_region, n_bytes) >
                   shm_region->n_cells
               ? 0
               : shm_region->n_taken;
}

/* Returns the newest round that occupies the cells to which n_bytes go. */
static uint64_t
cells_newest_sequence(const struct shm_region *shm_region, size_t n_bytes)
{
    const unsigned first = choose_first_cell(shm_region, n_bytes);
    uint64_t newest = 0;

    for (unsigned i = 0; i < cells_needed(shm_region, n_bytes); i++) {
        const uint64_t sequence = shm_region->last_sequence_of_cell[first + i];

        if (sequence_is_before(newest, sequence))
            newest = sequence;
    }
    return newest;
}

bool
shm_region_can_publish(struct shm_region *shm_region,
                       uint64_t sequence,
                       size_t n_bytes,
                       uint32_t *out_rank)
{
    if (n_bytes > SHM_REGION_SMALL_BYTES)
        shm_region_grow_ring(shm_region, cells_needed(shm_region, n_bytes));
    uint64_t newest = shm_region->sequences[sequence_to_line_index(sequence)];

    if (n_bytes > SHM_REGION_SMALL_BYTES) {
        const uint64_t in_cells = cells_newest_sequence(shm_region, n_bytes);

        if (sequence_is_before(newest, in_cells))
            newest = in_cells;
    }
    return is_read_by_all(shm_region, newest, out_rank);
}

static unsigned
choose_payload_location(const struct shm_region *shm_region, size_t n_bytes)
{
    if (n_bytes <= SHM_REGION_INLINE_BYTES)
        return SHM_PAYLOAD_IN_LINE;
    return n_bytes <= SHM_REGION_SMALL_BYTES
               ? SHM_PAYLOAD_IN_SMALL_AREA
               : SHM_PAYLOAD_IN_CELLS + choose_first_cell(shm_region, n_bytes);
}

uint8_t *
shm_region_reserve(struct shm_region *shm_region,
                   uint64_t sequence,
                   size_t n_bytes)
{
    const unsigned line = sequence_to_line_index(sequence);
    const unsigned where = choose_payload_location(shm_region, n_bytes);

    if (where == SHM_PAYLOAD_IN_LINE)
        return shm_region->control->rank_controls[shm_region->rank]
            .lines[line]
            .payload;
    if (shm_region_populate(shm_region, where) != HOOP_OK)
        return NULL;
    return payload_area(shm_region, shm_region->rank, line, where);
}

static void
cells_claim(struct shm_region *shm_region, uint64_t sequence, size_t n_bytes)
{
    const unsigned first = choose_first_cell(shm_region, n_bytes);

    shm_region->n_ring_laps += first < shm_region->n_taken;
    for (unsigned i = 0; i < cells_needed(shm_region, n_bytes); i++)
        shm_region->last_sequence_of_cell[first + i] = sequence;
    shm_region->n_taken = first + cells_needed(shm_region, n_bytes);
}

void
shm_region_publish(struct shm_region *shm_region,
                   const struct shm_region_header *header,
                   size_t n_bytes)
{
    const unsigned number = sequence_to_line_index(header->sequence);
    const unsigned where = choose_payload_location(shm_region, n_bytes);
    struct shm_region_line *line =
        &shm_region->control->rank_controls[shm_region->rank].lines[number];

    line->call = (struct shm_region_call){
        .count = header->count,
        .root = header->root,
        .name = header->name,
        .dtype = header->dtype,
        .reduce_op = header->reduce_op,
    };
    line->before = shm_region->last;
    line->signature = header->signature;
    line->failed = header->failed;
    line->previous_sequence = shm_region->last.sequence;
    line->flags = header->flags;
    line->where = (uint8_t)where;
    atomic_store_explicit(&line->sequence, header->sequence,
                          memory_order_release);
    shm_region->last = *header;
    shm_region->sequences[number] = header->sequence;
    if (where >= SHM_PAYLOAD_IN_CELLS)
        cells_claim(shm_region, header->sequence, n_bytes);
}

/* The prefetch to write is a hint. Baseline x86-64 does not name the
 * instruction, but all processors accept it. */
#ifdef __x86_64__
__attribute__((target("prfchw")))
#endif
void
shm_region_mark_finished(struct shm_region *shm_region, uint64_t sequence)
{
    struct shm_region_rank_control *rank_control =
        &shm_region->control->rank_controls[shm_region->rank];
    const uint64_t next = sequence_make(sequence_number(sequence) + 1, 0, 0);

    atomic_store_explicit(&rank_control->finished, sequence,
                          memory_order_release);
    /* The next operation begins in that line, which all others have read long
     * ago. */
    __builtin_prefetch(&rank_control->lines[sequence_to_line_index(next)], 1);
}

void
shm_region_skip_to_op(struct shm_region *shm_region, uint64_t number)
{
    struct shm_region_rank_control *rank_control =
        &shm_region->control->rank_controls[shm_region->rank];
    const uint64_t end = sequence_end(number - 1);
    const uint64_t finished =
        atomic_load_explicit(&rank_control->finished, memory_order_relaxed);

    if (sequence_is_before(finished, end))
        atomic_store_explicit(&rank_control->finished, end,
                              memory_order_release);
}

void
shm_region_retract_posts(struct shm_region *shm_region, uint64_t number)
{
    for (unsigned i = 0; i < SHM_REGION_N_LINES; i++) {
        if (sequence_number(shm_region->sequences[i]) >= number)
            atomic_store_explicit(
                &shm_region->control->rank_controls[shm_region->rank]
                     .lines[i]
                     .sequence,
                0, memory_order_release);
    }
}

bool
shm_region_poll(struct shm_region *shm_region, uint32_t rank, uint64_t sequence)
{
    const struct shm_region_rank_control *rank_control =
        &shm_region->control->rank_controls[rank];
    struct shm_region_peer *known = &shm_region->ranks[rank];
    const unsigned number = sequence_to_line_index(sequence);
    const struct shm_region_line *line = &rank_control->lines[number];

    if (load_line_sequence(rank_control, number) != sequence)
        return false;
    if (known->header.sequence != sequence)
        known->seen = known->header.sequence;
    known->header.sequence = sequence;
    known->header.signature = line->signature;
    known->header.failed = line->failed;
    known->header.flags = line->flags;
    known->where = line->where;
    known->line = number;
    if (sequence_is_before(known->reached, sequence))
        known->reached = sequence;
    return true;
}

bool
shm_region_has_posted(const struct shm_region *shm_region,
                      uint32_t rank,
                      uint64_t sequence)
{
    return load_line_sequence(&shm_region->control->rank_controls[rank],
                              sequence_to_line_index(sequence)) == sequence;
}

/* What was published before is in the line that was found, because its own
 * line may have been written over. */
bool
shm_region_take_unseen_post(struct shm_region *shm_region,
                            uint32_t rank,
                            struct shm_region_header *out_header)
{
    struct shm_region_peer *known = &shm_region->ranks[rank];

    if (!shm_region_has_unseen_post(shm_region, rank))
        return false;
    *out_header = shm_region_peer_line(shm_region, rank)->before;
    if (out_header->sequence == 0 || out_header->sequence == known->seen ||
        sequence_is_before(known->header.sequence, out_header->sequence))
        return false;
    known->seen = out_header->sequence;
    return true;
}

const struct shm_region_header *
shm_region_header_with_call(struct shm_region *shm_region, uint32_t rank)
{
    struct shm_region_peer *known = &shm_region->ranks[rank];
    const struct shm_region_call call =
        shm_region_peer_line(shm_region, rank)->call;

    known->header.count = call.count;
    known->header.root = call.root;
    known->header.name = call.name;
    known->header.dtype = call.dtype;
    known->header.reduce_op = call.reduce_op;
    return &known->header;
}

/* Returns how much there can be at where, which the writer says. */
static size_t
payload_location_capacity(const struct shm_region *shm_region, unsigned where)
{
    if (where >= SHM_PAYLOAD_IN_CELLS + SHM_REGION_N_CELLS)
        return 0;
    if (where == SHM_PAYLOAD_IN_LINE)
        return SHM_REGION_INLINE_BYTES;
    return where == SHM_PAYLOAD_IN_SMALL_AREA
               ? SHM_REGION_SMALL_BYTES
               : (SHM_PAYLOAD_IN_CELLS + SHM_REGION_N_CELLS - where) *
                     shm_region_cell_bytes(shm_region);
}

/* Returns where the payload is that is not in a line, with n_bytes of it
 * mapped. */
static const uint8_t *
payload_map(struct shm_region *shm_region, uint32_t rank, size_t n_bytes)
{
    const struct shm_region_peer *known = &shm_region->ranks[rank];
    const uint8_t *at =
        payload_area(shm_region, rank, known->line, known->where);
    const uint8_t *cells =
        payload_area(shm_region, rank, 0, SHM_PAYLOAD_IN_CELLS);

    if (known->where == SHM_PAYLOAD_IN_SMALL_AREA &&
        !known->has_small_payload_area)
        shm_region_prefault_smalls(shm_region, rank);
    else if (known->where >= SHM_PAYLOAD_IN_CELLS &&
             (size_t)(at - cells) + n_bytes > known->n_mapped_cell_bytes)
        shm_region_prefault_cells(shm_region, rank,
                                  (size_t)(at - cells) + n_bytes);
    return at;
}

const uint8_t *
shm_region_payload(struct shm_region *shm_region,
                   uint32_t rank,
                   size_t offset,
                   size_t n_bytes)
{
    const struct shm_region_peer *known = &shm_region->ranks[rank];
    const size_t n_there = payload_location_capacity(shm_region, known->where);

    if (offset > n_there || n_bytes > n_there - offset)
        return NULL;
    return offset + (known->where == SHM_PAYLOAD_IN_LINE
                         ? shm_region_peer_line(shm_region, rank)->payload
                         : payload_map(shm_region, rank, offset + n_bytes));
}

void
shm_region_set_sleeping(struct shm_region *shm_region)
{
    shm_region->is_sleep_wakeup_armed = true;
    atomic_fetch_or(&shm_region->control->sleepers,
                    (uint64_t)1 << shm_region->rank);
    /* The polls that follow have only acquire order; the fence keeps them
     * behind the bit. */
    atomic_thread_fence(memory_order_seq_cst);
}

void
shm_region_clear_sleeping(struct shm_region *shm_region)
{
    if (!shm_region->is_sleep_wakeup_armed)
        return;
    shm_region->is_sleep_wakeup_armed = false;
    atomic_fetch_and(&shm_region->control->sleepers,
                     ~((uint64_t)1 << shm_region->rank));
}

uint64_t
shm_region_take_sleepers(struct shm_region *shm_region)
{
    const uint64_t own = (uint64_t)1 << shm_region->rank;
    const uint64_t all =
        UINT64_MAX >> (LIMIT_SHM_REGION_RANKS - shm_region->n_ranks);

    atomic_thread_fence(memory_order_seq_cst);
    if (!(atomic_load(&shm_region->control->sleepers) & all & ~own))
        return 0;
    return atomic_fetch_and(&shm_region->control->sleepers, own) & all & ~own;
}

struct shm_region_departure *
shm_region_departure(const struct shm_region *shm_region, uint32_t rank)
{
    return &shm_region->control->rank_controls[rank].departure;
}
