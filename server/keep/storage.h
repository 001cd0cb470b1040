/*
 * keep/storage.h - what the coordinator has to remember when it is gone
 *
 * Records are put and erased on the loop, in memory; storage_commit() makes one
 * piece of what came since the last. A thread of the storage's own writes all
 * pieces that wait, as one: while it waits for the disk the next ones gather.
 * Each piece has a number, and on_durable tells up to which all are durable:
 * whoever answers a client waits for the number of what he says.
 *
 * A full disk loses nothing: what cannot be written is tried again until it
 * can, and nobody is answered before. storage_is_healthy() says whether it is so, and
 * storage_has_room() whether more should be taken meanwhile.
 *
 * Thread: the loop's, or before loop_run() and after it has returned, except
 * where it says otherwise.
 */

#ifndef KEEP_STORAGE_H
#define KEEP_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "keep/changeset.h"
#include "keep/folder_lock.h"

struct storage;
struct loop;

/* Whose a record is: the first byte of its key. */
enum storage_owner {
    STORAGE_OWN = 0,
    STORAGE_CORE = 1,
    STORAGE_REPLIES = 2,
};

/* Borrowed for the call. */
typedef enum hoop_status
storage_read_fn(void *owner,
                struct storage_bytes key,
                struct storage_bytes value);

/* All pieces up to this number are durable. On the loop. */
typedef void
storage_durable_fn(void *owner, uint64_t number);

/* Another process uses the folder, although it was ours. Nothing is written any
 * more, and nothing more will be durable. On the loop; once. */
typedef void
storage_replaced_fn(void *owner);

/* storage_is_healthy() is another than it was. On the loop. */
typedef void
storage_health_fn(void *owner);

struct storage_options {
    struct loop *loop;  /* borrowed; must outlive the storage */
    const char *folder; /* borrowed for the call */
    enum storage_durability durability;
    storage_durable_fn *on_durable;
    storage_health_fn *on_health;     /* NULL: nobody is told */
    storage_replaced_fn *on_replaced; /* NULL: nobody is told */
    void *owner;
    size_t n_room; /* bytes that may wait; 0: LIMIT_KEEP_WAITING */
};

/* Who writes: a folder's data has a name by chance, and every opening of it a
 * number, one more than that of the one before. */
struct storage_term {
    uint64_t lineage;
    uint64_t generation;
};

/*
 * Nobody else uses the folder from here on, see keep/folder_lock.h.
 * Handle: as folder_lock_take() and database_open(); HOOP_E_PRECONDITION (data of
 * another version of hoopd), HOOP_E_DATA_LOSS (not hoopd's, or damaged).
 */
enum hoop_status
storage_open(const struct storage_options *options,
             struct storage **out_storage);

/* The records of one owner as they were, in the order of their keys, which
 * come without the owner. Before the first put. */
enum hoop_status
storage_read(struct storage *storage,
             enum storage_owner whose,
             storage_read_fn *fn,
             void *owner);

struct storage_term
storage_term(const struct storage *storage);

void
storage_put(struct storage *storage,
            enum storage_owner whose,
            struct storage_bytes key,
            struct storage_bytes value);
/* The key, and every key that begins with it. */
void
storage_erase(struct storage *storage,
              enum storage_owner whose,
              struct storage_bytes key);

/* What was put and erased is one piece from here on; nothing: no piece. */
void
storage_commit(struct storage *storage);

/* The number that all will have which was put until now. */
uint64_t
storage_number(const struct storage *storage);

/* Waits until everything is durable, or timeout_ms; on_durable is called from
 * within. */
void
storage_flush(struct storage *storage, uint64_t timeout_ms);

/* The last attempt to write did not fail. Thread: any. */
bool
storage_is_healthy(struct storage *storage);

/* Less waits to be written than may: so much can be behind when the disk is full
 * or slow. Nothing is refused: whoever puts asks before. Thread: any. */
bool
storage_has_room(struct storage *storage);

/* Tries once more to write what waits. NULL is fine. */
void
storage_close(struct storage *storage);

DEFINE_CLEANUP(struct storage *, storage_close)

#endif
