/*
 * keep/folder_lock.h - who may use a folder of data: one coordinator at a time
 *
 * A lock on a file of the folder, which the kernel takes back when its holder
 * dies, however it dies; there is nothing to be cleaned up. The file says who
 * holds it, for people, and how the last one went, for its successor. Its last
 * line is by chance, another for each holder: where locks do not work (on some
 * network file systems, or because somebody has removed the file), a former
 * holder finds another's line there, and knows that it holds the folder no more.
 */

#ifndef KEEP_FOLDER_LOCK_H
#define KEEP_FOLDER_LOCK_H

#include <stdbool.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct folder_lock;

/* What is promised to outlive what. */
enum storage_durability {
    STORAGE_OUTLIVES_PROCESS, /* the death of hoopd */
    STORAGE_OUTLIVES_MACHINE, /* the death of the machine, too */
};

/*
 * Makes the folder if its parent is there.
 *
 * Handle: HOOP_E_EXISTS (another process holds it; the text names it),
 * HOOP_E_DATA_LOSS (the machine went down under STORAGE_OUTLIVES_PROCESS), HOOP_E_DENIED
 * and HOOP_E_UNAVAILABLE (the file system says no).
 */
enum hoop_status
folder_lock_take(const char *folder,
                 enum storage_durability durability,
                 struct folder_lock **out_folder_lock);

/* Whether somebody holds the folder now. False if that cannot be found out:
 * folder_lock_take() says why. */
bool
folder_lock_is_held(const char *folder);

/*
 * Whether the folder is still ours: the file is opened anew, so that a network
 * file system shows what others have written. Handle: HOOP_E_ABORTED (it is
 * another's, or the file is gone). Thread: any.
 */
enum hoop_status
folder_lock_check(const struct folder_lock *folder_lock);

/* What was written is on the disk: a successor need not ask what became of
 * the machine. */
void
folder_lock_mark_synced(struct folder_lock *folder_lock);

/* NULL is fine. */
void
folder_lock_release(struct folder_lock *folder_lock);

DEFINE_CLEANUP(struct folder_lock *, folder_lock_release)

#endif
