/*
 * keep/keep.h - what the coordinator has to remember when it is gone
 *
 * Records are put and erased on the loop, in memory; keep_commit() makes one
 * piece of what came since the last. A thread of the keep's own writes all
 * pieces that wait, as one: while it waits for the disk the next ones gather.
 * Each piece has a number, and on_kept tells up to which all are durable:
 * whoever answers a client waits for the number of what he says.
 *
 * A full disk loses nothing: what cannot be written is tried again until it
 * can, and nobody is answered before. keep_is_well() says whether it is so, and
 * keep_has_room() whether more should be taken meanwhile.
 *
 * Thread: the loop's, or before loop_run() and after it has returned, except
 * where it says otherwise.
 */

#ifndef KEEP_KEEP_H
#define KEEP_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "keep/changeset.h"
#include "keep/claim.h"

struct keep;
struct loop;

/* Whose a record is: the first byte of its key. */
enum keep_owner {
    KEEP_OWN = 0,
    KEEP_CORE = 1,
    KEEP_REPLIES = 2,
};

/* Borrowed for the call. */
typedef enum hoop_status
keep_fn(void *owner, struct keep_bytes key, struct keep_bytes value);

/* All pieces up to this number are durable. On the loop. */
typedef void
keep_kept_fn(void *owner, uint64_t number);

/* Another process uses the folder, although it was ours. Nothing is written any
 * more, and nothing more will be durable. On the loop; once. */
typedef void
keep_taken_fn(void *owner);

/* keep_is_well() is another than it was. On the loop. */
typedef void
keep_health_fn(void *owner);

struct keep_options {
    struct loop *loop;  /* borrowed; must outlive the keep */
    const char *folder; /* borrowed for the call */
    enum keep_durability durability;
    keep_kept_fn *on_kept;
    keep_health_fn *on_health; /* NULL: nobody is told */
    keep_taken_fn *on_taken;   /* NULL: nobody is told */
    void *owner;
    size_t n_room; /* bytes that may wait; 0: LIMIT_KEEP_WAITING */
};

/* Who writes: a folder's data has a name by chance, and every opening of it a
 * number, one more than that of the one before. */
struct keep_term {
    uint64_t lineage;
    uint64_t generation;
};

/*
 * Nobody else uses the folder from here on, see keep/claim.h.
 * Handle: as claim_take() and database_open(); HOOP_E_PRECONDITION (data of
 * another version of hoopd), HOOP_E_DATA_LOSS (not hoopd's, or damaged).
 */
enum hoop_status
keep_open(const struct keep_options *options, struct keep **out_keep);

/* The records of one owner as they were, in the order of their keys, which
 * come without the owner. Before the first put. */
enum hoop_status
keep_read(struct keep *keep, enum keep_owner whose, keep_fn *fn, void *owner);

struct keep_term
keep_term(const struct keep *keep);

void
keep_put(struct keep *keep,
         enum keep_owner whose,
         struct keep_bytes key,
         struct keep_bytes value);
/* The key, and every key that begins with it. */
void
keep_erase(struct keep *keep, enum keep_owner whose, struct keep_bytes key);

/* What was put and erased is one piece from here on; nothing: no piece. */
void
keep_commit(struct keep *keep);

/* The number that all will have which was put until now. */
uint64_t
keep_number(const struct keep *keep);

/* Waits until everything is durable, or timeout_ms; on_kept is called from
 * within. */
void
keep_flush(struct keep *keep, uint64_t timeout_ms);

/* The last attempt to write did not fail. Thread: any. */
bool
keep_is_well(struct keep *keep);

/* Less waits to be written than may: so much can be behind when the disk is full
 * or slow. Nothing is refused: whoever puts asks before. Thread: any. */
bool
keep_has_room(struct keep *keep);

/* Tries once more to write what waits. NULL is fine. */
void
keep_close(struct keep *keep);

DEFINE_CLEANUP(struct keep *, keep_close)

#endif
