/*
 * checkpoint/checkpoint_load.c - load tensors on all ranks or on none,
 * or verify a checkpoint
 *
 * The first rank reads the index and broadcasts it, so that all ranks load the
 * same checkpoint. A save may replace the checkpoint meanwhile and remove its
 * files. So if a load fails and the index has changed, the load starts again.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/checkpoint.h"
#include "hoop/object.h"

#include "api/internal_collective.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/limits.h"
#include "checkpoint/fetch.h"
#include "checkpoint/file.h"
#include "checkpoint/folder.h"
#include "checkpoint/piece.h"
#include "checkpoint/request.h"
#include "dtype/dtype.h"
#include "mesh/dtensor.h"
#include "tensor/layout.h"

enum {
    LOAD_ATTEMPTS_MAX = 100, /* each failed because a save was faster */
    /* Indices of the numbers in an agreement. */
    AGREE_NUMBER_REQUEST_DIGEST = 0,
    AGREE_NUMBER_IS_REPLACED = 0,
};

struct checkpoint_load {
    const char *path;
    struct folder folder;
    struct agree_status *agree_status;
    struct checkpoint_manifest *manifest; /* of the checkpoint */
    uint64_t digest;                      /* of what the caller asks for */
    const struct hoop_named_dtensor *tensors;
    size_t n_tensors;
    /* How to create the only tensor, once its shape is known; NULL: the tensors
     * exist. */
    const struct hoop_tensor_spec *spec;
    hoop_dtensor_t *made;
};

static bool
load_is_first_rank(const struct checkpoint_load *load)
{
    return hoop_comm_rank(load->agree_status->comm) == 0;
}

/* Broadcast the index that the first rank has read; the caller frees *out_text.
 * mine is this rank's status so far. */
static enum hoop_status
index_read_and_broadcast(struct checkpoint_load *load,
                         enum hoop_status mine,
                         char **out_text,
                         size_t *out_n_bytes)
{
    const uint64_t said[AGREE_STATUS_N_VALUES] = {load->digest};
    CLEANUP(free) char *text = NULL;
    void *received = NULL;
    size_t n_bytes = 0;

    if (mine == HOOP_OK && load_is_first_rank(load))
        mine = folder_read_index(&load->folder, &text, &n_bytes);
    enum hoop_status status =
        agree_status_exchange(load->agree_status, mine, said);
    if (status == HOOP_OK)
        status = agree_status_check_equal(load->agree_status,
                                          AGREE_NUMBER_REQUEST_DIGEST, "loads");
    if (status == HOOP_OK)
        status = hoop_broadcast_object(text, n_bytes, &received, &n_bytes, 0,
                                       load->agree_status->comm);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_text = text ? STEAL(text) : received;
    *out_n_bytes = n_bytes;
    return HOOP_OK;
}

static enum hoop_status
load_create_tensor(struct checkpoint_load *load,
                   const struct hoop_checkpoint_tensor *saved)
{
    enum hoop_status status =
        dtensor_spec_check(saved->dtype, &saved->shape, load->spec);

    if (status == HOOP_OK)
        status = dtensor_create_allocated(saved->dtype, &saved->shape,
                                          load->spec, &load->made);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Find a tensor in the checkpoint, and create it or compare its dtype and
 * shape. */
static enum hoop_status
load_match_tensor(struct checkpoint_load *load, size_t at, size_t *out_number)
{
    const struct hoop_named_dtensor *tensor = &load->tensors[at];
    hoop_dtensor_t *dtensor = tensor->dtensor;
    size_t number;

    enum hoop_status status =
        manifest_find_tensor(load->manifest, tensor->name, &number);
    if (status != HOOP_OK)
        return error_raise(status, "%s: %s", load->path, error_text());
    const struct hoop_checkpoint_tensor *saved =
        &load->manifest->tensors[number];
    if (load->spec) {
        status = load_create_tensor(load, saved);
        dtensor = load->made;
    }
    if (status != HOOP_OK)
        return error_raise(status, "tensor \"%s\": %s", tensor->name,
                           error_text());
    const struct hoop_shape *shape = hoop_dtensor_shape(dtensor);
    const enum hoop_dtype dtype = hoop_dtensor_dtype(dtensor);
    if (dtype != saved->dtype || !shape_equal(shape, &saved->shape))
        return error_raise(HOOP_E_INVALID,
                           "tensor \"%s\" is %s %s in the checkpoint, not %s "
                           "%s",
                           tensor->name, dtype_name(saved->dtype),
                           shape_text(&saved->shape).text, dtype_name(dtype),
                           shape_text(shape).text);
    *out_number = number;
    return HOOP_OK;
}

static int
compare_parts_by_tensor(const void *left, const void *right)
{
    const size_t a = ((const struct fetch_part *)left)->number;
    const size_t b = ((const struct fetch_part *)right)->number;

    return (a > b) - (a < b);
}

/* Determine all parts that this rank wants, in order of number. */
static enum hoop_status
load_match_parts(struct checkpoint_load *load, struct fetch_part *parts)
{
    for (size_t i = 0; i < load->n_tensors; i++) {
        enum hoop_status status = load_match_tensor(load, i, &parts[i].number);

        if (status != HOOP_OK)
            return error_pass(status);
        const hoop_dtensor_t *dtensor =
            load->spec ? load->made : load->tensors[i].dtensor;
        const struct hoop_tensor_spec *spec = hoop_dtensor_spec(dtensor);
        status = hoop_sharding_part_here(&spec->sharding, spec->mesh,
                                         hoop_dtensor_shape(dtensor),
                                         &parts[i].part);
        if (status != HOOP_OK)
            return error_pass(status);
        parts[i].bytes = hoop_dtensor_local(dtensor)->data;
    }
    qsort(parts, load->n_tensors, sizeof(*parts), compare_parts_by_tensor);
    return HOOP_OK;
}

static enum hoop_status
load_fetch_parts(struct checkpoint_load *load, struct fetch_part *parts)
{
    const struct checkpoint_fetch fetch = {
        .folder = &load->folder,
        .manifest = load->manifest,
        .parts = parts,
        .n_parts = load->n_tensors,
        .first_file = hoop_comm_rank(load->agree_status->comm),
    };
    const enum hoop_status status = agree_status_exchange(
        load->agree_status, fetch_parts_from_files(&fetch), NULL);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Load once. mine is the status of checking the caller's arguments. */
static enum hoop_status
checkpoint_load_once(struct checkpoint_load *load, enum hoop_status mine)
{
    CLEANUP(free)
    struct fetch_part *parts = calloc(load->n_tensors, sizeof(*parts));
    CLEANUP(free) char *text = NULL;
    size_t n_bytes = 0;

    if (mine == HOOP_OK && !parts)
        mine = error_raise(HOOP_E_EXHAUSTED, "no memory for %zu parts",
                           load->n_tensors);
    if (mine == HOOP_OK)
        mine = folder_open(load->path, &load->folder);
    enum hoop_status status =
        index_read_and_broadcast(load, mine, &text, &n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    mine = folder_decode_index(&load->folder, text, n_bytes, &load->manifest);
    if (mine == HOOP_OK)
        mine = load_match_parts(load, parts);
    status = agree_status_exchange(load->agree_status, mine, NULL);
    if (status == HOOP_OK)
        status = load_fetch_parts(load, parts);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* After a failure that all ranks know of: has the checkpoint been replaced? */
static bool
checkpoint_was_replaced(struct checkpoint_load *load, enum hoop_status failure)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *now = NULL;
    uint64_t said[AGREE_STATUS_N_VALUES] = {0};

    if (!load->manifest || !load->agree_status->is_agreed ||
        (failure != HOOP_E_DATA_LOSS && failure != HOOP_E_UNAVAILABLE))
        return false;
    if (load_is_first_rank(load) &&
        folder_load_manifest(&load->folder, &now) == HOOP_OK)
        said[AGREE_NUMBER_IS_REPLACED] = now->token != load->manifest->token;
    if (agree_status_exchange(load->agree_status, HOOP_OK, said) != HOOP_OK)
        return false;
    return load->agree_status->reports[0].numbers[AGREE_NUMBER_IS_REPLACED] !=
           0;
}

/* Undo the attempt. */
static void
checkpoint_load_reset(struct checkpoint_load *load)
{
    folder_close(&load->folder);
    manifest_destroy(STEAL(load->manifest));
    hoop_dtensor_free(STEAL(load->made));
}

/* Load until it succeeds or fails for good. On failure the created tensor is
 * freed. */
static enum hoop_status
checkpoint_load_with_retries(struct checkpoint_load *load,
                             enum hoop_status mine)
{
    enum hoop_status status = checkpoint_load_once(load, mine);

    for (int i = 1; i < LOAD_ATTEMPTS_MAX && status != HOOP_OK; i++) {
        char text[LIMIT_ERROR_TEXT];

        snprintf(text, sizeof(text), "%s", error_text());
        if (!checkpoint_was_replaced(load, status)) {
            checkpoint_load_reset(load);
            return error_raise(status, "%s", text);
        }
        checkpoint_load_reset(load);
        status = checkpoint_load_once(load, mine);
    }
    if (status == HOOP_OK) {
        folder_close(&load->folder);
        manifest_destroy(STEAL(load->manifest));
        return HOOP_OK;
    }
    checkpoint_load_reset(load);
    return error_pass(status);
}

/* In a process that is not in the mesh, create the tensor without a part. */
static enum hoop_status
load_create_nonmember_tensor(struct checkpoint_load *load,
                             enum hoop_status status)
{
    size_t number;

    if (status == HOOP_OK)
        status = folder_open(load->path, &load->folder);
    if (status == HOOP_OK)
        status = folder_load_manifest(&load->folder, &load->manifest);
    if (status == HOOP_OK)
        status = load_match_tensor(load, 0, &number);
    folder_close(&load->folder);
    manifest_destroy(STEAL(load->manifest));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Hash what is asked for. The shape is not known, so the sharding of all
 * HOOP_MAX_DIMS dimensions is included. */
static enum hoop_status
load_request_digest(const char *name,
                    const struct hoop_tensor_spec *spec,
                    uint64_t *out_digest)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;
    enum hoop_status status = manifest_create(1, 0, &manifest);

    if (status == HOOP_OK)
        status = manifest_set_tensor_name(manifest, 0, name);
    if (status != HOOP_OK)
        return error_pass(status);
    manifest->tensors[0].shape.n_dims = HOOP_MAX_DIMS;
    manifest->tensors[0].mesh = hoop_mesh_shape_of(spec->mesh);
    manifest->tensors[0].sharding = spec->sharding;
    status = manifest_digest(manifest, out_digest);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
load_request_check_and_digest(const char *name,
                              const struct hoop_tensor_spec *spec,
                              hoop_dtensor_t **out_dtensor,
                              uint64_t *out_digest)
{
    if (!name || !out_dtensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           name ? "out_dtensor" : "name");
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        if (spec->sharding.dims[dim].n_axes > HOOP_MAX_AXES)
            return error_raise(HOOP_E_INVALID, "dim %u names %u axes", dim,
                               spec->sharding.dims[dim].n_axes);
    }
    if (spec->sharding.partial.n_axes > 0)
        return error_raise(HOOP_E_INVALID,
                           "tensor \"%s\" cannot be loaded as a partial sum",
                           name);
    return load_request_digest(name, spec, out_digest);
}

enum hoop_status
hoop_checkpoint_load(const char *folder,
                     const char *name,
                     const struct hoop_tensor_spec *spec,
                     hoop_dtensor_t **out_dtensor)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const struct hoop_named_dtensor tensor = {.name = name};
    struct checkpoint_load load = {.path = folder,
                                   .folder = FOLDER_CLOSED,
                                   .tensors = &tensor,
                                   .n_tensors = 1,
                                   .spec = spec};
    CLEANUP(agree_status_destroy) struct agree_status *agree_status = NULL;
    hoop_comm_t *comm = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!spec)
        return error_raise(HOOP_E_INVALID, "spec is NULL");
    enum hoop_status status = request_comm_of_mesh(spec->mesh, &comm);
    if (status == HOOP_OK && hoop_comm_is_member(comm))
        status = agree_status_create(comm, &agree_status);
    if (status != HOOP_OK)
        return error_pass(status);
    load.agree_status = agree_status;
    status =
        load_request_check_and_digest(name, spec, out_dtensor, &load.digest);
    status = agree_status ? checkpoint_load_with_retries(&load, status)
                          : load_create_nonmember_tensor(&load, status);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = load.made;
    return HOOP_OK;
}

enum hoop_status
hoop_checkpoint_restore(const char *folder,
                        const struct hoop_named_dtensor *tensors,
                        size_t n_tensors)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    const struct checkpoint_request request = {tensors, n_tensors};
    struct checkpoint_load load = {.path = folder,
                                   .folder = FOLDER_CLOSED,
                                   .tensors = tensors,
                                   .n_tensors = n_tensors};
    CLEANUP(agree_status_destroy) struct agree_status *agree_status = NULL;
    CLEANUP(manifest_destroy) struct checkpoint_manifest *asked = NULL;
    hoop_comm_t *comm = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = request_comm_of_tensors(&request, &comm);
    if (status == HOOP_OK && !hoop_comm_is_member(comm))
        return HOOP_OK;
    if (status == HOOP_OK)
        status = agree_status_create(comm, &agree_status);
    if (status != HOOP_OK)
        return error_pass(status);
    load.agree_status = agree_status;
    status = request_to_manifest(&request, comm, &asked);
    if (status == HOOP_OK)
        status = manifest_digest(asked, &load.digest);
    status = checkpoint_load_with_retries(&load, status);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/*
 * The public verification: read all files and compare their digests.
 *
 * A save may replace the checkpoint meanwhile, so a failure counts only if
 * the index has not changed.
 */

enum {
    VERIFY_BUFFER_BYTES = 1024 * 1024,
};

static enum hoop_status
checkpoint_file_digest(const struct folder *folder,
                       const struct hoop_checkpoint_file *file,
                       uint64_t *out_digest)
{
    CLEANUP(file_reader_destroy) struct file_reader *file_reader = NULL;
    CLEANUP(digest_destroy) struct digest *digest = NULL;
    CLEANUP(free) uint8_t *buffer = malloc(VERIFY_BUFFER_BYTES);

    if (!buffer)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for reading");
    enum hoop_status status = digest_create(&digest);
    if (status == HOOP_OK)
        status = file_reader_create(folder, file, &file_reader);
    for (uint64_t at = 0; status == HOOP_OK && at < file->n_bytes;
         at += VERIFY_BUFFER_BYTES) {
        const uint64_t n_left = file->n_bytes - at;
        const struct file_range range = {
            at, buffer,
            n_left < VERIFY_BUFFER_BYTES ? n_left : VERIFY_BUFFER_BYTES};

        status = file_reader_add_range(file_reader, &range);
        if (status == HOOP_OK)
            status = file_reader_read_pending(file_reader);
        digest_add(digest, buffer, range.n_bytes);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_digest = digest_value(digest);
    return HOOP_OK;
}

/* offsets has space for the offsets of all tensors. */
static enum hoop_status
checkpoint_file_verify(const struct folder *folder,
                       const struct checkpoint_manifest *manifest,
                       uint32_t number,
                       uint64_t *offsets)
{
    const struct hoop_checkpoint_file *file = &manifest->files[number];
    uint64_t digest = 0;

    if (piece_file_offsets(manifest, number, offsets) != file->n_bytes)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/index.json gives %s other bytes than its "
                           "tensors make",
                           folder->path, file->name);
    const enum hoop_status status =
        checkpoint_file_digest(folder, file, &digest);
    if (status != HOOP_OK)
        return error_pass(status);
    if (digest != file->digest)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s has the digest %016" PRIx64
                           ", the index says %016" PRIx64 ": it is damaged",
                           folder->path, file->name, digest, file->digest);
    return HOOP_OK;
}

static enum hoop_status
manifest_verify_files(const struct folder *folder,
                      const struct checkpoint_manifest *manifest)
{
    CLEANUP(free)
    uint64_t *offsets =
        calloc(manifest->contents.n_tensors + 1, sizeof(*offsets));

    if (!offsets)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the offsets");
    for (uint32_t i = 0; i < manifest->contents.n_files; i++) {
        const enum hoop_status status =
            checkpoint_file_verify(folder, manifest, i, offsets);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* *out_is_outdated: the checkpoint has been replaced meanwhile. */
static enum hoop_status
folder_verify_checkpoint(const struct folder *folder, bool *out_is_outdated)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;
    CLEANUP(manifest_destroy) struct checkpoint_manifest *now = NULL;
    char text[LIMIT_ERROR_TEXT];

    enum hoop_status status = folder_load_manifest(folder, &manifest);
    if (status != HOOP_OK)
        return error_pass(status);
    status = manifest_verify_files(folder, manifest);
    if (status == HOOP_OK)
        return HOOP_OK;
    snprintf(text, sizeof(text), "%s", error_text());
    *out_is_outdated = folder_load_manifest(folder, &now) == HOOP_OK &&
                       now->token != manifest->token;
    return error_raise(status, "%s", text);
}

enum hoop_status
hoop_checkpoint_verify(const char *folder)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct folder opened = FOLDER_CLOSED;
    bool is_outdated = true;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status = folder_open(folder, &opened);
    if (status != HOOP_OK)
        return error_pass(status);
    for (int i = 0; i < LOAD_ATTEMPTS_MAX && is_outdated; i++) {
        is_outdated = false;
        status = folder_verify_checkpoint(&opened, &is_outdated);
    }
    folder_close(&opened);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
