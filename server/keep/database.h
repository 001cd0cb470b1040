/*
 * keep/database.h - records in one file, changed as a whole or not at all
 *
 * LMDB behind it, and nothing else of the tree knows that. Keys stand in the
 * order of their bytes; every value carries a sum over itself and its key.
 * Whoever opens it holds the folder's claim: the library's own locks, which do
 * not work on every file system, are off.
 *
 * Thread: one at a time.
 */

#ifndef KEEP_DATABASE_H
#define KEEP_DATABASE_H

#include "hoop/status.h"

#include "base/cleanup.h"
#include "keep/changeset.h"
#include "keep/claim.h"

struct database;

/* Borrowed for the call. A failure ends the reading. */
typedef enum hoop_status
database_fn(void *owner, struct keep_bytes key, struct keep_bytes value);

/*
 * A new one is made where there is none.
 * Handle: HOOP_E_DATA_LOSS (it is none, or damaged), HOOP_E_PRECONDITION (of
 * another version of the library), HOOP_E_DENIED, HOOP_E_UNAVAILABLE.
 */
enum hoop_status
database_open(const char *folder,
              enum keep_durability durability,
              struct database **out_database);

/* Writes out what KEEP_PROCESS left to the kernel. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
database_settle(struct database *database);

/* NULL is fine. */
void
database_close(struct database *database);

DEFINE_CLEANUP(struct database *, database_close)

/* All records, in the order of their keys.
 * Handle: HOOP_E_DATA_LOSS; what fn returns. */
enum hoop_status
database_read(struct database *database, database_fn *fn, void *owner);

/*
 * All of the changes, or none, and durable when it returns. A library that has
 * given up after an earlier failure is opened anew.
 * Handle: HOOP_E_EXHAUSTED (the disk is full), HOOP_E_UNAVAILABLE (the file
 * system says no): trying again may help.
 */
enum hoop_status
database_apply(struct database *database, const struct changeset *changes);

/* Of its file, for texts. */
const char *
database_path(const struct database *database);

#endif
