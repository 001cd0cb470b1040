/*
 * keep/database.h - records in one file, changed as a whole or not at all
 *
 * LMDB behind it, and only keep/pages.h knows that, too. Keys stand in the
 * order of their bytes; every value carries a sum over itself and its key, and
 * every commit says how many records it leaves (keep/commit_record.h). A file is checked
 * in a process of its own before it is used in this one.
 * Whoever opens it holds the folder's lock: the library's own locks, which do
 * not work on every file system, are off.
 *
 * Thread: one at a time.
 */

#ifndef KEEP_DATABASE_H
#define KEEP_DATABASE_H

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "keep/changeset.h"
#include "keep/commit_record.h"
#include "keep/folder_lock.h"

struct database;

/* Borrowed for the call. A failure ends the reading. */
typedef enum hoop_status
database_fn(void *owner, struct storage_bytes key, struct storage_bytes value);

/*
 * A new one is made where there is none.
 * Handle: HOOP_E_DATA_LOSS (it is none, or damaged: the text says where and what
 * can be done), HOOP_E_PRECONDITION (of another version of the library or of
 * hoopd), HOOP_E_DENIED, HOOP_E_UNAVAILABLE.
 */
enum hoop_status
database_open(const char *folder,
              enum storage_durability durability,
              struct database **out_database);

/* Writes out what STORAGE_OUTLIVES_PROCESS left to the kernel. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
database_sync(struct database *database);

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
 * given up after an earlier failure is opened anew. Commits have numbers that
 * follow each other: if another process has written since, nothing is written,
 * or what was written counts for nothing.
 * Handle: HOOP_E_EXHAUSTED (the disk is full), HOOP_E_UNAVAILABLE (the file
 * system says no): trying again may help; HOOP_E_ABORTED (another process has
 * written): it will not.
 */
enum hoop_status
database_apply(struct database *database, const struct changeset *changes);

/* The file that database_apply() of this thread is at; NULL: none. May be asked
 * in a handler of SIGBUS, which a file that is cut short in use causes. */
const char *
database_in_use(void);

/* ---- Repair. The folder's lock is held, and no database of it is open. */

struct pages_visitor;

/* What can be read of the folder's file, see pages_read(). Handle: as there;
 * HOOP_E_NOT_FOUND (there is no file), HOOP_E_DENIED, HOOP_E_UNAVAILABLE. */
enum hoop_status
database_salvage(const char *folder,
                 const struct pages_visitor *visitor,
                 struct commit_record *out_written);

/*
 * A file of these records takes the place of the folder's, which stays beside it
 * under another name; there is one or the other at any time. Handle: as
 * database_apply().
 */
enum hoop_status
database_replace(const char *folder,
                 const struct changeset *records,
                 char out_former[LIMIT_SETTING]);

/* Of its file, for texts. */
const char *
database_path(const struct database *database);

#endif
