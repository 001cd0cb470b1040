/* reshard/folder.h - where the checkpoint goes */

#ifndef RESHARD_FOLDER_H
#define RESHARD_FOLDER_H

#include <stdbool.h>

#include "hoop/hoop.h"

enum {
    FOLDER_PATH_BYTES = 4096,
};

struct folder {
    char path[FOLDER_PATH_BYTES]; /* empty: there is none */
    bool is_temporary;
};

/*
 * Makes it: path, unless it is there, or where that is NULL one of a new name
 * in $TMPDIR. Rank 0 does and says on stderr what is wrong; all ranks of world
 * call it. Handle: HOOP_E_UNAVAILABLE.
 */
HOOP_NODISCARD enum hoop_status
folder_open(const char *path, hoop_comm_t *world, struct folder *out_folder);

/* Removes a temporary folder with all that is in it; one rank calls it. One
 * that was not opened is fine. */
void
folder_remove(const struct folder *folder);

#endif
