/*
 * checkpoint/fetch.h - this rank's parts of some tensors, out of the files
 *
 * File by file, beginning with the one of this rank's own number so that not
 * all ranks ask for the same one at once; every byte is read once.
 */

#ifndef CHECKPOINT_FETCH_H
#define CHECKPOINT_FETCH_H

#include <stddef.h>

#include "hoop/sharding.h"

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"

/* One that is wanted. */
struct fetch_part {
    size_t number; /* of the tensor, in the checkpoint */
    struct hoop_part part;
    void *bytes; /* dense */
};

struct fetch {
    const struct folder *folder;
    const struct manifest *manifest;
    struct fetch_part *parts; /* [n_parts], by rising number */
    size_t n_parts;
    uint32_t first_file; /* any number */
};

/* Handle: HOOP_E_DATA_LOSS (a file is missing, or is not what the index
 * says). */
enum hoop_status
fetch_run(const struct fetch *fetch);

#endif
