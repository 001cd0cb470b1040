/* state_sync/tensor_manifest.c - a rank's tensors in order of their names, cut
 * into blocks */

#include "state_sync/tensor_manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

enum {
    /* The hashes of 100 GB take 6 MB. */
    STATE_BLOCK_BYTES_DEFAULT = 256 * 1024,
};

static enum hoop_status
named_tensor_check(const struct hoop_named_tensor *named, size_t number)
{
    char name[LIMIT_NAME * 2];

    if (!named->name || !*named->name)
        return error_raise(HOOP_E_INVALID, "tensors[%zu] has no name", number);
    if (strnlen(named->name, LIMIT_STATE_NAME) == LIMIT_STATE_NAME)
        return error_raise(HOOP_E_INVALID,
                           "the name of tensors[%zu] is longer than %d bytes",
                           number, LIMIT_STATE_NAME - 1);
    snprintf(name, sizeof(name), "tensor \"%.200s\"", named->name);
    const enum hoop_status status = operand_check(&named->tensor, name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
state_check_arguments(const struct hoop_state *state)
{
    if (!state)
        return error_raise(HOOP_E_INVALID, "state is NULL");
    if (!state->tensors && state->n_tensors > 0)
        return error_raise(HOOP_E_INVALID, "tensors is NULL");
    if (state->block_bytes > 0 && state->block_bytes < LIMIT_STATE_BLOCK_MIN)
        return error_raise(HOOP_E_INVALID,
                           "blocks of %zu bytes are too small: %d at least",
                           state->block_bytes, LIMIT_STATE_BLOCK_MIN);
    for (size_t i = 0; i < state->n_tensors; i++) {
        const enum hoop_status status =
            named_tensor_check(&state->tensors[i], i);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static int
compare_entry_names(const void *a, const void *b)
{
    const struct state_manifest_tensor *left = a;
    const struct state_manifest_tensor *right = b;

    return strcmp(left->named->name, right->named->name);
}

static enum hoop_status
check_names_unique(const struct state_manifest *tensor_manifest)
{
    const struct state_manifest_tensor *entries = tensor_manifest->entries;

    for (size_t i = 1; i < tensor_manifest->n_entries; i++) {
        if (compare_entry_names(&entries[i - 1], &entries[i]) == 0)
            return error_raise(HOOP_E_INVALID,
                               "the name \"%.200s\" is there twice",
                               entries[i].named->name);
    }
    return HOOP_OK;
}

static void
assign_block_numbers(struct state_manifest *tensor_manifest)
{
    for (size_t i = 0; i < tensor_manifest->n_entries; i++) {
        struct state_manifest_tensor *entry = &tensor_manifest->entries[i];
        const size_t n_bytes = operand_bytes(&entry->named->tensor);

        entry->n_bytes = n_bytes;
        entry->first = tensor_manifest->n_blocks;
        tensor_manifest->n_bytes += n_bytes;
        tensor_manifest->n_blocks +=
            n_bytes / tensor_manifest->block_bytes +
            (n_bytes % tensor_manifest->block_bytes > 0);
    }
}

enum hoop_status
state_manifest_create(const struct hoop_state *state,
                      struct state_manifest **out_tensor_manifest)
{
    enum hoop_status status = state_check_arguments(state);

    if (status != HOOP_OK)
        return error_pass(status);
    CLEANUP(state_manifest_destroy)
    struct state_manifest *tensor_manifest =
        calloc(1, sizeof(*tensor_manifest) +
                      state->n_tensors * sizeof(struct state_manifest_tensor));
    if (!tensor_manifest)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tensors",
                           state->n_tensors);
    tensor_manifest->n_entries = state->n_tensors;
    tensor_manifest->block_bytes =
        state->block_bytes > 0 ? state->block_bytes : STATE_BLOCK_BYTES_DEFAULT;
    for (size_t i = 0; i < state->n_tensors; i++)
        tensor_manifest->entries[i].named = &state->tensors[i];
    qsort(tensor_manifest->entries, tensor_manifest->n_entries,
          sizeof(struct state_manifest_tensor), compare_entry_names);
    status = check_names_unique(tensor_manifest);
    if (status != HOOP_OK)
        return error_pass(status);
    assign_block_numbers(tensor_manifest);
    tensor_manifest->digests = calloc(tensor_manifest->n_blocks + 1,
                                      sizeof(*tensor_manifest->digests));
    if (!tensor_manifest->digests)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the hashes of %llu blocks",
                           (unsigned long long)tensor_manifest->n_blocks);
    *out_tensor_manifest = STEAL(tensor_manifest);
    return HOOP_OK;
}

void
state_manifest_destroy(struct state_manifest *tensor_manifest)
{
    if (!tensor_manifest)
        return;
    free(tensor_manifest->digests);
    free(tensor_manifest);
}

struct digest_128
state_manifest_hash_blocks(struct state_manifest *tensor_manifest)
{
    for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
        const struct state_manifest_byte_range run =
            state_manifest_byte_range(tensor_manifest, i, 1);

        tensor_manifest->digests[i] = digest_128_bytes(run.at, run.n_bytes);
    }
    return digest_128_bytes(tensor_manifest->digests,
                            tensor_manifest->n_blocks *
                                sizeof(struct digest_128));
}

/* The last entry whose first block is number or earlier. This skips tensors
 * without blocks. */
static size_t
entry_index_of_block(const struct state_manifest *tensor_manifest,
                     uint64_t number)
{
    size_t low = 0;
    size_t high = tensor_manifest->n_entries;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (tensor_manifest->entries[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct state_manifest_byte_range
state_manifest_byte_range(const struct state_manifest *tensor_manifest,
                          uint64_t number,
                          uint64_t n_blocks)
{
    const size_t at = entry_index_of_block(tensor_manifest, number);
    const struct state_manifest_tensor *entry = &tensor_manifest->entries[at];
    const size_t offset =
        (number - entry->first) * tensor_manifest->block_bytes;
    const size_t left = entry->n_bytes - offset;
    const size_t asked = n_blocks * tensor_manifest->block_bytes;

    return (struct state_manifest_byte_range){
        .entry = at,
        .at = (uint8_t *)entry->named->tensor.data + offset,
        .offset = offset,
        .n_bytes = asked < left ? asked : left,
    };
}

uint64_t
state_manifest_adjacent_blocks(const struct state_manifest *tensor_manifest,
                               uint64_t number,
                               uint64_t end)
{
    const size_t at = entry_index_of_block(tensor_manifest, number);
    const uint64_t behind = at + 1 < tensor_manifest->n_entries
                                ? tensor_manifest->entries[at + 1].first
                                : tensor_manifest->n_blocks;

    return (end < behind ? end : behind) - number;
}

/* A tensor manifest as text, to compare it between ranks. */

enum {
    /* Space for a dtype, a space and a shape, or for the block size. */
    TENSOR_DESCRIPTION_MAX = 32 + sizeof(struct shape_text),
    ERROR_TENSOR_NAME_MAX = 200, /* bytes of a name in an error text */
};

static void
manifest_text_entry_write(FILE *out, const char *name, const char *description)
{
    fwrite(name, strlen(name) + 1, 1, out);
    fwrite(description, strlen(description) + 1, 1, out);
}

static void
manifest_text_write(FILE *out, const struct state_manifest *tensor_manifest)
{
    char text[TENSOR_DESCRIPTION_MAX];

    snprintf(text, sizeof(text), "blocks of %zu bytes",
             tensor_manifest->block_bytes);
    manifest_text_entry_write(out, "", text);
    for (size_t i = 0; i < tensor_manifest->n_entries; i++) {
        const struct hoop_named_tensor *named =
            tensor_manifest->entries[i].named;

        snprintf(text, sizeof(text), "%s %s", dtype_name(named->tensor.dtype),
                 shape_text(&named->tensor.shape).text);
        manifest_text_entry_write(out, named->name, text);
    }
}

enum hoop_status
state_manifest_to_text(const struct state_manifest *tensor_manifest,
                       struct manifest_text_bytes *out_text)
{
    char *bytes = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&bytes, &n_bytes);

    if (!out)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a list of tensors");
    manifest_text_write(out, tensor_manifest);
    const bool is_whole = !ferror(out);
    if (fclose(out) != 0 || !is_whole) {
        free(bytes);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a list of tensors");
    }
    *out_text = (struct manifest_text_bytes){bytes, n_bytes};
    return HOOP_OK;
}

/* The position of a reader in a text. A string without its terminating 0 ends
 * it. */
struct string_reader {
    const char *at;
    const char *end;
};

struct manifest_text_entry {
    const char *name; /* NULL: the text has ended */
    const char *description;
};

static const char *
next_string_read(struct string_reader *reader)
{
    const size_t left = (size_t)(reader->end - reader->at);
    const char *text = reader->at;
    const char *end = left > 0 ? memchr(text, '\0', left) : NULL;

    if (!end)
        return NULL;
    reader->at = end + 1;
    return text;
}

static struct manifest_text_entry
manifest_text_entry_read(struct string_reader *reader)
{
    struct manifest_text_entry pair = {.name = next_string_read(reader)};

    if (pair.name)
        pair.description = next_string_read(reader);
    return pair.description ? pair : (struct manifest_text_entry){0};
}

/* Raise how the first pairs that differ, in the order of names, differ. */
static enum hoop_status
manifest_raise_first_difference(const struct manifest_text_entry *mine,
                                const struct manifest_text_entry *theirs,
                                uint32_t rank)
{
    const int order = !mine->name     ? 1
                      : !theirs->name ? -1
                                      : strcmp(mine->name, theirs->name);

    if (order > 0)
        return error_raise(HOOP_E_MISMATCH,
                           "there is no tensor \"%.*s\", which rank %u has",
                           ERROR_TENSOR_NAME_MAX, theirs->name, rank);
    if (order < 0)
        return error_raise(HOOP_E_MISMATCH,
                           "there is a tensor \"%.*s\", which rank %u does not "
                           "have",
                           ERROR_TENSOR_NAME_MAX, mine->name, rank);
    if (!*mine->name)
        return error_raise(HOOP_E_MISMATCH, "%s, but %s on rank %u",
                           mine->description, theirs->description, rank);
    return error_raise(HOOP_E_MISMATCH,
                       "tensor \"%.*s\" is %s, but %.*s on rank %u",
                       ERROR_TENSOR_NAME_MAX, mine->name, mine->description,
                       ERROR_TENSOR_NAME_MAX, theirs->description, rank);
}

enum hoop_status
manifest_text_compare(const struct manifest_text_bytes *mine,
                      const struct manifest_text_bytes *theirs,
                      uint32_t rank)
{
    struct string_reader own = {mine->bytes, mine->bytes + mine->n_bytes};
    struct string_reader other = {theirs->bytes,
                                  theirs->bytes + theirs->n_bytes};

    for (;;) {
        const struct manifest_text_entry here = manifest_text_entry_read(&own);
        const struct manifest_text_entry there =
            manifest_text_entry_read(&other);

        if (!here.name && !there.name)
            return HOOP_OK;
        if (!here.name || !there.name || strcmp(here.name, there.name) != 0 ||
            strcmp(here.description, there.description) != 0)
            return manifest_raise_first_difference(&here, &there, rank);
    }
}
