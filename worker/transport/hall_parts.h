/* transport/hall_parts.h - what a hall is made of; private to hall*.c */

#ifndef TRANSPORT_HALL_PARTS_H
#define TRANSPORT_HALL_PARTS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/hall.h"

enum {
    HALL_LINE = 64,
    HALL_LINES = 128, /* the processor fetches them in pairs */
    /* Of a rank: for the first round of an operation, and for later ones. */
    HALL_FIRST_LINES = HALL_AHEAD,
    HALL_LATER_LINES = 4,
    HALL_ALL_LINES = HALL_FIRST_LINES + HALL_LATER_LINES,
    HALL_SLOTS = 4,
    HALL_SLOT_CELLS = 16,
    HALL_CELLS = HALL_SLOTS * HALL_SLOT_CELLS, /* a ring */
    HALL_SMALLS = HALL_ALL_LINES * HALL_SMALL, /* bytes */
    /* The ring begins with so many: who is a call ahead need not wait. */
    HALL_CELLS_MIN = 4,
    HALL_LAPS = 4, /* after so many it becomes twice as long */
};

/* Where the bytes of a round are. */
enum hall_where {
    HALL_IN_LINE,
    HALL_BESIDE,
    HALL_IN_CELLS, /* from the first on; behind it the others */
};

/* Of a call, what its signature was made of. */
struct hall_call {
    uint64_t count;
    uint32_t root;
    uint8_t name;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t unused;
};

/* Its stamp is written last. What others read as long as all call the same is
 * one line of the cache, the rest the other one. */
struct hall_line {
    alignas(HALL_LINES) _Atomic uint64_t stamp;
    uint64_t signature;
    uint64_t failed;
    uint64_t stamp_before;
    uint8_t payload[HALL_INLINE];
    uint8_t flags;
    uint8_t where;
    alignas(HALL_LINE) struct hall_call call;
    struct hall_header before; /* what this rank had published last */
};

_Static_assert(sizeof(struct hall_line) == HALL_LINES, "two lines");

/* One rank's. Nobody else writes it. */
struct hall_desk {
    struct hall_line lines[HALL_ALL_LINES];
    alignas(HALL_LINES) _Atomic uint64_t finished;
    alignas(HALL_LINES) struct hall_board board;
};

/* Only the maker writes the first four. */
struct hall_page {
    uint64_t magic;
    uint64_t n_ranks;
    uint64_t n_slot;
    uint8_t key[MEMORY_KEY];
    alignas(HALL_LINES) _Atomic uint64_t sleepers;
    struct hall_desk desks[];
};

/* What this rank knows of another. */
struct hall_rank {
    uint64_t reached; /* it has read all before that stamp, at least */
    unsigned line;    /* that was found last */
    uint8_t where;
    uint64_t seen;   /* the stamp of what was looked at before that */
    bool has_smalls; /* they are mapped here ... */
    size_t n_celled; /* ... and so many bytes of its cells */
    struct hall_header header;
    struct attached attached;
};

struct hall {
    struct hall_page *page;
    uint8_t
        *rooms; /* of each rank: what lies beside the lines, then its slots */
    size_t n_room;
    size_t n_slot;
    uint32_t rank;
    uint32_t n_ranks;
    struct hall_header last;
    uint64_t stamps[HALL_ALL_LINES]; /* what this rank wrote there last ... */
    uint64_t cell_stamps[HALL_CELLS];
    unsigned n_taken;  /* cells, since the ring began anew */
    unsigned n_cells;  /* of the ring, as long as it is by now */
    unsigned n_laps;   /* since then */
    unsigned n_filled; /* cells that are there */
    bool has_smalls;   /* what lies beside the lines is there */
    size_t n_charged;  /* bytes of the budget */
    bool is_resting;
    uint8_t *piece; /* NULL: the ranks do not read each other's buffers */
    int fd;
    uint8_t *base;
    size_t n_mapped;
    struct hall_rank ranks[];
};

static inline size_t
hall_cell_bytes(const struct hall *hall)
{
    return hall->n_slot / HALL_SLOT_CELLS;
}

/* hall_rooms.c */

/* What a hall costs this process at least. */
size_t
hall_least(uint32_t n_ranks, size_t n_slot);
/* Of the budget that all halls of this process share. False: it is used up. */
bool
hall_charge(struct hall *hall, size_t n_bytes);
void
hall_discharge(struct hall *hall);
/* Have a ring for n_wanted cells in a row, and if it is used much and the
 * budget permits it, a longer one. */
void
hall_fit(struct hall *hall, unsigned n_wanted);
/* What goes to where in the own room is there. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
hall_fill(struct hall *hall, unsigned where);
/* Map at once what is about to be read of rank's room: beside its lines ... */
void
hall_reach_smalls(struct hall *hall, uint32_t rank);
/* ... or the first n_bytes of its cells. */
void
hall_reach_cells(struct hall *hall, uint32_t rank, size_t n_bytes);

#endif
