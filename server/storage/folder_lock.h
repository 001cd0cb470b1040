/*
 * storage/folder_lock.h - lock a data folder for one coordinator at a time
 *
 * The lock is on a file in the folder. The kernel releases it when the holder
 * dies, so nothing has to be cleaned up. The file says who holds the lock, for
 * people, and how the last holder ended, for its successor. Its last line is
 * random and different for each holder. Where locks do not work (on some
 * network file systems, or because the file was removed), a former holder finds
 * another's line there and knows that the folder is no longer its own.
 */

#ifndef STORAGE_FOLDER_LOCK_H
#define STORAGE_FOLDER_LOCK_H

#include <stdbool.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct folder_lock;

/* Which failure committed data survives. */
enum storage_durability {
    STORAGE_SURVIVES_PROCESS_CRASH, /* the death of hoopd */
    STORAGE_SURVIVES_MACHINE_CRASH, /* also the death of the machine */
};

/*
 * Lock the folder. Creates it if its parent exists. Handle: HOOP_E_EXISTS
 * (another process holds it; the text names it), HOOP_E_DATA_LOSS (the machine
 * went down under STORAGE_SURVIVES_PROCESS_CRASH), HOOP_E_DENIED and
 * HOOP_E_UNAVAILABLE (the file system refuses).
 */
enum hoop_status
folder_lock_take(const char *folder,
                 enum storage_durability durability,
                 struct folder_lock **out_folder_lock);

/* Return whether a process holds the folder now; false if that cannot be
 * determined. folder_lock_take() would say why. */
bool
folder_lock_is_held(const char *folder);

/*
 * Check that the folder is still ours. The file is opened again, so that a
 * network file system shows what others have written. Handle: HOOP_E_ABORTED
 * (another process has it, or the file is gone). Thread: any.
 */
enum hoop_status
folder_lock_check_still_ours(const struct folder_lock *folder_lock);

/* Record that all data is on disk, so that a successor need not ask whether the
 * machine went down. */
void
folder_lock_mark_synced(struct folder_lock *folder_lock);

/* NULL is allowed. */
void
folder_lock_release(struct folder_lock *folder_lock);

DEFINE_CLEANUP(struct folder_lock *, folder_lock_release)

#endif
