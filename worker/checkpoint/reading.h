/*
 * checkpoint/reading.h - ranges of a file, straight to where they belong
 *
 * Ranges come in rising order. Many small ones that lie near each other are
 * read by one call of the kernel's, which takes a list of places in memory;
 * what lies between them, if it is little, goes to a place of no use.
 */

#ifndef CHECKPOINT_READING_H
#define CHECKPOINT_READING_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "base/cleanup.h"

struct folder;
struct reading;

struct range {
    uint64_t offset; /* not before the end of the one before */
    void *bytes;     /* where to */
    size_t n_bytes;
};

/* A file, which must be as large as file says. folder and file are borrowed.
 * Handle: HOOP_E_DATA_LOSS (it is missing, or has another size),
 * HOOP_E_DENIED, HOOP_E_EXHAUSTED. */
enum hoop_status
reading_create(const struct folder *folder,
               const struct hoop_checkpoint_file *file,
               struct reading **out_reading);

/* Read a range, now or with the next. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
reading_add(struct reading *reading, const struct range *range);

/* What is not read yet. */
enum hoop_status
reading_finish(struct reading *reading);

/* NULL is fine. */
void
reading_destroy(struct reading *reading);

DEFINE_CLEANUP(struct reading *, reading_destroy)

#endif
