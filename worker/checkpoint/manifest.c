/* checkpoint/manifest.c - the contents of a checkpoint's index */

#include "checkpoint/manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "checkpoint/file.h"
#include "checkpoint/piece.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"

enum hoop_status
manifest_create(size_t n_tensors,
                uint32_t n_files,
                struct checkpoint_manifest **out_manifest)
{
    CLEANUP(manifest_destroy)
    struct checkpoint_manifest *manifest = calloc(1, sizeof(*manifest));

    if (manifest) {
        manifest->tensors = calloc(n_tensors + 1, sizeof(*manifest->tensors));
        manifest->files = calloc(n_files + 1, sizeof(*manifest->files));
        manifest->names = calloc(n_files + 1, FILE_NAME_BUFFER_BYTES);
    }
    if (!manifest || !manifest->tensors || !manifest->files || !manifest->names)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the index of %zu tensors", n_tensors);
    manifest->contents = (struct hoop_checkpoint_contents){
        .n_tensors = n_tensors,
        .tensors = manifest->tensors,
        .n_files = n_files,
        .files = manifest->files,
    };
    *out_manifest = STEAL(manifest);
    return HOOP_OK;
}

void
manifest_destroy(struct checkpoint_manifest *manifest)
{
    if (!manifest)
        return;
    for (size_t i = 0; manifest->tensors && i < manifest->contents.n_tensors;
         i++)
        free((char *)(uintptr_t)manifest->tensors[i].name);
    free(manifest->tensors);
    free(manifest->files);
    free(manifest->names);
    free(manifest->tensors_by_name);
    free(manifest);
}

enum hoop_status
manifest_set_tensor_name(struct checkpoint_manifest *manifest,
                         size_t number,
                         const char *name)
{
    char *copy = strdup(name);

    if (!copy)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tensor's name");
    manifest->tensors[number].name = copy;
    return HOOP_OK;
}

void
manifest_set_generation(struct checkpoint_manifest *manifest,
                        uint64_t generation,
                        uint64_t token)
{
    manifest->contents.generation = generation;
    manifest->token = token;
    for (uint32_t i = 0; i < manifest->contents.n_files; i++) {
        char *name = manifest->names + (size_t)i * FILE_NAME_BUFFER_BYTES;
        const struct file_name of = {FILE_NAME_PART, generation, token, i};

        file_name_format(&of, name);
        manifest->files[i].name = name;
    }
}

static uint64_t
mesh_place_count(const struct hoop_mesh_shape *mesh)
{
    uint64_t n_places = 1;

    for (uint32_t i = 0; i < mesh->n_axes; i++)
        n_places *= mesh->sizes[i];
    return n_places;
}

static enum hoop_status
tensor_name_check(const char *name, size_t number)
{
    if (!name || !*name)
        return error_raise(HOOP_E_INVALID, "tensor %zu has no name", number);
    if (strlen(name) >= LIMIT_CHECKPOINT_NAME)
        return error_raise(HOOP_E_INVALID,
                           "the name of tensor %zu has more than %d bytes",
                           number, LIMIT_CHECKPOINT_NAME - 1);
    if (!manifest_is_utf8(name))
        return error_raise(HOOP_E_INVALID,
                           "the name of tensor %zu is not UTF-8", number);
    return HOOP_OK;
}

/* Check a tensor, and add its bytes to *bytes. */
static enum hoop_status
manifest_check_tensor(const struct checkpoint_manifest *manifest,
                      size_t number,
                      uint64_t *bytes)
{
    const struct hoop_checkpoint_tensor *tensor = &manifest->tensors[number];
    const uint32_t n_files = manifest->contents.n_files;
    size_t count;
    uint64_t n_bytes;

    enum hoop_status status = tensor_name_check(tensor->name, number);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        hoop_sharding_check(&tensor->sharding, &tensor->mesh, &tensor->shape);
    if (status == HOOP_OK)
        status = shape_count(&tensor->shape, &count);
    if (status != HOOP_OK)
        return error_raise(status, "tensor \"%s\": %s", tensor->name,
                           error_text());
    if (dtype_size(tensor->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "tensor \"%s\" has no known dtype",
                           tensor->name);
    if (tensor->sharding.partial.n_axes > 0)
        return error_raise(HOOP_E_INVALID,
                           "tensor \"%s\" is a partial sum: redistribute it "
                           "first",
                           tensor->name);
    if (mesh_place_count(&tensor->mesh) != n_files)
        return error_raise(
            HOOP_E_INVALID, "tensor \"%s\" lies over %llu ranks, not %u",
            tensor->name, (unsigned long long)mesh_place_count(&tensor->mesh),
            n_files);
    if (__builtin_mul_overflow(count, dtype_size(tensor->dtype), &n_bytes) ||
        __builtin_add_overflow(*bytes, n_bytes, bytes) ||
        __builtin_add_overflow(*bytes, PIECE_ALIGNMENT, bytes) ||
        *bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID,
                           "the tensors up to \"%s\" have more than 2^63 bytes",
                           tensor->name);
    return HOOP_OK;
}

static int
compare_tensor_names(const void *left, const void *right, void *tensors)
{
    const struct hoop_checkpoint_tensor *all = tensors;

    return strcmp(all[*(const size_t *)left].name,
                  all[*(const size_t *)right].name);
}

/* Sort the tensors by name, and check that no name occurs twice. */
static enum hoop_status
manifest_sort_and_check_names(struct checkpoint_manifest *manifest)
{
    const struct hoop_checkpoint_tensor *tensors = manifest->tensors;
    const size_t n_names = manifest->contents.n_tensors;
    CLEANUP(free)
    size_t *tensors_by_name = calloc(n_names + 1, sizeof(*tensors_by_name));

    if (!tensors_by_name)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu names",
                           n_names);
    for (size_t i = 0; i < n_names; i++)
        tensors_by_name[i] = i;
    qsort_r(tensors_by_name, n_names, sizeof(*tensors_by_name),
            compare_tensor_names, manifest->tensors);
    for (size_t i = 1; i < n_names; i++) {
        const char *name = tensors[tensors_by_name[i]].name;

        if (strcmp(tensors[tensors_by_name[i - 1]].name, name) == 0)
            return error_raise(HOOP_E_INVALID,
                               "two tensors are both named \"%s\"", name);
    }
    free(manifest->tensors_by_name);
    manifest->tensors_by_name = STEAL(tensors_by_name);
    return HOOP_OK;
}

enum hoop_status
manifest_check(struct checkpoint_manifest *manifest)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < manifest->contents.n_tensors; i++) {
        const enum hoop_status status =
            manifest_check_tensor(manifest, i, &bytes);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    const enum hoop_status status = manifest_sort_and_check_names(manifest);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
manifest_find_tensor(const struct checkpoint_manifest *manifest,
                     const char *name,
                     size_t *out_number)
{
    const size_t n_tensors = manifest->contents.n_tensors;
    size_t first = 0;
    size_t end = n_tensors;

    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        const size_t number = manifest->tensors_by_name[middle];
        const int order = strcmp(manifest->tensors[number].name, name);

        if (order == 0) {
            *out_number = number;
            return HOOP_OK;
        }
        first = order < 0 ? middle + 1 : first;
        end = order < 0 ? end : middle;
    }
    return error_raise(HOOP_E_NOT_FOUND,
                       "there is no tensor \"%s\" among the %zu of the "
                       "checkpoint: the first is \"%s\"",
                       name, n_tensors,
                       n_tensors > 0 ? manifest->tensors[0].name : "");
}

static void
digest_add_number(struct digest *digest, uint64_t number)
{
    digest_add(digest, &number, sizeof(number));
}

static void
digest_add_tensor(struct digest *digest,
                  const struct hoop_checkpoint_tensor *tensor)
{
    const struct hoop_shape *shape = &tensor->shape;
    const size_t n_name = strlen(tensor->name);

    digest_add_number(digest, n_name);
    digest_add(digest, tensor->name, n_name);
    digest_add_number(digest, tensor->dtype);
    digest_add_number(digest, shape->n_dims);
    for (uint32_t dim = 0; dim < shape->n_dims; dim++) {
        const struct hoop_axes *axes = &tensor->sharding.dims[dim];

        digest_add_number(digest, shape->dims[dim]);
        digest_add_number(digest, axes->n_axes);
        for (uint32_t i = 0; i < axes->n_axes; i++)
            digest_add_number(digest, axes->axes[i]);
    }
    digest_add_number(digest, tensor->sharding.is_uneven);
    digest_add_number(digest, tensor->mesh.n_axes);
    for (uint32_t i = 0; i < tensor->mesh.n_axes; i++)
        digest_add_number(digest, tensor->mesh.sizes[i]);
}

enum hoop_status
manifest_digest(const struct checkpoint_manifest *manifest,
                uint64_t *out_digest)
{
    const struct hoop_checkpoint_contents *contents = &manifest->contents;
    CLEANUP(digest_destroy) struct digest *digest = NULL;

    const enum hoop_status status = digest_create(&digest);
    if (status != HOOP_OK)
        return error_pass(status);
    digest_add_number(digest, contents->generation);
    digest_add_number(digest, manifest->token);
    digest_add_number(digest, contents->n_tensors);
    for (size_t i = 0; i < contents->n_tensors; i++)
        digest_add_tensor(digest, &manifest->tensors[i]);
    digest_add_number(digest, contents->n_files);
    for (uint32_t i = 0; i < contents->n_files; i++) {
        digest_add_number(digest, manifest->files[i].n_bytes);
        digest_add_number(digest, manifest->files[i].digest);
    }
    *out_digest = digest_value(digest);
    return HOOP_OK;
}

enum hoop_status
manifest_verify_digest(const struct checkpoint_manifest *manifest)
{
    uint64_t found;
    const enum hoop_status status = manifest_digest(manifest, &found);

    if (status != HOOP_OK)
        return error_pass(status);
    if (found != manifest->digest)
        return error_raise(HOOP_E_DATA_LOSS,
                           "its digest is %016" PRIx64 ", it says %016" PRIx64
                           ": it has been changed",
                           found, manifest->digest);
    return HOOP_OK;
}
