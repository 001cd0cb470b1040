/*
 * transport/hall.h - memory that all ranks of a communicator on one host share
 *
 * Each rank has lines that say of rounds what was called in them, and where their
 * bytes lie: a few in the line itself, more beside it, and many in cells of a
 * ring that is as long as four slots: so much that their lines have left the readers'
 * caches when they are written again. Whoever wants them reads them where they lie. A
 * word per rank says up to where that rank has read everything: then others may
 * write over it. Stamps name the rounds (transport/stamp.h), and the stamp says
 * which line: those of the last HALL_AHEAD operations stand side by side, so that
 * who only posts may be that far ahead.
 *
 * All of it has its addresses from the beginning, and no memory but for the
 * lines: what lies beside them comes with the first post that goes there, and
 * the ring is at first as long as a post needs, then, each time it has been gone
 * round a few times, twice as long (transport/hall_rooms.c).
 *
 * The other ranks may be hostile: a header is copied before it is looked at,
 * places are the reader's own arithmetic, and what they hold is only payload.
 * A rank that says nonsense of itself makes others wait, or read nonsense.
 *
 * Sleeping. Who is about to sleep raises its bit and looks again; who publishes,
 * or has read, does that first, then looks at the bits, and rings for those it
 * takes down. All are sequentially consistent: see transport/ring.h.
 *
 * Thread: one at a time for a hall; the others are other ranks'.
 */

#ifndef TRANSPORT_HALL_H
#define TRANSPORT_HALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "transport/attach.h"
#include "transport/shared_memory.h"

enum {
    HALL_RANKS = 64,       /* the bits of a word */
    HALL_INLINE = 24,      /* bytes that a header's own line holds */
    HALL_SMALL = 1024,     /* ... that lie beside it */
    HALL_CALLS = 8,        /* that a rank leaves behind */
    HALL_AHEAD = 64,       /* operations that who only posts may be ahead */
    HALL_PIECE = 64 << 10, /* of what is read to be combined */
};

struct hall;

/* Rank 0 of n_ranks: one with slots of n_slot bytes, a multiple of a page.
 * Handle: HOOP_E_UNAVAILABLE, HOOP_E_EXHAUSTED. */
enum hoop_status
hall_create(uint32_t n_ranks,
            size_t n_slot,
            struct memory_place *out_place,
            struct hall **out_hall);
/* The others. Handle: also HOOP_E_DATA_LOSS (it is not what it must be). */
enum hoop_status
hall_open(const struct memory_place *place,
          uint32_t rank,
          uint32_t n_ranks,
          struct hall **out_hall);
/* Nobody will open it any more. */
void
hall_seal_off(struct hall *hall);
/* NULL is fine. */
void
hall_destroy(struct hall *hall);

/* Of a slot, where n_ranks share it. */
size_t
hall_slot_bytes(uint32_t n_ranks);
size_t
hall_n_slot(const struct hall *hall);

/* What lies in a slot. All of it is the writer's word. */
struct hall_header {
    uint64_t stamp; /* not 0 */
    uint64_t signature;
    uint64_t count;
    uint64_t failed; /* the newest operation that failed there; 0: none */
    uint32_t root;
    uint8_t name;
    uint8_t dtype;
    uint8_t reduce_op;
    uint8_t flags; /* what the user likes */
};

/* Whether all others are through with what lies where the n_bytes of stamp's
 * round go. out_rank, if not: one who is not. */
bool
hall_is_free(struct hall *hall,
             uint64_t stamp,
             size_t n_bytes,
             uint32_t *out_rank);
/* Where they go; n_bytes at most a slot. NULL: there is no memory for them, as
 * the error says. Only when hall_is_free(). */
uint8_t *
hall_place(struct hall *hall, uint64_t stamp, size_t n_bytes);
/* They are there. Only when hall_is_free(), with the n_bytes of hall_place(). */
void
hall_publish(struct hall *hall,
             const struct hall_header *header,
             size_t n_bytes);
/* All up to stamp has been read, or will not be. */
void
hall_finish(struct hall *hall, uint64_t stamp);

/* Nothing before operation number will be read any more. */
void
hall_forgo(struct hall *hall, uint64_t number);

/* What was published of operation number, or a later one, shall not be found
 * by who has not seen it yet: it has failed here. Before hall_finish(). */
void
hall_withdraw(struct hall *hall, uint64_t number);

/* Whether rank, which may be this one, has published the round of stamp. If
 * so, hall_header_of(), its short form and hall_bytes() are of that, until
 * hall_finish(). */
bool
hall_look(struct hall *hall, uint32_t rank, uint64_t stamp);
/* The same, of any round, while another is being read. */
bool
hall_has(const struct hall *hall, uint32_t rank, uint64_t stamp);
/* Whether it may have published what this rank has not seen. */
bool
hall_has_more(const struct hall *hall, uint32_t rank);
/* What rank had published before that, if this rank has not seen it: a call in
 * which it had no use for rank's post is still to be compared. */
bool
hall_look_back(struct hall *hall,
               uint32_t rank,
               struct hall_header *out_header);
const struct hall_header *
hall_header_of(struct hall *hall, uint32_t rank);
/* Only its stamp, signature, failure and flags: what costs nothing to know. */
const struct hall_header *
hall_brief_of(const struct hall *hall, uint32_t rank);
/* n_bytes of what it posted, from offset; offset + n_bytes at most a slot.
 * NULL: it has not posted so much. */
const uint8_t *
hall_bytes(struct hall *hall, uint32_t rank, size_t offset, size_t n_bytes);

/*
 * Ranks may read each other's buffers, too, if all can (transport/attach.h): all
 * attach to all others, then open up; shut where not all could.
 * Handle: HOOP_E_UNAVAILABLE, HOOP_E_PEER_LOST, HOOP_E_DATA_LOSS (it cannot be);
 * hall_open_up: HOOP_E_EXHAUSTED.
 */
enum hoop_status
hall_attach(struct hall *hall,
            uint32_t rank,
            uint32_t pid,
            const struct attach_place *place);
enum hoop_status
hall_open_up(struct hall *hall);
void
hall_shut(struct hall *hall);
bool
hall_is_open(const struct hall *hall);
/* HALL_PIECE bytes to read into. Only when hall_is_open(). */
uint8_t *
hall_piece(const struct hall *hall);
/* n_bytes at an address of rank's. Handle: as attach_read(). */
enum hoop_status
hall_read(struct hall *hall,
          uint32_t rank,
          uint64_t address,
          void *to,
          size_t n_bytes);

/* Before sleeping: look again after it. */
void
hall_rest(struct hall *hall);
void
hall_rouse(struct hall *hall);
/* After hall_publish() and hall_finish(): the ranks that must be woken, a bit
 * each. They are this rank's to wake then. */
uint64_t
hall_sleepers(struct hall *hall);

/* What a rank leaves behind, which it alone writes. All of it is its word. */
struct hall_board {
    _Atomic uint32_t has_left;
    uint32_t n_calls;
    struct hall_header calls[HALL_CALLS]; /* the last that ended well */
    uint64_t failed_op;                   /* the last that did not; 0: none */
    uint64_t failed_status;
    char failed_text[LIMIT_ERROR_TEXT];
    uint32_t failed_rank; /* as in VERDICT frames */
};

struct hall_board *
hall_board(const struct hall *hall, uint32_t rank);

#endif
