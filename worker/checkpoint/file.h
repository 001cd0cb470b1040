/*
 * checkpoint/file.h - name, write and read the files of a checkpoint
 *
 * A reader reads ranges of a file directly into their places. Ranges come in
 * ascending order. Many small ranges that are close to each other are read by
 * one preadv(); small gaps between them are read into a scratch buffer.
 */

#ifndef CHECKPOINT_FILE_H
#define CHECKPOINT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"
#include "hoop/status.h"

#include "base/cleanup.h"

struct folder;
struct file_reader;

struct file_range {
    uint64_t offset; /* not before the end of the range before */
    void *bytes;     /* where to store the range */
    size_t n_bytes;
};

/* Raise the failure of action ("write") on the file name, with the text of
 * error, an errno. name NULL means the folder itself. */
enum hoop_status
file_raise_errno(const struct folder *folder,
                 int error,
                 const char *action,
                 const char *name);

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

/*
 * The names of a checkpoint's files:
 *
 *   hoop-12-0123456789abcdef-3.part   of place 3, in the 12th save
 *   hoop-12-0123456789abcdef.index    is renamed to index.json
 *
 * The 16 digits are random, so that two saves never use the same names. A
 * file with any other name is not hoop's and is never removed.
 */

enum {
    FILE_NAME_BUFFER_BYTES = 64
};

enum file_name_kind {
    FILE_NAME_PART,
    FILE_NAME_INDEX,
};

struct file_name {
    enum file_name_kind kind;
    uint64_t generation;
    uint64_t token;
    uint32_t place; /* of a part only */
};

void
file_name_format(const struct file_name *name,
                 char out_text[FILE_NAME_BUFFER_BYTES]);

/* Returns false unless text is exactly a name that file_name_format()
 * writes. */
bool
file_name_parse(const char *text, struct file_name *out_name);

/*
 * A writer writes a new file sequentially. The digest is computed while the
 * bytes are in the cache.
 */

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
