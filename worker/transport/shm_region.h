/*
 * transport/shm_region.h - memory that all ranks of a communicator on one host share
 *
 * Each rank has lines that say of rounds what was called in them, and where their
 * bytes lie: a few in the line itself, more beside it, and many in cells of a
 * ring that is as long as four slots: so much that their lines have left the readers'
 * caches when they are written again. Whoever wants them reads them where they lie. A
 * word per rank says up to where that rank has read everything: then others may
 * write over it. Sequences name the rounds (transport/sequence.h), and the sequence says
 * which line: those of the last SHM_REGION_AHEAD operations stand side by side, so that
 * who only posts may be that far ahead.
 *
 * All of it has its addresses from the beginning, and no memory but for the
 * lines: what lies beside them comes with the first post that goes there, and
 * the ring is at first as long as a post needs, then, each time it has been gone
 * round a few times, twice as long (transport/shm_region_grow.c).
 *
 * The other ranks may be hostile: a header is copied before it is looked at,
 * places are the reader's own arithmetic, and what they hold is only payload.
 * A rank that says nonsense of itself makes others wait, or read nonsense.
 *
 * Sleeping. Who is about to sleep raises its bit and looks again; who publishes,
 * or has read, does that first, then looks at the bits, and rings for those it
 * takes down. All are sequentially consistent: see transport/ring.h.
 *
 * Thread: one at a time for a shared region; the others are other ranks'.
 */

#ifndef TRANSPORT_SHM_REGION_H
#define TRANSPORT_SHM_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "transport/cma.h"
#include "transport/shared_memory.h"

enum {
    SHM_REGION_RANKS = 64,        /* the bits of a word */
    SHM_REGION_INLINE_BYTES = 24, /* bytes that a header's own line holds */
    SHM_REGION_SMALL = 1024,      /* ... that lie beside it */
    SHM_REGION_CALLS = 8,         /* that a rank leaves behind */
    SHM_REGION_AHEAD = 64, /* operations that who only posts may be ahead */
    SHM_REGION_CMA_BUFFER = 64 << 10, /* of what is read to be combined */
};

struct shm_region;

/* Rank 0 of n_ranks: one with slots of n_slot bytes, a multiple of a page.
 * Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED. */
enum hoop_status
shm_region_create(uint32_t n_ranks,
                  size_t n_slot,
                  struct memory_handle *out_place,
                  struct shm_region **out_shm_region);
/* The others. Handle: also HOOP_E_DATA_LOSS (it is not what it must be). */
enum hoop_status
shm_region_open(const struct memory_handle *place,
                uint32_t rank,
                uint32_t n_ranks,
                struct shm_region **out_shm_region);
/* Nobody will open it any more. */
void
shm_region_unlink(struct shm_region *shm_region);
/* NULL is fine. */
void
shm_region_destroy(struct shm_region *shm_region);

/* Of a slot, where n_ranks share it. */
size_t
shm_region_slot_bytes(uint32_t n_ranks);
size_t
shm_region_n_slot(const struct shm_region *shm_region);

/* What lies in a slot. All of it is the writer's word. */
struct shm_region_header {
    uint64_t sequence; /* not 0 */
    uint64_t signature;
    uint64_t count;
    uint64_t failed; /* the newest operation that failed there; 0: none */
    uint32_t root;
    uint8_t name;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t flags; /* what the user likes */
};

/* Whether all others are through with what lies where the n_bytes of sequence's
 * round go. out_rank, if not: one who is not. */
bool
shm_region_is_free(struct shm_region *shm_region,
                   uint64_t sequence,
                   size_t n_bytes,
                   uint32_t *out_rank);
/* Where they go; n_bytes at most a slot. NULL: there is no memory for them, as
 * the error says. Only when shm_region_is_free(). */
uint8_t *
shm_region_reserve(struct shm_region *shm_region,
                   uint64_t sequence,
                   size_t n_bytes);
/* They are there. Only when shm_region_is_free(), with the n_bytes of shm_region_reserve(). */
void
shm_region_publish(struct shm_region *shm_region,
                   const struct shm_region_header *header,
                   size_t n_bytes);
/* All up to sequence has been read, or will not be. */
void
shm_region_finish(struct shm_region *shm_region, uint64_t sequence);

/* Nothing before operation number will be read any more. */
void
shm_region_skip(struct shm_region *shm_region, uint64_t number);

/* What was published of operation number, or a later one, shall not be found
 * by who has not seen it yet: it has failed here. Before shm_region_finish(). */
void
shm_region_retract(struct shm_region *shm_region, uint64_t number);

/* Whether rank, which may be this one, has published the round of sequence. If
 * so, shm_region_header_of(), its short form and shm_region_bytes() are of that, until
 * shm_region_finish(). */
bool
shm_region_poll(struct shm_region *shm_region,
                uint32_t rank,
                uint64_t sequence);
/* The same, of any round, while another is being read. */
bool
shm_region_has_posted(const struct shm_region *shm_region,
                      uint32_t rank,
                      uint64_t sequence);
/* Whether it may have published what this rank has not seen. */
bool
shm_region_has_previous(const struct shm_region *shm_region, uint32_t rank);
/* What rank had published before that, if this rank has not seen it: a call in
 * which it had no use for rank's post is still to be compared. */
bool
shm_region_poll_previous(struct shm_region *shm_region,
                         uint32_t rank,
                         struct shm_region_header *out_header);
const struct shm_region_header *
shm_region_header_of(struct shm_region *shm_region, uint32_t rank);
/* Only its sequence, signature, failure and flags: what costs nothing to know. */
const struct shm_region_header *
shm_region_brief(const struct shm_region *shm_region, uint32_t rank);
/* n_bytes of what it posted, from offset; offset + n_bytes at most a slot.
 * NULL: it has not posted so much. */
const uint8_t *
shm_region_bytes(struct shm_region *shm_region,
                 uint32_t rank,
                 size_t offset,
                 size_t n_bytes);

/*
 * Ranks may read each other's buffers, too, if all can (transport/cma.h): all
 * attach to all others, then enable it; disabled where not all could.
 * Handle: HOOP_E_UNAVAILABLE, HOOP_E_PEER_LOST, HOOP_E_DATA_LOSS (it cannot be);
 * shm_region_enable_cma: HOOP_E_EXHAUSTED.
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
/* SHM_REGION_CMA_BUFFER bytes to read into. Only when shm_region_has_cma(). */
uint8_t *
shm_region_cma_buffer(const struct shm_region *shm_region);
/* n_bytes at an address of rank's. Handle: as cma_read(). */
enum hoop_status
shm_region_cma_read(struct shm_region *shm_region,
                    uint32_t rank,
                    uint64_t address,
                    void *to,
                    size_t n_bytes);

/* Before sleeping: look again after it. */
void
shm_region_arm(struct shm_region *shm_region);
void
shm_region_disarm(struct shm_region *shm_region);
/* After shm_region_publish() and shm_region_finish(): the ranks that must be woken, a bit
 * each. They are this rank's to wake then. */
uint64_t
shm_region_sleepers(struct shm_region *shm_region);

/* What a rank leaves behind, which it alone writes. All of it is its word. */
struct shm_region_departure {
    _Atomic uint32_t has_left;
    uint32_t n_calls;
    struct shm_region_header
        calls[SHM_REGION_CALLS]; /* the last that ended well */
    uint64_t failed_op;          /* the last that did not; 0: none */
    uint64_t failed_status;
    char failed_text[LIMIT_ERROR_TEXT];
    uint32_t failed_rank; /* as in VERDICT frames */
};

struct shm_region_departure *
shm_region_departure(const struct shm_region *shm_region, uint32_t rank);

#endif
