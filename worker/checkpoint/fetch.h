/*
 * checkpoint/fetch.h - read this rank's parts of tensors from the files
 *
 * Files are read one after the other, beginning with the file of this rank's
 * own number, so that not all ranks read the same file at once. Every byte is
 * read once.
 */

#ifndef CHECKPOINT_FETCH_H
#define CHECKPOINT_FETCH_H

#include <stddef.h>

#include "hoop/sharding.h"

#include "checkpoint/folder.h"
#include "checkpoint/manifest.h"

/* A part of a tensor that this rank wants. */
struct fetch_part {
    size_t number; /* of the tensor, in the checkpoint */
    struct hoop_part part;
    void *bytes; /* where to store the part, dense */
};

struct checkpoint_fetch {
    const struct folder *folder;
    const struct checkpoint_manifest *manifest;
    struct fetch_part *parts; /* [n_parts], in ascending order of number */
    size_t n_parts;
    uint32_t first_file; /* any number; taken modulo the number of files */
};

/* Read all parts.
 * Handle: HOOP_E_DATA_LOSS (a file is missing, or is not what the index
 * says). */
enum hoop_status
fetch_parts_from_files(const struct checkpoint_fetch *fetch);

#endif
