/*
 * checkpoint/manifest_json.c - an index as JSON text
 *
 * Each tensor and each file has one line, for human readers. Decoding checks
 * each field, and then the whole by the checks that apply to a user's tensors.
 * Unknown fields are ignored. docs/checkpoint.md is normative.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "checkpoint/manifest.h"
#include "dtype/dtype.h"

enum {
    CHECKPOINT_FORMAT_VERSION = 1,
    UINT64_HEX_DIGITS = 16,
};

static const char checkpoint_format_name[] = "hoop-checkpoint";

static void
json_destroy(json_t *json)
{
    json_decref(json);
}

DEFINE_CLEANUP(json_t *, json_destroy)

bool
manifest_is_utf8(const char *name)
{
    CLEANUP(json_destroy) json_t *text = json_string(name);

    return text;
}

static json_t *
axes_to_json(const uint32_t *numbers, uint32_t n_numbers)
{
    json_t *list = json_array();

    for (uint32_t i = 0; list && i < n_numbers; i++)
        json_array_append_new(list, json_integer(numbers[i]));
    return list;
}

/* Returns NULL if there is no memory. */
static json_t *
tensor_to_json(const struct hoop_checkpoint_tensor *tensor)
{
    json_t *shape = json_array();
    json_t *cuts = json_array();

    for (uint32_t dim = 0; dim < tensor->shape.n_dims; dim++) {
        const struct hoop_axes *axes = &tensor->sharding.dims[dim];

        json_array_append_new(
            shape, json_integer((json_int_t)tensor->shape.dims[dim]));
        json_array_append_new(cuts, axes_to_json(axes->axes, axes->n_axes));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:b}", "name", tensor->name,
                     "dtype", dtype_name(tensor->dtype), "shape", shape, "mesh",
                     axes_to_json(tensor->mesh.sizes, tensor->mesh.n_axes),
                     "cuts", cuts, "uneven", (int)tensor->sharding.is_uneven);
}

static json_t *
file_entry_to_json(const struct hoop_checkpoint_file *file)
{
    char digest[UINT64_HEX_DIGITS + 1];

    snprintf(digest, sizeof(digest), "%016" PRIx64, file->digest);
    return json_pack("{s:I, s:s}", "bytes", (json_int_t)file->n_bytes, "xxh3",
                     digest);
}

/* Takes ownership of value. Returns false if value is NULL or there is no
 * memory. */
static bool
json_line_write(json_t *value, const char *end, FILE *out)
{
    CLEANUP(json_destroy) json_t *taken = value;

    if (!taken || json_dumpf(taken, out, JSON_COMPACT) != 0)
        return false;
    fputs(end, out);
    return true;
}

/* Returns false if there is no memory. */
static bool
manifest_write_json(const struct checkpoint_manifest *manifest,
                    uint64_t digest,
                    FILE *out)
{
    const struct hoop_checkpoint_contents *contents = &manifest->contents;

    fprintf(out,
            "{\n\"format\": \"%s\",\n\"version\": %d,\n"
            "\"generation\": %" PRIu64 ",\n\"token\": \"%016" PRIx64 "\",\n"
            "\"digest\": \"%016" PRIx64 "\",\n\"tensors\": [\n",
            checkpoint_format_name, CHECKPOINT_FORMAT_VERSION,
            contents->generation, manifest->token, digest);
    for (size_t i = 0; i < contents->n_tensors; i++) {
        if (!json_line_write(tensor_to_json(&manifest->tensors[i]),
                             i + 1 < contents->n_tensors ? ",\n" : "\n", out))
            return false;
    }
    fputs("],\n\"files\": [\n", out);
    for (uint32_t i = 0; i < contents->n_files; i++) {
        if (!json_line_write(file_entry_to_json(&manifest->files[i]),
                             i + 1 < contents->n_files ? ",\n" : "\n", out))
            return false;
    }
    fputs("]\n}\n", out);
    return true;
}

enum hoop_status
manifest_encode(const struct checkpoint_manifest *manifest,
                char **out_text,
                size_t *out_n_bytes)
{
    char *text = NULL;
    size_t n_bytes = 0;
    uint64_t digest;

    const enum hoop_status status = manifest_digest(manifest, &digest);
    if (status != HOOP_OK)
        return error_pass(status);
    FILE *out = open_memstream(&text, &n_bytes);
    if (!out)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an index");
    const bool is_whole = manifest_write_json(manifest, digest, out);
    const bool is_kept = !ferror(out);
    if (fclose(out) != 0 || !is_whole || !is_kept) {
        free(text);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an index");
    }
    if (n_bytes > LIMIT_CHECKPOINT_INDEX) {
        free(text);
        return error_raise(HOOP_E_EXHAUSTED,
                           "the index of %zu tensors has %zu bytes, more than "
                           "the %d that can be read",
                           manifest->contents.n_tensors, n_bytes,
                           LIMIT_CHECKPOINT_INDEX);
    }
    *out_text = text;
    *out_n_bytes = n_bytes;
    return HOOP_OK;
}

/* A value and its name in error texts, such as "tensors[3].shape". */
struct json_field {
    const json_t *value;
    char where[64];
};

static struct json_field
json_field_of_object(const struct json_field *object, const char *key)
{
    struct json_field field = {.value = json_object_get(object->value, key)};

    snprintf(field.where, sizeof(field.where), "%.40s%s%s", object->where,
             *object->where ? "." : "", key);
    return field;
}

static struct json_field
json_field_of_array(const struct json_field *list, size_t at)
{
    struct json_field field = {.value = json_array_get(list->value, at)};

    snprintf(field.where, sizeof(field.where), "%.40s[%zu]", list->where, at);
    return field;
}

static enum hoop_status
json_field_raise_error(const struct json_field *field, const char *expected)
{
    return error_raise(HOOP_E_DATA_LOSS, "%s is %s: %s is expected",
                       *field->where ? field->where : "it",
                       field->value ? "wrong" : "missing", expected);
}

static enum hoop_status
number_from_json(const struct json_field *field,
                 uint64_t max,
                 uint64_t *out_number)
{
    const json_int_t number = json_integer_value(field->value);

    if (!json_is_integer(field->value) || number < 0 || (uint64_t)number > max)
        return json_field_raise_error(field, "a whole number in its bounds");
    *out_number = (uint64_t)number;
    return HOOP_OK;
}

/* Decode 16 hexadecimal digits. */
static enum hoop_status
hex_from_json(const struct json_field *field, uint64_t *out_number)
{
    const char *text = json_string_value(field->value);

    if (!text || strlen(text) != UINT64_HEX_DIGITS ||
        strspn(text, "0123456789abcdef") != UINT64_HEX_DIGITS)
        return json_field_raise_error(field, "a text of 16 hexadecimal digits");
    *out_number = strtoull(text, NULL, 16);
    return HOOP_OK;
}

static enum hoop_status
list_size_from_json(const struct json_field *field,
                    size_t max,
                    size_t *out_count)
{
    if (!json_is_array(field->value) || json_array_size(field->value) > max)
        return json_field_raise_error(field, "a list, not too long");
    *out_count = json_array_size(field->value);
    return HOOP_OK;
}

/* Decode a list of at most HOOP_MAX_AXES numbers of 32 bits. */
static enum hoop_status
axes_from_json(const struct json_field *field,
               uint32_t *out_numbers,
               uint32_t *out_n)
{
    size_t count = 0;
    enum hoop_status status = list_size_from_json(field, HOOP_MAX_AXES, &count);

    for (size_t i = 0; status == HOOP_OK && i < count; i++) {
        const struct json_field at = json_field_of_array(field, i);
        uint64_t number = 0;

        status = number_from_json(&at, UINT32_MAX, &number);
        if (status == HOOP_OK)
            out_numbers[i] = (uint32_t)number;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n = (uint32_t)count;
    return HOOP_OK;
}

static enum hoop_status
dtype_from_json(const struct json_field *field, enum hoop_dtype *out_dtype)
{
    const char *name = json_string_value(field->value);

    for (unsigned i = 0; name && i < DTYPE_COUNT; i++) {
        if (strcmp(name, dtype_name(i)) == 0) {
            *out_dtype = i;
            return HOOP_OK;
        }
    }
    return json_field_raise_error(field, "the name of a dtype");
}

static enum hoop_status
shape_from_json(const struct json_field *field, struct hoop_shape *out_shape)
{
    size_t n_dims = 0;
    enum hoop_status status =
        list_size_from_json(field, HOOP_MAX_DIMS, &n_dims);

    for (size_t i = 0; status == HOOP_OK && i < n_dims; i++) {
        const struct json_field at = json_field_of_array(field, i);
        uint64_t size = 0;

        status = number_from_json(&at, INT64_MAX, &size);
        if (status == HOOP_OK)
            out_shape->dims[i] = size;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    out_shape->n_dims = (uint32_t)n_dims;
    return HOOP_OK;
}

/* Decode how the tensor was sharded over its mesh. */
static enum hoop_status
sharding_from_json(const struct json_field *object,
                   struct hoop_checkpoint_tensor *tensor)
{
    const struct json_field mesh = json_field_of_object(object, "mesh");
    const struct json_field cuts = json_field_of_object(object, "cuts");
    const struct json_field uneven = json_field_of_object(object, "uneven");
    size_t n_cuts = 0;

    enum hoop_status status =
        axes_from_json(&mesh, tensor->mesh.sizes, &tensor->mesh.n_axes);
    if (status == HOOP_OK)
        status = list_size_from_json(&cuts, HOOP_MAX_DIMS, &n_cuts);
    if (status == HOOP_OK && n_cuts != tensor->shape.n_dims)
        status = json_field_raise_error(&cuts, "a list for each dimension");
    for (size_t i = 0; status == HOOP_OK && i < n_cuts; i++) {
        const struct json_field at = json_field_of_array(&cuts, i);
        struct hoop_axes *axes = &tensor->sharding.dims[i];

        status = axes_from_json(&at, axes->axes, &axes->n_axes);
    }
    if (status == HOOP_OK && !json_is_boolean(uneven.value))
        status = json_field_raise_error(&uneven, "true or false");
    tensor->sharding.is_uneven = json_is_true(uneven.value);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
tensor_from_json(const struct json_field *object,
                 struct checkpoint_manifest *manifest,
                 size_t number)
{
    struct hoop_checkpoint_tensor *tensor = &manifest->tensors[number];
    const struct json_field name = json_field_of_object(object, "name");
    const struct json_field dtype = json_field_of_object(object, "dtype");
    const struct json_field shape = json_field_of_object(object, "shape");

    enum hoop_status status = HOOP_OK;
    if (!json_is_string(name.value))
        status = json_field_raise_error(&name, "a text");
    if (status == HOOP_OK)
        status = manifest_set_tensor_name(manifest, number,
                                          json_string_value(name.value));
    if (status == HOOP_OK)
        status = dtype_from_json(&dtype, &tensor->dtype);
    if (status == HOOP_OK)
        status = shape_from_json(&shape, &tensor->shape);
    if (status == HOOP_OK)
        status = sharding_from_json(object, tensor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
file_entry_from_json(const struct json_field *object,
                     struct hoop_checkpoint_file *file)
{
    const struct json_field bytes = json_field_of_object(object, "bytes");
    const struct json_field digest = json_field_of_object(object, "xxh3");
    enum hoop_status status =
        number_from_json(&bytes, INT64_MAX, &file->n_bytes);

    if (status == HOOP_OK)
        status = hex_from_json(&digest, &file->digest);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Check format and version before anything else. */
static enum hoop_status
json_format_check(const struct json_field *root)
{
    const struct json_field format = json_field_of_object(root, "format");
    const struct json_field version = json_field_of_object(root, "version");
    const char *name = json_string_value(format.value);
    uint64_t number = 0;

    if (!name || strcmp(name, checkpoint_format_name) != 0)
        return json_field_raise_error(&format, "\"hoop-checkpoint\"");
    const enum hoop_status status =
        number_from_json(&version, INT64_MAX, &number);
    if (status != HOOP_OK)
        return error_pass(status);
    if (number != CHECKPOINT_FORMAT_VERSION)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "it has version %" PRIu64 ", this hoop reads "
                           "version %d",
                           number, CHECKPOINT_FORMAT_VERSION);
    return HOOP_OK;
}

static enum hoop_status
generation_from_json(const struct json_field *root,
                     struct checkpoint_manifest *manifest)
{
    const struct json_field generation =
        json_field_of_object(root, "generation");
    const struct json_field token = json_field_of_object(root, "token");
    uint64_t number = 0;
    uint64_t chance = 0;
    /* The next save's generation, one higher, must be valid, too. */
    enum hoop_status status =
        number_from_json(&generation, INT64_MAX - 1, &number);

    if (status == HOOP_OK)
        status = hex_from_json(&token, &chance);
    if (status != HOOP_OK)
        return error_pass(status);
    manifest_set_generation(manifest, number, chance);
    return HOOP_OK;
}

/* Create a manifest of the right size and decode its tensors and files. */
static enum hoop_status
manifest_entries_from_json(const struct json_field *root,
                           struct checkpoint_manifest **out_manifest)
{
    const struct json_field tensors = json_field_of_object(root, "tensors");
    const struct json_field files = json_field_of_object(root, "files");
    size_t n_tensors = 0;
    size_t n_files = 0;
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;

    enum hoop_status status =
        list_size_from_json(&tensors, LIMIT_CHECKPOINT_TENSORS, &n_tensors);
    if (status == HOOP_OK)
        status = list_size_from_json(&files, LIMIT_RANKS, &n_files);
    if (status == HOOP_OK)
        status = manifest_create(n_tensors, (uint32_t)n_files, &manifest);
    for (size_t i = 0; status == HOOP_OK && i < n_tensors; i++) {
        const struct json_field at = json_field_of_array(&tensors, i);

        status = tensor_from_json(&at, manifest, i);
    }
    for (size_t i = 0; status == HOOP_OK && i < n_files; i++) {
        const struct json_field at = json_field_of_array(&files, i);

        status = file_entry_from_json(&at, &manifest->files[i]);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_manifest = STEAL(manifest);
    return HOOP_OK;
}

/* Check that such tensors could have been saved. */
static enum hoop_status
manifest_check_decoded(const struct json_field *root,
                       struct checkpoint_manifest *manifest)
{
    const struct json_field digest = json_field_of_object(root, "digest");
    const enum hoop_status status = manifest_check(manifest);

    if (status == HOOP_E_INVALID)
        return error_raise(HOOP_E_DATA_LOSS, "%s", error_text());
    if (status != HOOP_OK)
        return error_pass(status);
    return hex_from_json(&digest, &manifest->digest);
}

enum hoop_status
manifest_decode(const char *text,
                size_t n_bytes,
                struct checkpoint_manifest **out_manifest)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;
    json_error_t error;

    CLEANUP(json_destroy)
    json_t *json = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &error);
    if (!json)
        return error_raise(HOOP_E_DATA_LOSS, "line %d: %s", error.line,
                           error.text);
    const struct json_field root = {.value = json};
    enum hoop_status status = json_is_object(json)
                                  ? json_format_check(&root)
                                  : json_field_raise_error(&root, "an object");
    if (status == HOOP_OK)
        status = manifest_entries_from_json(&root, &manifest);
    if (status == HOOP_OK)
        status = generation_from_json(&root, manifest);
    if (status == HOOP_OK)
        status = manifest_check_decoded(&root, manifest);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_manifest = STEAL(manifest);
    return HOOP_OK;
}
