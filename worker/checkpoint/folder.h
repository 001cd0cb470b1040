/*
 * checkpoint/folder.h - the folder of a checkpoint, and how a save is committed
 *
 * The files of a save are synced to disk under unique names before the index
 * that names them. The index is also written under a unique name and then
 * renamed to index.json. So index.json always names one complete checkpoint.
 * Only one save at a time holds the folder's lock, which is released when its
 * process ends.
 */

#ifndef CHECKPOINT_FOLDER_H
#define CHECKPOINT_FOLDER_H

#include <stdint.h>

#include "base/cleanup.h"
#include "checkpoint/manifest.h"

struct folder {
    const char *path; /* borrowed, for error texts */
    int fd;           /* -1: not open */
    int lock;         /* -1: not locked */
};

static const struct folder FOLDER_CLOSED = {.fd = -1, .lock = -1};

/* Open a folder. path is borrowed until folder_close().
 * Handle: HOOP_E_INVALID (NULL), HOOP_E_NOT_FOUND, HOOP_E_DENIED. */
enum hoop_status
folder_open(const char *path, struct folder *out_folder);

/* Close the folder and release its lock. A closed folder is fine. */
void
folder_close(struct folder *folder);

/* Lock the folder against other saves. Does not wait.
 * Handle: HOOP_E_PRECONDITION (another save holds the lock), HOOP_E_DENIED,
 * HOOP_E_UNAVAILABLE (the file system has no locks). */
enum hoop_status
folder_lock(struct folder *folder);

/* Read the text of the index, which the caller frees; decode and check a text;
 * and both.
 * Handle: HOOP_E_NOT_FOUND (there is no index), HOOP_E_DATA_LOSS,
 * HOOP_E_UNIMPLEMENTED. */
enum hoop_status
folder_read_index(const struct folder *folder,
                  char **out_text,
                  size_t *out_n_bytes);
enum hoop_status
folder_decode_index(const struct folder *folder,
                    const char *text,
                    size_t n_bytes,
                    struct checkpoint_manifest **out_manifest);
enum hoop_status
folder_load_manifest(const struct folder *folder,
                     struct checkpoint_manifest **out_manifest);

/* Check that the files of all places exist with the right sizes: a rank may
 * have written to a different folder of the same path. Handle:
 * HOOP_E_DATA_LOSS. */
enum hoop_status
folder_check_files(const struct folder *folder,
                   const struct checkpoint_manifest *manifest);

enum folder_commit_outcome {
    FOLDER_COMMIT_UNCHANGED,
    FOLDER_COMMIT_DONE,
    FOLDER_COMMIT_UNCERTAIN, /* the final sync failed: either of the two */
};

/* Make manifest the folder's index, durably. Always writes *out_outcome. */
enum hoop_status
folder_commit(const struct folder *folder,
              const struct checkpoint_manifest *manifest,
              enum folder_commit_outcome *out_outcome);

/* Remove all files of saves except those that kept names; kept NULL means
 * remove all. Files that cannot be removed stay until the next save. */
void
folder_remove_old_files(const struct folder *folder,
                        const struct checkpoint_manifest *kept);

#endif
