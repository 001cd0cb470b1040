/*
 * transport/shm/region.h - memory shared by the ranks of a communicator
 *
 * All ranks of the communicator are on one host. Each rank has lines. A line
 * says what was called in a round, and where the round's bytes are: a few in
 * the line itself, more beside it, and many in cells of a ring that is as long
 * as four slots. The ring is that long so that its cache lines have left the
 * readers' caches when they are written again. Readers use the bytes where they
 * are. A word per rank says up to where that rank has read everything, so that
 * others may write over it. Sequences name the rounds (transport/sequence.h),
 * and a sequence determines the line. The first rounds of the last
 * SHM_REGION_AHEAD_OPS operations have lines of their own, so that a rank that
 * only posts may be that many operations ahead.
 *
 * All of the region has addresses from the beginning, but at first only the
 * lines have memory. What is beside the lines is allocated with the first post
 * that goes there. The ring is at first as long as a post needs, and becomes
 * twice as long each time it has been gone round a few times
 * (transport/shm/region_create.c).
 *
 * The other ranks may be hostile. A header is copied before it is looked at,
 * the reader computes all addresses itself, and what they hold is only payload.
 * A rank that posts nonsense makes others wait, or read nonsense.
 *
 * Sleeping. A rank that is about to sleep sets its bit and then polls again. A
 * rank that publishes, or has read, does that first, then looks at the bits,
 * and wakes the ranks whose bits it clears. All of this is sequentially
 * consistent: see transport/shm/segment.h.
 *
 * Thread: one at a time for a shared region of this process.
 */

#ifndef TRANSPORT_SHM_REGION_H
#define TRANSPORT_SHM_REGION_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "transport/shm/cma.h"
#include "transport/shm/segment.h"

enum {
    SHM_REGION_INLINE_BYTES = 24,   /* bytes that a line holds itself */
    SHM_REGION_SMALL_BYTES = 1024,  /* bytes that fit beside a line */
    SHM_REGION_DEPARTURE_CALLS = 8, /* that a departure record holds */
    /* Operations by which a rank that only posts may be ahead. */
    SHM_REGION_AHEAD_OPS = 64,
    /* Bytes for a peer's data that is to be combined. */
    SHM_REGION_CMA_BUFFER_BYTES = 64 << 10,
};

struct shm_region;

/* Create a region for n_ranks ranks, of which this is rank 0, with slots of
 * slot_capacity bytes, a multiple of a page. out_place tells the other ranks
 * how to open it. Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED. */
enum hoop_status
shm_region_create(uint32_t n_ranks,
                  size_t slot_capacity,
                  struct shared_memory_handle *out_place,
                  struct shm_region **out_shm_region);
/* Open the region at place as rank, which is not 0. Handle: as
 * shm_region_create(), and HOOP_E_DATA_LOSS (it is not such a region). */
enum hoop_status
shm_region_open(const struct shared_memory_handle *place,
                uint32_t rank,
                uint32_t n_ranks,
                struct shm_region **out_shm_region);
/* Call once every member has mapped the region; no further opens succeed. */
void
shm_region_close_fd(struct shm_region *shm_region);
/* Free shm_region, which may be NULL. */
void
shm_region_destroy(struct shm_region *shm_region);

static inline size_t
shm_region_bytes_per_slot(const struct shm_region *shm_region);

/* What a rank says of a round. Everything in it is the word of its writer. */
struct shm_region_header {
    uint64_t sequence; /* not 0 */
    uint64_t signature;
    uint64_t count;
    uint64_t failed; /* the newest operation that failed there; 0: none */
    uint32_t root;
    uint8_t name;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t flags; /* for the caller's own use */
};

/* Returns whether all other ranks have read what is where n_bytes of the round
 * sequence go. If not, out_rank is a rank that has not. */
bool
shm_region_can_publish(struct shm_region *shm_region,
                       uint64_t sequence,
                       size_t n_bytes,
                       uint32_t *out_rank);
/* Returns where those n_bytes, at most a slot, go. NULL if there is no memory
 * for them, as the error says. Call only when shm_region_can_publish(). */
uint8_t *
shm_region_reserve(struct shm_region *shm_region,
                   uint64_t sequence,
                   size_t n_bytes);
/* Publish the round of header, whose bytes are in place. Call only when
 * shm_region_can_publish(), with the same n_bytes as shm_region_reserve(). */
void
shm_region_publish(struct shm_region *shm_region,
                   const struct shm_region_header *header,
                   size_t n_bytes);
/* Say that this rank has read everything up to sequence, or never will. */
void
shm_region_mark_finished(struct shm_region *shm_region, uint64_t sequence);

/* Say that this rank will read nothing before operation number. */
void
shm_region_skip_to_op(struct shm_region *shm_region, uint64_t number);

/* Hide what this rank has published of operation number and later ones, which
 * has failed here, from those who have not seen it yet. Call before
 * shm_region_mark_finished(). */
void
shm_region_retract_posts(struct shm_region *shm_region, uint64_t number);

/* Returns whether rank, which may be this one, has published the round
 * sequence. If so, shm_region_header_with_call(),
 * shm_region_header_without_call() and shm_region_payload() tell of that
 * round until shm_region_mark_finished(). */
bool
shm_region_poll(struct shm_region *shm_region,
                uint32_t rank,
                uint64_t sequence);
/* The same for any round, while another is being read. */
bool
shm_region_has_posted(const struct shm_region *shm_region,
                      uint32_t rank,
                      uint64_t sequence);
/* Returns whether rank may have published something earlier that this rank has
 * not seen. */
static inline bool
shm_region_has_unseen_post(const struct shm_region *shm_region, uint32_t rank);
/* Write what rank had published before the round that was polled last. Returns
 * false if there is nothing, or this rank has seen it. Even a call in which
 * this rank did not need rank's post must be compared. */
bool
shm_region_take_unseen_post(struct shm_region *shm_region,
                            uint32_t rank,
                            struct shm_region_header *out_header);
const struct shm_region_header *
shm_region_header_with_call(struct shm_region *shm_region, uint32_t rank);
/* Returns the header of that round with only sequence, signature, failed and
 * flags set. This costs nothing. */
static inline const struct shm_region_header *
shm_region_header_without_call(const struct shm_region *shm_region,
                               uint32_t rank);
/* Returns n_bytes from offset of what rank posted in that round; offset +
 * n_bytes must be at most a slot. NULL if it has not posted that much. */
const uint8_t *
shm_region_payload(struct shm_region *shm_region,
                   uint32_t rank,
                   size_t offset,
                   size_t n_bytes);

/*
 * Ranks may read each other's buffers, too, if all of them can
 * (transport/shm/cma.h). Each rank attaches to every other, then enables it. If
 * any rank could not, all disable it.
 *
 * Handle: HOOP_E_UNAVAILABLE, HOOP_E_PEER_LOST, HOOP_E_DATA_LOSS (it is not
 * possible); for shm_region_enable_cma() HOOP_E_EXHAUSTED.
 */
enum hoop_status
shm_region_cma_attach(struct shm_region *shm_region,
                      uint32_t rank,
                      uint32_t pid,
                      const struct cma_address *place);
enum hoop_status
shm_region_enable_cma(struct shm_region *shm_region);
void
shm_region_disable_cma(struct shm_region *shm_region);
bool
shm_region_has_cma(const struct shm_region *shm_region);
/* Returns a buffer of SHM_REGION_CMA_BUFFER_BYTES bytes to read into. Call
 * only when shm_region_has_cma(). */
uint8_t *
shm_region_cma_buffer(const struct shm_region *shm_region);
/* Read n_bytes at address of rank into to. Handle: as cma_read(). */
enum hoop_status
shm_region_cma_read(struct shm_region *shm_region,
                    uint32_t rank,
                    uint64_t address,
                    void *to,
                    size_t n_bytes);

/* Ask to be woken. Poll once more before sleeping. */
void
shm_region_set_sleeping(struct shm_region *shm_region);
void
shm_region_clear_sleeping(struct shm_region *shm_region);
/* Call after shm_region_publish() or shm_region_mark_finished(): returns the
 * ranks that must be woken, a bit each. The caller must wake them, since nobody
 * else will. */
uint64_t
shm_region_take_sleepers(struct shm_region *shm_region);

/* What a rank leaves behind when it leaves. Only that rank writes it, and
 * everything in it is that rank's word. */
struct shm_region_departure {
    _Atomic uint32_t has_left;
    uint32_t n_calls;
    /* The last calls that succeeded. */
    struct shm_region_header calls[SHM_REGION_DEPARTURE_CALLS];
    uint64_t failed_op; /* the last operation that failed; 0: none */
    uint64_t failed_status;
    char failed_text[LIMIT_ERROR_TEXT];
    uint32_t failed_rank; /* as in a failure notice */
};

struct shm_region_departure *
shm_region_departure(const struct shm_region *shm_region, uint32_t rank);

/* The rest is private to region.c and region_create.c. */

enum {
    SHM_REGION_LINE_BYTES = 64,
    SHM_REGION_LINE_PAIR_BYTES = 128, /* the processor fetches lines in pairs */
    /* Lines of a rank, for the first round of an operation and for later
     * ones. */
    SHM_REGION_FIRST_ROUND_LINES = SHM_REGION_AHEAD_OPS,
    SHM_REGION_LATER_ROUND_LINES = 4,
    SHM_REGION_N_LINES =
        SHM_REGION_FIRST_ROUND_LINES + SHM_REGION_LATER_ROUND_LINES,
    SHM_REGION_CELLS_PER_SLOT = 16,
    /* Cells of the ring. */
    SHM_REGION_N_CELLS =
        LIMIT_SHM_REGION_RANK_SLOTS * SHM_REGION_CELLS_PER_SLOT,
    SHM_REGION_RANK_SMALL_BYTES =
        SHM_REGION_N_LINES * SHM_REGION_SMALL_BYTES, /* bytes */
    /* Cells of the ring at first, enough for a rank to be one call ahead. */
    SHM_REGION_CELLS_MIN = 4,
    /* Times round the ring until it becomes twice as long. */
    SHM_REGION_GROW_LAPS = 4,
};

/* Where the bytes of a round are. */
enum shm_region_location {
    SHM_PAYLOAD_IN_LINE,
    SHM_PAYLOAD_IN_SMALL_AREA,
    SHM_PAYLOAD_IN_CELLS, /* the first cell; larger values mean later cells */
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
    alignas(SHM_REGION_LINE_PAIR_BYTES) _Atomic uint64_t sequence;
    uint64_t signature;
    uint64_t failed;
    uint64_t previous_sequence;
    uint8_t payload[SHM_REGION_INLINE_BYTES];
    uint8_t flags;
    uint8_t where;
    alignas(SHM_REGION_LINE_BYTES) struct shm_region_call call;
    struct shm_region_header before; /* what the rank had published before */
};

_Static_assert(sizeof(struct shm_region_line) == SHM_REGION_LINE_PAIR_BYTES,
               "two lines");

/* Only the rank itself writes this. */
struct shm_region_rank_control {
    struct shm_region_line lines[SHM_REGION_N_LINES];
    alignas(SHM_REGION_LINE_PAIR_BYTES) _Atomic uint64_t finished;
    alignas(SHM_REGION_LINE_PAIR_BYTES) struct shm_region_departure departure;
};

/* Only the creator writes the first four fields. */
struct shm_region_control {
    uint64_t magic;
    uint64_t n_ranks;
    uint64_t slot_capacity;
    uint8_t key[MEMORY_KEY_BYTES];
    alignas(SHM_REGION_LINE_PAIR_BYTES) _Atomic uint64_t sleepers;
    struct shm_region_rank_control rank_controls[];
};

/* What this rank knows of another. */
struct shm_region_peer {
    uint64_t reached; /* the rank has read everything before this sequence */
    unsigned line;    /* the line that was found last */
    uint8_t where;
    uint64_t seen; /* the sequence that was looked at before header */
    bool has_small_payload_area; /* what is beside its lines is mapped here */
    /* How many bytes of its cells are mapped here. */
    size_t n_mapped_cell_bytes;
    struct shm_region_header header;
    struct cma_process cma_process;
};

struct shm_region {
    struct shm_region_control *control;
    uint8_t *areas; /* for each rank what is beside its lines, then its slots */
    size_t n_area;
    size_t slot_capacity;
    uint32_t rank;
    uint32_t n_ranks;
    struct shm_region_header last;
    /* What this rank last wrote to each line and to each cell. */
    uint64_t sequences[SHM_REGION_N_LINES];
    uint64_t last_sequence_of_cell[SHM_REGION_N_CELLS];
    unsigned n_taken;     /* cells taken since the ring last began anew */
    unsigned n_cells;     /* how long the ring is by now */
    unsigned n_ring_laps; /* times that the ring began anew at this length */
    unsigned n_allocated_cells;  /* cells that are allocated */
    bool has_small_payload_area; /* what is beside the own lines is allocated */
    size_t n_charged;            /* bytes charged to the budget */
    bool is_sleep_wakeup_armed;
    uint8_t *cma_buffer; /* NULL: ranks do not read each other's buffers */
    int fd;
    uint8_t *base;
    size_t n_mapped;
    struct shm_region_peer ranks[];
};

static inline size_t
shm_region_bytes_per_slot(const struct shm_region *shm_region)
{
    return shm_region->slot_capacity;
}

/* Returns the line of rank that was found last. */
static inline const struct shm_region_line *
shm_region_peer_line(const struct shm_region *shm_region, uint32_t rank)
{
    return &shm_region->control->rank_controls[rank]
                .lines[shm_region->ranks[rank].line];
}

static inline bool
shm_region_has_unseen_post(const struct shm_region *shm_region, uint32_t rank)
{
    return shm_region_peer_line(shm_region, rank)->previous_sequence !=
           shm_region->ranks[rank].seen;
}

static inline const struct shm_region_header *
shm_region_header_without_call(const struct shm_region *shm_region,
                               uint32_t rank)
{
    return &shm_region->ranks[rank].header;
}

static inline size_t
shm_region_cell_bytes(const struct shm_region *shm_region)
{
    return shm_region->slot_capacity / SHM_REGION_CELLS_PER_SLOT;
}

/* region_create.c: allocating a region as it is used. */

/* Returns the least that a shared region costs this process. */
size_t
shm_region_min_bytes(uint32_t n_ranks, size_t slot_capacity);
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
