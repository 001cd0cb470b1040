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
    HALL_FIRST_LINES = 32,
    HALL_LATER_LINES = 4,
    HALL_ALL_LINES = HALL_FIRST_LINES + HALL_LATER_LINES,
    HALL_SLOTS = 4,
    HALL_SLOT_CELLS = 16,
    HALL_CELLS = HALL_SLOTS * HALL_SLOT_CELLS, /* a ring */
    HALL_SMALLS = HALL_ALL_LINES * HALL_SMALL, /* bytes */
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
    uint64_t seen; /* the stamp of what was looked at before that */
    struct hall_header header;
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
    unsigned n_taken; /* cells, since the ring began anew */
    bool is_resting;
    int fd;
    uint8_t *base;
    size_t n_mapped;
    struct hall_rank ranks[];
};

#endif
