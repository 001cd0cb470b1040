/*
 * transport/shm/region_layout.h - the layout of a shared region
 *
 * Private to shm_region.c and its sibling files.
 */

#ifndef TRANSPORT_SHM_REGION_LAYOUT_H
#define TRANSPORT_SHM_REGION_LAYOUT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "transport/shm/region.h"

enum {
    SHM_REGION_LINE = 64,
    SHM_REGION_LINES = 128, /* the processor fetches lines in pairs */
    /* Lines of a rank, for the first round of an operation and for later
     * ones. */
    SHM_REGION_FIRST_LINES = SHM_REGION_AHEAD,
    SHM_REGION_LATER_LINES = 4,
    SHM_REGION_ALL_LINES = SHM_REGION_FIRST_LINES + SHM_REGION_LATER_LINES,
    SHM_REGION_SLOTS = 4,
    SHM_REGION_SLOT_CELLS = 16,
    /* Cells of the ring. */
    SHM_REGION_CELLS = SHM_REGION_SLOTS * SHM_REGION_SLOT_CELLS,
    SHM_REGION_SMALLS = SHM_REGION_ALL_LINES * SHM_REGION_SMALL, /* bytes */
    /* Cells of the ring at first, enough for a rank to be one call ahead. */
    SHM_REGION_CELLS_MIN = 4,
    /* Times round the ring until it becomes twice as long. */
    SHM_REGION_LAPS = 4,
};

/* Where the bytes of a round are. */
enum shm_region_location {
    SHM_REGION_IN_LINE,
    SHM_REGION_IN_SMALLS,
    SHM_REGION_IN_CELLS, /* the first cell; larger values mean later cells */
};

/* What the signature of a call was made of. */
struct shm_region_call {
    uint64_t count;
    uint32_t root;
    uint8_t name;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t unused;
};

/* The sequence is written last. As long as all ranks call the same, readers
 * need only the first of the two cache lines. */
struct shm_region_line {
    alignas(SHM_REGION_LINES) _Atomic uint64_t sequence;
    uint64_t signature;
    uint64_t failed;
    uint64_t previous_sequence;
    uint8_t payload[SHM_REGION_INLINE_BYTES];
    uint8_t flags;
    uint8_t where;
    alignas(SHM_REGION_LINE) struct shm_region_call call;
    struct shm_region_header before; /* what the rank had published before */
};

_Static_assert(sizeof(struct shm_region_line) == SHM_REGION_LINES, "two lines");

/* Only the rank itself writes this. */
struct shm_region_rank_control {
    struct shm_region_line lines[SHM_REGION_ALL_LINES];
    alignas(SHM_REGION_LINES) _Atomic uint64_t finished;
    alignas(SHM_REGION_LINES) struct shm_region_departure departure;
};

/* Only the creator writes the first four fields. */
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
    uint64_t reached; /* the rank has read everything before this sequence */
    unsigned line;    /* the line that was found last */
    uint8_t where;
    uint64_t seen;         /* the sequence that was looked at before header */
    bool has_smalls;       /* what is beside its lines is mapped here */
    size_t n_mapped_cells; /* how many bytes of its cells are mapped here */
    struct shm_region_header header;
    struct cma_process cma_process;
};

struct shm_region {
    struct shm_region_control *control;
    uint8_t *areas; /* for each rank what is beside its lines, then its slots */
    size_t n_area;
    size_t n_slot;
    uint32_t rank;
    uint32_t n_ranks;
    struct shm_region_header last;
    /* What this rank last wrote to each line and to each cell. */
    uint64_t sequences[SHM_REGION_ALL_LINES];
    uint64_t cell_sequences[SHM_REGION_CELLS];
    unsigned n_taken;  /* cells taken since the ring last began anew */
    unsigned n_cells;  /* how long the ring is by now */
    unsigned n_laps;   /* times that the ring began anew at this length */
    unsigned n_filled; /* cells that are allocated */
    bool has_smalls;   /* what is beside the own lines is allocated */
    size_t n_charged;  /* bytes charged to the budget */
    bool is_sleep_armed;
    uint8_t *cma_buffer; /* NULL: ranks do not read each other's buffers */
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

/* Returns the least that a shared region costs this process. */
size_t
shm_region_min_bytes(uint32_t n_ranks, size_t n_slot);
/* Charge n_bytes to the budget that all shared regions of this process share.
 * Returns false if it is used up. */
bool
shm_region_charge_budget(struct shm_region *shm_region, size_t n_bytes);
void
shm_region_uncharge(struct shm_region *shm_region);
/* Make the ring long enough for n_wanted cells in a row, or longer if it is
 * used much and the budget permits it. */
void
shm_region_grow_ring(struct shm_region *shm_region, unsigned n_wanted);
/* Allocate the part of this rank's area where a post to where goes. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
shm_region_populate(struct shm_region *shm_region, unsigned where);
/* Map at once a part of rank's area that is about to be read: what is beside
 * its lines, or the first n_bytes of its cells. */
void
shm_region_prefault_smalls(struct shm_region *shm_region, uint32_t rank);
void
shm_region_prefault_cells(struct shm_region *shm_region,
                          uint32_t rank,
                          size_t n_bytes);

#endif
