/*
 * checkpoint/writing.h - a new file, written from its beginning to its end
 *
 * And its digest, taken while the bytes are in the cache.
 */

#ifndef CHECKPOINT_WRITING_H
#define CHECKPOINT_WRITING_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct folder;
struct writing;

struct written {
    uint64_t n_bytes;
    uint64_t digest;
};

/* A file that is not there yet. folder and name are borrowed. Handle:
 * HOOP_E_DENIED, HOOP_E_EXHAUSTED. */
enum hoop_status
writing_create(const struct folder *folder,
               const char *name,
               struct writing **out_writing);

/* The next bytes. Handle: HOOP_E_EXHAUSTED (no space, or a limit on the size of
 * files). */
enum hoop_status
writing_add(struct writing *writing, const void *bytes, size_t n_bytes);

/* Zeros up to a multiple of alignment, which is small. */
enum hoop_status
writing_align(struct writing *writing, size_t alignment);

/* All is on the disk; nothing may be added. */
enum hoop_status
writing_finish(struct writing *writing, struct written *out_written);

/* The file stays. NULL is fine. */
void
writing_destroy(struct writing *writing);

/* The file goes. NULL is fine. */
void
writing_abandon(struct writing *writing);

DEFINE_CLEANUP(struct writing *, writing_abandon)

#endif
