/*
 * storage/database.h - records in one file, with atomic changes
 *
 * Implemented with LMDB, which only this file and storage/pages.h know. Records
 * are ordered by the bytes of their keys. Each value carries a checksum of
 * itself and its key, and each commit stores how many records there are
 * (storage/changeset.h). A file is verified in a separate process before this
 * one uses it. The caller must hold the folder's lock: LMDB's own locks, which
 * do not work on every file system, are switched off.
 *
 * Thread: calls must not overlap.
 */

#ifndef STORAGE_DATABASE_H
#define STORAGE_DATABASE_H

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "storage/changeset.h"
#include "storage/folder_lock.h"

struct database;

/* Called for each record; key and value are borrowed for the call. A failure
 * ends the reading. */
typedef enum hoop_status
database_visit_fn(void *owner,
                  struct storage_span key,
                  struct storage_span value);

/*
 * Open the folder's database; create it if there is none.
 * Handle: HOOP_E_DATA_LOSS (not a database, or damaged: the text says where and
 * what can be done), HOOP_E_PRECONDITION (written by another version of LMDB or
 * hoopd), HOOP_E_DENIED, HOOP_E_UNAVAILABLE.
 */
enum hoop_status
database_open(const char *folder,
              enum storage_durability durability,
              struct database **out_database);

/* Write to disk what STORAGE_SURVIVES_PROCESS_CRASH left to the kernel. Handle:
 * HOOP_E_UNAVAILABLE. */
enum hoop_status
database_sync(struct database *database);

/* NULL is allowed. */
void
database_close(struct database *database);

DEFINE_CLEANUP(struct database *, database_close)

/* Call fn for each record in the order of the keys.
 * Handle: HOOP_E_DATA_LOSS; what fn returns. */
enum hoop_status
database_visit_records(struct database *database,
                       database_visit_fn *fn,
                       void *owner);

/*
 * Apply all of the changes or none; they are durable when this returns. If LMDB
 * has given up after an earlier failure, the file is opened again. Commits are
 * numbered consecutively: if another process has written to the file, nothing
 * is written, or what was written does not count.
 * Handle: HOOP_E_EXHAUSTED (the disk is full) and HOOP_E_UNAVAILABLE (the file
 * system refuses): trying again may help; HOOP_E_ABORTED (another process has
 * written): it will not.
 */
enum hoop_status
database_apply_changes(struct database *database,
                       const struct changeset *changes);

/* Return the path of the file that database_apply_changes() is using on this
 * thread, or NULL. May be called in a handler of SIGBUS, which is raised
 * when a file in use is truncated. */
const char *
database_path_used_by_thread(void);

/* ---- Repair. The caller holds the folder's lock and has not opened its
 * database. */

struct pages_visitor;

/* Visit what can be read of the folder's file, see pages_visit_records().
 * Handle: as there; HOOP_E_NOT_FOUND (there is no file), HOOP_E_DENIED,
 * HOOP_E_UNAVAILABLE. */
enum hoop_status
database_salvage(const char *folder,
                 const struct pages_visitor *visitor,
                 struct commit_record *out_written);

/*
 * Replace the folder's file by one with these records. The old file stays
 * beside it under the name in out_former; at any time one of the two has the
 * original name. Handle: as database_apply_changes().
 */
enum hoop_status
database_replace_file(const char *folder,
                      const struct changeset *records,
                      char out_former[LIMIT_SETTING]);

/* Return the path of the file, for messages. */
const char *
database_path(const struct database *database);

#endif
