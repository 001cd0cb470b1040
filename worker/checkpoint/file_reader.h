/*
 * checkpoint/file_reader.h - read ranges of a file directly into their places
 *
 * Ranges come in ascending order. Many small ranges that are close to each
 * other are read by one preadv(); small gaps between them are read into a
 * scratch buffer.
 */

#ifndef CHECKPOINT_FILE_READER_H
#define CHECKPOINT_FILE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "base/cleanup.h"

struct folder;
struct file_reader;

struct file_range {
    uint64_t offset; /* not before the end of the range before */
    void *bytes;     /* where to store the range */
    size_t n_bytes;
};

/* Open a file, which must have the size that file gives. folder and file are
 * borrowed until file_reader_destroy().
 * Handle: HOOP_E_DATA_LOSS (it is missing, or has another size), HOOP_E_DENIED,
 * HOOP_E_EXHAUSTED. */
enum hoop_status
file_reader_create(const struct folder *folder,
                   const struct hoop_checkpoint_file *file,
                   struct file_reader **out_reader);

/* Read a range, now or together with later ones. Its bytes are valid after
 * file_reader_read_pending(). Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
file_reader_add_range(struct file_reader *file_reader,
                      const struct file_range *range);

/* Read the ranges that have not been read yet. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
file_reader_read_pending(struct file_reader *file_reader);

/* NULL is fine. */
void
file_reader_destroy(struct file_reader *file_reader);

DEFINE_CLEANUP(struct file_reader *, file_reader_destroy)

#endif
