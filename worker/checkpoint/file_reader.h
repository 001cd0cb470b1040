/*
 * checkpoint/file_reader.h - ranges of a file, straight to where they belong
 *
 * Ranges come in rising order. Many small ones that lie near each other are
 * read by one call of the kernel's, which takes a list of places in memory;
 * what lies between them, if it is little, goes to a place of no use.
 */

#ifndef CHECKPOINT_FILE_READER_H
#define CHECKPOINT_FILE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "base/cleanup.h"

struct folder;
struct file_reader;

struct range {
    uint64_t offset; /* not before the end of the one before */
    void *bytes;     /* where to */
    size_t n_bytes;
};

/* A file, which must be as large as file says. folder and file are borrowed.
 * Handle: HOOP_E_DATA_LOSS (it is missing, or has another size),
 * HOOP_E_DENIED, HOOP_E_EXHAUSTED. */
enum hoop_status
file_reader_create(const struct folder *folder,
                   const struct hoop_checkpoint_file *file,
                   struct file_reader **out_reader);

/* Read a range, now or with the next. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
file_reader_add(struct file_reader *file_reader, const struct range *range);

/* What is not read yet. */
enum hoop_status
file_reader_finish(struct file_reader *file_reader);

/* NULL is fine. */
void
file_reader_destroy(struct file_reader *file_reader);

DEFINE_CLEANUP(struct file_reader *, file_reader_destroy)

#endif
