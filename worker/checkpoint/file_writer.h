/*
 * checkpoint/file_writer.h - write a new file sequentially
 *
 * The digest is computed while the bytes are in the cache.
 */

#ifndef CHECKPOINT_FILE_WRITER_H
#define CHECKPOINT_FILE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct folder;
struct file_writer;

struct written_file {
    uint64_t n_bytes;
    uint64_t digest;
};

/* Create a file, which must not exist yet. folder and name are borrowed until
 * the writer is destroyed.
 * Handle: HOOP_E_DENIED, HOOP_E_EXHAUSTED. */
enum hoop_status
file_writer_create(const struct folder *folder,
                   const char *name,
                   struct file_writer **out_writer);

/* Append bytes. Handle: HOOP_E_EXHAUSTED (no space left, or the process's limit
 * on file sizes). */
enum hoop_status
file_writer_append(struct file_writer *file_writer,
                   const void *bytes,
                   size_t n_bytes);

/* Append zeros up to a multiple of alignment, which is at most 64. */
enum hoop_status
file_writer_pad(struct file_writer *file_writer, size_t alignment);

/* Sync and close the file. No more bytes may be added. */
enum hoop_status
file_writer_sync_and_close(struct file_writer *file_writer,
                           struct written_file *out_written);

/* Free the writer and keep the file. NULL is fine. */
void
file_writer_destroy(struct file_writer *file_writer);

/* Free the writer and remove the file. NULL is fine. */
void
file_writer_discard(struct file_writer *file_writer);

DEFINE_CLEANUP(struct file_writer *, file_writer_discard)

#endif
