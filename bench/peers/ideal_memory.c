/*
 * bench/peers/ideal_memory.c - an allreduce in shared memory, without a library
 *
 * Usage: ideal_memory N flat|staged SCHEDULE [BLOCK]. It forks N ranks, each
 * with one thread and private buffers. They share slots that all of them see.
 * Every sum is taken in the order of ranks. There is no matching, no handling
 * of failures and no sleep.
 *
 * "flat" is for vectors that fit a slot: every rank publishes its whole vector
 * and then sums all of them. Two slots take turns: a rank that has published
 * turn t + 1 has read turn t, so no reader is left when turn t + 2 overwrites
 * it.
 *
 * "staged" works block by block. Every rank publishes all but its own part of
 * the block, combines its part for all ranks, publishes that, and fetches the
 * parts of the others one block later, so that no rank waits for one that is
 * only a little behind. Three slots take turns for the reason given above.
 */

#include <stdatomic.h>

#include "forked_ranks.h"

enum {
    SLOTS = 3,
    TILE = 1024,   /* elements combined at a time; they fit in L1 */
    LINE = 64,     /* bytes of a cache line */
    LINE_HOLD = 48 /* payload bytes that a flat slot's first line holds */
};

/* What one rank has published in one turn. */
struct slot {
    _Alignas(LINE) _Atomic unsigned n_posts; /* turns published */
    float first[LINE_HOLD / sizeof(float)];
    _Alignas(LINE) _Atomic unsigned n_results; /* turns combined */
};

static int size;
static int rank;
static size_t block = 512 << 10;
static unsigned n_turns;
static struct slot *slots; /* [rank][turn % SLOTS] */
static char *rooms;        /* one block per slot, in the same order */

static struct slot *
slot_of(int r, unsigned turn)
{
    return &slots[(size_t)r * SLOTS + turn % SLOTS];
}

static float *
room_of(int r, unsigned turn)
{
    const size_t index = (size_t)r * SLOTS + turn % SLOTS;

    return (float *)(void *)(rooms + index * (block + LINE));
}

static void
await(const _Atomic unsigned *n_done, unsigned turn)
{
    for (int spins = 0;
         atomic_load_explicit(n_done, memory_order_acquire) != turn; spins++) {
        if (spins > 200)
            sched_yield();
    }
}

static void
await_posts(unsigned turn)
{
    for (int r = 0; r < size; r++)
        await(&slot_of(r, turn)->n_posts, turn);
}

static void
copy(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof(float));
}

/* Stores the sums over all ranks, added in the order of ranks. */
static void
tile_sum(float *restrict tile, const float *const *parts, size_t count)
{
    const float *restrict first = parts[0];
    const float *restrict second = parts[1];

    for (size_t i = 0; i < count; i++)
        tile[i] = first[i] + second[i];
    for (int r = 2; r < size; r++) {
        const float *restrict part = parts[r];

        for (size_t i = 0; i < count; i++)
            tile[i] += part[i];
    }
}

/* Stores the sums in one or two places, one of which may be among the parts. */
static void
combine(const float *const *parts, size_t count, float *to, float *also)
{
    const float *here[FORKED_RANKS_MAX];
    float tile[TILE];

    for (size_t at = 0; at < count; at += TILE) {
        const size_t n = count - at < TILE ? count - at : TILE;

        for (int r = 0; r < size; r++)
            here[r] = parts[r] + at;
        tile_sum(tile, here, n);
        copy(to + at, tile, n);
        if (also)
            copy(also + at, tile, n);
    }
}

/* For a vector that fits the cache line of its counter: only that line
 * moves. */
static void
flat_short(float *buffer, size_t count)
{
    const unsigned turn = ++n_turns;
    struct slot *mine = slot_of(rank, turn);

    for (size_t i = 0; i < count; i++)
        mine->first[i] = buffer[i];
    atomic_store_explicit(&mine->n_posts, turn, memory_order_release);
    await_posts(turn);
    for (size_t i = 0; i < count; i++) {
        float sum = slot_of(0, turn)->first[i];

        for (int r = 1; r < size; r++)
            sum += slot_of(r, turn)->first[i];
        buffer[i] = sum;
    }
}

static void
flat(float *buffer, size_t count)
{
    const unsigned turn = ++n_turns;
    const float *parts[FORKED_RANKS_MAX];

    copy(room_of(rank, turn), buffer, count);
    atomic_store_explicit(&slot_of(rank, turn)->n_posts, turn,
                          memory_order_release);
    await_posts(turn);
    for (int r = 0; r < size; r++)
        parts[r] = room_of(r, turn);
    parts[rank] = buffer;
    combine(parts, count, buffer, NULL);
}

/* One block of a vector. */
struct piece {
    float *elements;
    size_t count;
    unsigned turn;
};

static size_t
part_start(const struct piece *piece, int r)
{
    return piece->count * (size_t)r / (size_t)size;
}

static void
piece_post(const struct piece *piece)
{
    const size_t start = part_start(piece, rank);
    const size_t end = part_start(piece, rank + 1);
    float *room = room_of(rank, piece->turn);

    copy(room, piece->elements, start);
    copy(room + end, piece->elements + end, piece->count - end);
    atomic_store_explicit(&slot_of(rank, piece->turn)->n_posts, piece->turn,
                          memory_order_release);
}

static void
piece_combine(const struct piece *piece)
{
    const size_t start = part_start(piece, rank);
    const float *parts[FORKED_RANKS_MAX];

    await_posts(piece->turn);
    for (int r = 0; r < size; r++)
        parts[r] = room_of(r, piece->turn) + start;
    parts[rank] = piece->elements + start;
    combine(parts, part_start(piece, rank + 1) - start, piece->elements + start,
            room_of(rank, piece->turn) + start);
    atomic_store_explicit(&slot_of(rank, piece->turn)->n_results, piece->turn,
                          memory_order_release);
}

static void
piece_fetch(const struct piece *piece)
{
    for (int step = 1; step < size; step++) {
        const int r = (rank + step) % size;
        const size_t start = part_start(piece, r);

        await(&slot_of(r, piece->turn)->n_results, piece->turn);
        copy(piece->elements + start, room_of(r, piece->turn) + start,
             part_start(piece, r + 1) - start);
    }
}

static void
staged(float *buffer, size_t count)
{
    const size_t n_block = block / sizeof(float);
    struct piece before = {.count = 0};

    for (size_t at = 0; at < count; at += n_block) {
        const struct piece piece = {
            .elements = buffer + at,
            .count = count - at < n_block ? count - at : n_block,
            .turn = ++n_turns,
        };
        piece_post(&piece);
        piece_combine(&piece);
        if (before.count > 0)
            piece_fetch(&before);
        before = piece;
    }
    piece_fetch(&before);
}

static void
flat_run(struct driver *driver, const char *op, size_t count)
{
    (void)op;
    if (count * sizeof(float) <= LINE_HOLD)
        flat_short(driver->buffer, count);
    else
        flat(driver->buffer, count);
}

static void
staged_run(struct driver *driver, const char *op, size_t count)
{
    (void)op;
    staged(driver->buffer, count);
}

int
main(int argc, char **argv)
{
    struct forked_ranks forked_ranks = {.peer = "memory", .run = staged_run};
    struct schedule schedule;

    if (argc < 4)
        return fprintf(stderr, "usage: ideal_memory N flat|staged SCHEDULE "
                               "[BLOCK]\n"),
               64;
    size = forked_ranks_size_read(argv[1]);
    snprintf(forked_ranks.transport, sizeof(forked_ranks.transport), "%s",
             argv[2]);
    forked_ranks.schedule = argv[3];
    schedule_read(forked_ranks.schedule, &schedule);
    if (argc > 4) {
        const char *text = argv[4];
        block = schedule_row_read(&text).n_bytes;
    }
    if (strcmp(argv[2], "flat") == 0) {
        forked_ranks.run = flat_run;
        block = schedule.n_bytes_max;
    }
    slots = plain_map(sizeof(*slots) * SLOTS * (size_t)size, MAP_SHARED);
    rooms = plain_map((block + LINE) * SLOTS * (size_t)size, MAP_SHARED);
    rank = forked_ranks_fork(&forked_ranks, size);
    return forked_ranks_run(&forked_ranks);
}
