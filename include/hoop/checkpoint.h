/* hoop/checkpoint.h - distributed tensors in a folder
 *
 * Saved on one mesh, loaded on any other: another number of ranks, another
 * sharding. Every rank writes one file with its share of what it has, and the
 * mesh's first rank the index, index.json. The folder is one that all ranks
 * see: of the host, or a network's.
 *
 * The index is put in place last, when all files are on the disk: a save that
 * is interrupted before, on any rank and at any moment, leaves the checkpoint
 * that was there. Files of the one before go after that, and what an
 * interrupted save has left goes with the next. docs/checkpoint.md has the
 * format.
 *
 * Saving and loading are collective over the mesh, on the communicator of all
 * its axes, whose deadline is how long the ranks wait for the slowest disk
 * among them. All get one outcome: what fails on one rank fails on all, with
 * that rank in the text. In a process outside the mesh the calls are local:
 * they do nothing, and what is loaded has no part.
 *
 * What torch.distributed.checkpoint is for: save(), load().
 */

#ifndef HOOP_CHECKPOINT_H
#define HOOP_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/dtensor.h"
#include "hoop/dtype.h"
#include "hoop/sharding.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

struct hoop_named_dtensor {
    const char *name; /* UTF-8, up to 1023 bytes, each name once */
    hoop_dtensor_t *dtensor;
};

/*
 * Save tensors as the folder's checkpoint, in place of the one that is there.
 * Of ranks that have the same part, each writes a share of it; their bytes are
 * compared before, by hashes (XXH3), and must be the same. The folder must be
 * there; in it, only files that hoop has made are removed.
 *
 * All tensors have one mesh, or meshes of the same ranks in the same order.
 * tensors, and what it points to, is borrowed for the call. On HOOP_OK the
 * checkpoint is on the disk. On failure the one before is still there, unless
 * the text says that the new one may be.
 *
 * Handle: HOOP_E_INVALID (no tensors, a name that is missing, too long or there
 * twice, partial sums, meshes that differ), HOOP_E_NOT_FOUND (the folder),
 * HOOP_E_DENIED, HOOP_E_EXHAUSTED (no space), HOOP_E_PRECONDITION (another save
 * into the folder runs; ranks that have the same part have different bytes: the
 * text names the tensor and both), HOOP_E_DATA_LOSS (there is an index.json that hoop
 * cannot read), HOOP_E_UNIMPLEMENTED (or one of another version; these two also
 * from all that read it), HOOP_E_MISMATCH (ranks save different tensors), and
 * as a collective. Thread (these three): as a collective on the communicator of
 * all axes.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_checkpoint_save(const char *folder,
                     const struct hoop_named_dtensor *tensors,
                     size_t n_tensors);

/*
 * The tensor of that name, laid out as spec says. Each rank reads its part from
 * the files that have it, straight to where it belongs; nothing of it is sent.
 *
 * spec is borrowed as by hoop_dtensor_create(). *out_dtensor is the caller's,
 * who gives it to hoop_dtensor_free().
 *
 * Handle: HOOP_E_INVALID (NULL, partial sums, what hoop_sharding_check()
 * refuses), HOOP_E_NOT_FOUND (the folder, a checkpoint in it, a tensor of that
 * name), HOOP_E_DATA_LOSS (a file that is damaged, cut or missing),
 * HOOP_E_DENIED, HOOP_E_EXHAUSTED, HOOP_E_MISMATCH (ranks load different
 * tensors), and as a collective.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_checkpoint_load(const char *folder,
                     const char *name,
                     const struct hoop_tensor_spec *spec,
                     hoop_dtensor_t **out_dtensor);

/*
 * hoop_checkpoint_load() of many at once, into tensors that are there: each
 * keeps its layout, and its dtype and shape must be the checkpoint's. They may
 * be some of those that were saved. What a call that failed has written is
 * unspecified.
 *
 * Handle: also HOOP_E_INVALID (dtype or shape are not the checkpoint's, a name
 * that is there twice).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_checkpoint_restore(const char *folder,
                        const struct hoop_named_dtensor *tensors,
                        size_t n_tensors);

/* A tensor as it was saved. */
struct hoop_checkpoint_tensor {
    const char *name;
    enum hoop_dtype dtype;
    struct hoop_shape shape;
    struct hoop_mesh_shape mesh;
    struct hoop_sharding sharding;
};

/* The file of one place of the mesh. */
struct hoop_checkpoint_file {
    const char *name;
    uint64_t n_bytes;
    uint64_t digest; /* XXH3, of 64 bits */
};

struct hoop_checkpoint_contents {
    uint64_t generation; /* of how many saves into the folder it is the last */
    size_t n_tensors;
    const struct hoop_checkpoint_tensor *tensors; /* in the order of the save */
    uint32_t n_files;
    const struct hoop_checkpoint_file *files; /* by place */
};

/*
 * What the folder's checkpoint holds; only the index is read. Local.
 *
 * *out_contents is the caller's, who gives it to
 * hoop_checkpoint_contents_free(). Handle: HOOP_E_NOT_FOUND (the folder, a
 * checkpoint in it), HOOP_E_DATA_LOSS, HOOP_E_DENIED, HOOP_E_EXHAUSTED.
 * Thread (these three): any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_checkpoint_list(const char *folder,
                     struct hoop_checkpoint_contents **out_contents);

/* NULL is fine. */
HOOP_API void
hoop_checkpoint_contents_free(struct hoop_checkpoint_contents *contents);

/*
 * Read all files and compare them with their digests. Local. Handle: as
 * hoop_checkpoint_list(); HOOP_E_DATA_LOSS (the text says which file).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_checkpoint_verify(const char *folder);

HOOP_END

#endif
