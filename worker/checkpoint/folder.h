/*
 * checkpoint/folder.h - the folder of a checkpoint, and what commits one
 *
 * Files of a save are on the disk, under names of their own, before the index
 * that names them is; it is written under such a name, too, and then renamed.
 * So whoever opens index.json finds one whole checkpoint at any moment. One
 * save at a time holds the folder's lock, which ends with its process.
 */

#ifndef CHECKPOINT_FOLDER_H
#define CHECKPOINT_FOLDER_H

#include <stdint.h>

#include "base/cleanup.h"
#include "checkpoint/manifest.h"

struct folder {
    const char *path; /* borrowed, for texts */
    int fd;           /* -1: not open */
    int lock;         /* -1: not held */
};

static const struct folder FOLDER_CLOSED = {.fd = -1, .lock = -1};

/* path is borrowed until it is closed. Handle: HOOP_E_INVALID (NULL),
 * HOOP_E_NOT_FOUND, HOOP_E_DENIED. */
enum hoop_status
folder_open(const char *path, struct folder *out_folder);

/* Lets go of the lock, too. A closed one is fine. */
void
folder_close(struct folder *folder);

/* Raise what errno says of action ("write") on the file of that name; NULL:
 * the folder itself. */
enum hoop_status
folder_raise(const struct folder *folder,
             int error,
             const char *action,
             const char *name);

/* Keep other saves out. Handle: HOOP_E_PRECONDITION (one holds it),
 * HOOP_E_DENIED, HOOP_E_UNAVAILABLE (files cannot be locked there). */
enum hoop_status
folder_lock(struct folder *folder);

/* The text of the index, for free(), and what it says. Handle:
 * HOOP_E_NOT_FOUND (there is none), HOOP_E_DATA_LOSS, HOOP_E_UNIMPLEMENTED. */
enum hoop_status
folder_read(const struct folder *folder, char **out_text, size_t *out_n_bytes);
enum hoop_status
folder_decode(const struct folder *folder,
              const char *text,
              size_t n_bytes,
              struct manifest **out_manifest);
enum hoop_status
folder_load(const struct folder *folder, struct manifest **out_manifest);

/* Whether the files of all places are there, in their size: a rank may see
 * another folder. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
folder_check_files(const struct folder *folder,
                   const struct manifest *manifest);

enum folder_outcome {
    FOLDER_AS_IT_WAS,
    FOLDER_COMMITTED,
    FOLDER_UNCERTAIN, /* the disk failed in between: either of them */
};

/* Put manifest in place as the index, for good. *out_outcome is written
 * always. */
enum hoop_status
folder_commit(const struct folder *folder,
              const struct manifest *manifest,
              enum folder_outcome *out_outcome);

/* Remove what saves have left, but those of kept; NULL: all. What cannot be
 * removed stays, for the next time. */
void
folder_clean(const struct folder *folder, const struct manifest *kept);

#endif
