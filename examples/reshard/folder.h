/* reshard/folder.h - the folder of the checkpoint */

#ifndef RESHARD_FOLDER_H
#define RESHARD_FOLDER_H

#include <stdbool.h>

#include "hoop/hoop.h"

enum {
    FOLDER_PATH_BYTES = 4096,
};

struct folder {
    char path[FOLDER_PATH_BYTES]; /* empty if there is no folder */
    bool is_temporary;
};

/*
 * Creates the folder path if it does not exist; if path is NULL, creates one
 * with a new name in $TMPDIR. All ranks of world call it. Rank 0 does the work
 * and prints errors to stderr. Handle: HOOP_E_UNAVAILABLE.
 */
HOOP_NODISCARD enum hoop_status
folder_open(const char *path, hoop_comm_t *world, struct folder *out_folder);

/* Removes a temporary folder and all that is in it. One rank calls it; the
 * folder need not have been opened. */
void
folder_remove(const struct folder *folder);

#endif
