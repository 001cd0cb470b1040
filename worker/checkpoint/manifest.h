/*
 * checkpoint/manifest.h - what a checkpoint's index says
 *
 * Which bytes lie where is not in it: that follows from how each tensor lay
 * over its mesh (checkpoint/piece.h). So nothing in an index can overlap, or
 * leave something out, and it stays small with any number of ranks.
 */

#ifndef CHECKPOINT_MANIFEST_H
#define CHECKPOINT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "base/cleanup.h"

struct manifest {
    struct hoop_checkpoint_contents contents; /* what users see of the rest */
    uint64_t token;  /* by chance: no two saves' files have the same names */
    uint64_t digest; /* as read */
    struct hoop_checkpoint_tensor *tensors; /* their names are owned */
    struct hoop_checkpoint_file *files;
    char *names;     /* of the files */
    size_t *by_name; /* numbers of tensors, once they have been checked */
};

/* Room for so many, all zero; the names are NULL. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_create(size_t n_tensors,
                uint32_t n_files,
                struct manifest **out_manifest);

/* NULL is fine. */
void
manifest_destroy(struct manifest *manifest);

DEFINE_CLEANUP(struct manifest *, manifest_destroy)

/* A copy of name for the tensor of that number. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_set_name(struct manifest *manifest, size_t number, const char *name);

/* Which save it is: names the files. */
void
manifest_set_save(struct manifest *manifest,
                  uint64_t generation,
                  uint64_t token);

/*
 * Whether the tensors can be saved, or have been: names, dtypes, sizes, and
 * that all meshes have as many places as there are files.
 * Handle: HOOP_E_INVALID.
 */
enum hoop_status
manifest_check(struct manifest *manifest);

/* In one that is checked. Handle: HOOP_E_NOT_FOUND (there is no tensor of that name; the text names
 * some that there are). */
enum hoop_status
manifest_find(const struct manifest *manifest,
              const char *name,
              size_t *out_number);

/* A hash of all it says. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_digest(const struct manifest *manifest, uint64_t *out_digest);

/* Whether one that was read is what was written. Handle: HOOP_E_DATA_LOSS,
 * HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_verify_digest(const struct manifest *manifest);

/* Whether a name can stand in JSON: it is UTF-8. No memory: it is not. */
bool
manifest_is_text(const char *name);

/* As JSON, and back (manifest_json.c). *out_text is the caller's, for free().
 * Handle: HOOP_E_EXHAUSTED, and for what comes from outside HOOP_E_DATA_LOSS
 * (the text says what is wrong), HOOP_E_UNIMPLEMENTED (another version). */
enum hoop_status
manifest_encode(const struct manifest *manifest,
                char **out_text,
                size_t *out_n_bytes);
enum hoop_status
manifest_decode(const char *text,
                size_t n_bytes,
                struct manifest **out_manifest);

#endif
