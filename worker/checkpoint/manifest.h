/*
 * checkpoint/manifest.h - the contents of a checkpoint's index
 *
 * The index does not say which bytes are where: that follows from how each
 * tensor was sharded over its mesh (checkpoint/piece.h). So the entries of an
 * index cannot overlap or leave a gap, and it stays small with any number of
 * ranks.
 */

#ifndef CHECKPOINT_MANIFEST_H
#define CHECKPOINT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/checkpoint.h"

#include "base/cleanup.h"

struct checkpoint_manifest {
    /* the public view of the fields below */
    struct hoop_checkpoint_contents contents;
    uint64_t token;  /* random: no two saves use the same file names */
    uint64_t digest; /* as read from the index */
    struct hoop_checkpoint_tensor *tensors; /* each name is owned */
    struct hoop_checkpoint_file *files;
    char *names; /* memory for the files' names */
    /* numbers of tensors in order of name, after manifest_check() */
    size_t *tensors_by_name;
};

/* Allocate a zeroed manifest; the names are NULL. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_create(size_t n_tensors,
                uint32_t n_files,
                struct checkpoint_manifest **out_manifest);

/* NULL is fine. */
void
manifest_destroy(struct checkpoint_manifest *manifest);

DEFINE_CLEANUP(struct checkpoint_manifest *, manifest_destroy)

/* Set the name of a tensor to a copy of name. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_set_tensor_name(struct checkpoint_manifest *manifest,
                         size_t number,
                         const char *name);

/* Set which save this is. The names of the files follow from that. */
void
manifest_set_generation(struct checkpoint_manifest *manifest,
                        uint64_t generation,
                        uint64_t token);

/*
 * Check that the tensors can be saved: their names, dtypes and sizes, and that
 * each mesh has as many places as there are files. Also sorts tensors_by_name.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 */
enum hoop_status
manifest_check(struct checkpoint_manifest *manifest);

/* Find a tensor by name in a manifest that has been checked.
 * Handle: HOOP_E_NOT_FOUND (there is no tensor of that name; the text gives the
 * first that there is). */
enum hoop_status
manifest_find_tensor(const struct checkpoint_manifest *manifest,
                     const char *name,
                     size_t *out_number);

/* Compute a hash of everything in the manifest except its digest. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_digest(const struct checkpoint_manifest *manifest,
                uint64_t *out_digest);

/* Check that a manifest has the digest that its index gives. Handle:
 * HOOP_E_DATA_LOSS, HOOP_E_EXHAUSTED. */
enum hoop_status
manifest_verify_digest(const struct checkpoint_manifest *manifest);

/* Whether name is UTF-8, as JSON needs. Returns false also if there is no
 * memory. */
bool
manifest_is_utf8(const char *name);

/* Convert to JSON and back (manifest_json.c). The caller frees *out_text.
 * Handle: HOOP_E_EXHAUSTED; when decoding also HOOP_E_DATA_LOSS (the text says
 * what is wrong) and HOOP_E_UNIMPLEMENTED (another version). */
enum hoop_status
manifest_encode(const struct checkpoint_manifest *manifest,
                char **out_text,
                size_t *out_n_bytes);
enum hoop_status
manifest_decode(const char *text,
                size_t n_bytes,
                struct checkpoint_manifest **out_manifest);

#endif
