/*
 * checkpoint/file_writer.h - a new file, written from its beginning to its end
 *
 * And its digest, taken while the bytes are in the cache.
 */

#ifndef CHECKPOINT_FILE_WRITER_H
#define CHECKPOINT_FILE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct folder;
struct file_writer;

struct written {
    uint64_t n_bytes;
    uint64_t digest;
};

/* A file that is not there yet. folder and name are borrowed. Handle:
 * HOOP_E_DENIED, HOOP_E_EXHAUSTED. */
enum hoop_status
file_writer_create(const struct folder *folder,
                   const char *name,
                   struct file_writer **out_writer);

/* The next bytes. Handle: HOOP_E_EXHAUSTED (no space, or a limit on the size of
 * files). */
enum hoop_status
file_writer_add(struct file_writer *file_writer,
                const void *bytes,
                size_t n_bytes);

/* Zeros up to a multiple of alignment, which is small. */
enum hoop_status
file_writer_align(struct file_writer *file_writer, size_t alignment);

/* All is on the disk; nothing may be added. */
enum hoop_status
file_writer_finish(struct file_writer *file_writer,
                   struct written *out_written);

/* The file stays. NULL is fine. */
void
file_writer_destroy(struct file_writer *file_writer);

/* The file goes. NULL is fine. */
void
file_writer_abandon(struct file_writer *file_writer);

DEFINE_CLEANUP(struct file_writer *, file_writer_abandon)

#endif
