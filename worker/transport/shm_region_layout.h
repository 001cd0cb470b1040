/* transport/shm_region_layout.h - what a shared region is made of; private to shm_region*.c */

#ifndef TRANSPORT_SHM_REGION_LAYOUT_H
#define TRANSPORT_SHM_REGION_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/shm_region.h"

enum {
    SHM_REGION_LINE = 64,
    SHM_REGION_LINES = 128, /* the processor fetches them in pairs */
    /* Of a rank: for the first round of an operation, and for later ones. */
    SHM_REGION_FIRST_LINES = SHM_REGION_AHEAD,
    SHM_REGION_LATER_LINES = 4,
    SHM_REGION_ALL_LINES = SHM_REGION_FIRST_LINES + SHM_REGION_LATER_LINES,
    SHM_REGION_SLOTS = 4,
    SHM_REGION_SLOT_CELLS = 16,
    SHM_REGION_CELLS = SHM_REGION_SLOTS * SHM_REGION_SLOT_CELLS, /* a ring */
    SHM_REGION_SMALLS = SHM_REGION_ALL_LINES * SHM_REGION_SMALL, /* bytes */
    /* The ring begins with so many: who is a call ahead need not wait. */
    SHM_REGION_CELLS_MIN = 4,
    SHM_REGION_LAPS = 4, /* after so many it becomes twice as long */
};

/* Where the bytes of a round are. */
enum shm_region_location {
    SHM_REGION_IN_LINE,
    SHM_REGION_IN_SMALLS,
    SHM_REGION_IN_CELLS, /* from the first on; behind it the others */
};

/* Of a call, what its signature was made of. */
struct shm_region_call {
    uint64_t count;
    uint32_t root;
    uint8_t name;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t unused;
};

/* Its sequence is written last. What others read as long as all call the same is
 * one line of the cache, the rest the other one. */
struct shm_region_line {
    alignas(SHM_REGION_LINES) _Atomic uint64_t sequence;
    uint64_t signature;
    uint64_t failed;
    uint64_t previous_sequence;
    uint8_t payload[SHM_REGION_INLINE_BYTES];
    uint8_t flags;
    uint8_t where;
    alignas(SHM_REGION_LINE) struct shm_region_call call;
    struct shm_region_header before; /* what this rank had published last */
};

_Static_assert(sizeof(struct shm_region_line) == SHM_REGION_LINES, "two lines");

/* One rank's. Nobody else writes it. */
struct shm_region_rank_control {
    struct shm_region_line lines[SHM_REGION_ALL_LINES];
    alignas(SHM_REGION_LINES) _Atomic uint64_t finished;
    alignas(SHM_REGION_LINES) struct shm_region_departure departure;
};

/* Only the maker writes the first four. */
struct shm_region_control {
    uint64_t magic;
    uint64_t n_ranks;
    uint64_t n_slot;
    uint8_t key[MEMORY_KEY];
    alignas(SHM_REGION_LINES) _Atomic uint64_t sleepers;
    struct shm_region_rank_control rank_controls[];
};

/* What this rank knows of another. */
struct shm_region_peer {
    uint64_t reached; /* it has read all before that sequence, at least */
    unsigned line;    /* that was found last */
    uint8_t where;
    uint64_t seen;         /* the sequence of what was looked at before that */
    bool has_smalls;       /* they are mapped here ... */
    size_t n_mapped_cells; /* ... and so many bytes of its cells */
    struct shm_region_header header;
    struct cma_process cma_process;
};

struct shm_region {
    struct shm_region_control *control;
    uint8_t
        *areas; /* of each rank: what lies beside the lines, then its slots */
    size_t n_area;
    size_t n_slot;
    uint32_t rank;
    uint32_t n_ranks;
    struct shm_region_header last;
    uint64_t sequences
        [SHM_REGION_ALL_LINES]; /* what this rank wrote there last ... */
    uint64_t cell_sequences[SHM_REGION_CELLS];
    unsigned n_taken;  /* cells, since the ring began anew */
    unsigned n_cells;  /* of the ring, as long as it is by now */
    unsigned n_laps;   /* since then */
    unsigned n_filled; /* cells that are there */
    bool has_smalls;   /* what lies beside the lines is there */
    size_t n_charged;  /* bytes of the budget */
    bool is_sleep_armed;
    uint8_t *cma_buffer; /* NULL: the ranks do not read each other's buffers */
    int fd;
    uint8_t *base;
    size_t n_mapped;
    struct shm_region_peer ranks[];
};

static inline size_t
shm_region_cell_bytes(const struct shm_region *shm_region)
{
    return shm_region->n_slot / SHM_REGION_SLOT_CELLS;
}

/* shm_region_grow.c */

/* What a shared region costs this process at least. */
size_t
shm_region_min_bytes(uint32_t n_ranks, size_t n_slot);
/* Of the budget that all shared regions of this process share. False: it is used up. */
bool
shm_region_charge(struct shm_region *shm_region, size_t n_bytes);
void
shm_region_uncharge(struct shm_region *shm_region);
/* Have a ring for n_wanted cells in a row, and if it is used much and the
 * budget permits it, a longer one. */
void
shm_region_grow_ring(struct shm_region *shm_region, unsigned n_wanted);
/* What goes to where in the own area is there. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
shm_region_populate(struct shm_region *shm_region, unsigned where);
/* Map at once what is about to be read of rank's area: beside its lines ... */
void
shm_region_map_smalls(struct shm_region *shm_region, uint32_t rank);
/* ... or the first n_bytes of its cells. */
void
shm_region_map_cells(struct shm_region *shm_region,
                     uint32_t rank,
                     size_t n_bytes);

#endif
