/*
 * storage/storage.h - store what the coordinator must remember after it ends
 *
 * Records are put and erased on the loop, in memory; storage_commit() makes one
 * batch of the changes since the last commit. The storage's own thread writes
 * all waiting batches as one, and while it waits for the disk the next ones
 * gather. Each batch has a number, and on_durable tells up to which number all
 * are durable. A reply to a client must wait for the number of the state it
 * reports.
 *
 * A full disk loses nothing: a write that fails is retried until it succeeds,
 * and replies wait for it. storage_is_healthy() says whether writes succeed,
 * and storage_has_room() whether more changes should be accepted meanwhile.
 *
 * Thread: the loop's, or before loop_run() and after it has returned, except
 * where noted.
 */

#ifndef STORAGE_STORAGE_H
#define STORAGE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "storage/changeset.h"
#include "storage/folder_lock.h"

struct storage;
struct loop;

/* The module to which a record belongs: the first byte of its key. */
enum storage_owner {
    STORAGE_OWNER_STORAGE = 0,
    STORAGE_OWNER_CORE = 1,
    STORAGE_OWNER_REPLIES = 2,
};

/* Called for each record; key and value are borrowed for the call. */
typedef enum hoop_status
storage_visit_fn(void *owner,
                 struct storage_span key,
                 struct storage_span value);

/* All batches up to this number are durable. Called on the loop. */
typedef void
storage_durable_fn(void *owner, uint64_t number);

/* Another process uses the folder, although this one had locked it. Nothing
 * more is written or becomes durable. Called once, on the loop. */
typedef void
storage_replaced_fn(void *owner);

/* The result of storage_is_healthy() has changed. Called on the loop. */
typedef void
storage_health_fn(void *owner);

struct storage_options {
    struct loop *loop;  /* borrowed; must outlive the storage */
    const char *folder; /* borrowed for the call */
    enum storage_durability durability;
    storage_durable_fn *on_durable;
    storage_health_fn *on_health;     /* may be NULL */
    storage_replaced_fn *on_replaced; /* may be NULL */
    void *owner;
    size_t n_room; /* bytes that may wait to be written; 0:
                      LIMIT_STORAGE_UNWRITTEN_BYTES */
};

/* Identifies one use of a folder. A folder's data has a random lineage; each
 * time it is opened its generation is one higher. */
struct storage_term {
    uint64_t lineage;
    uint64_t generation;
};

/*
 * Open the folder's data. No other coordinator can use the folder from here on,
 * see storage/folder_lock.h.
 * Handle: as folder_lock_take() and database_open(); HOOP_E_PRECONDITION (data
 * of another version of hoopd), HOOP_E_DATA_LOSS (not hoopd's data, or
 * damaged).
 */
enum hoop_status
storage_open(const struct storage_options *options,
             struct storage **out_storage);

/* Call fn for each stored record of one owner, in the order of the keys, which
 * are passed without the owner. Call before the first put. */
enum hoop_status
storage_visit_records(struct storage *storage,
                      enum storage_owner whose,
                      storage_visit_fn *fn,
                      void *owner);

struct storage_term
storage_term(const struct storage *storage);

void
storage_put(struct storage *storage,
            enum storage_owner whose,
            struct storage_span key,
            struct storage_span value);
/* Erase the key and every key that begins with it. */
void
storage_erase(struct storage *storage,
              enum storage_owner whose,
              struct storage_span key);

/* Make one batch of the changes since the last commit, if there are any. */
void
storage_commit(struct storage *storage);

/* Return the number of the batch that contains all changes made so far. */
uint64_t
storage_batch_number(const struct storage *storage);

/* Wait until everything is durable, at most timeout_ms. Calls on_durable before
 * it returns. */
void
storage_flush(struct storage *storage, uint64_t timeout_ms);

/* Return whether the last write succeeded. Thread: any. */
bool
storage_is_healthy(struct storage *storage);

/* Return whether the bytes that wait to be written are below the limit; they
 * grow while the disk is full or slow. Nothing is refused: callers check this
 * before they put. Thread: any. */
bool
storage_has_room(struct storage *storage);

/* Try once more to write what waits, then close. NULL is allowed. */
void
storage_close(struct storage *storage);

DEFINE_CLEANUP(struct storage *, storage_close)

#endif
