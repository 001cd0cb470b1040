/* state_sync/manifest_text.c - a tensor manifest as text, to compare it between
 * ranks */

#include "state_sync/manifest_text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/shape.h"

enum {
    /* Space for a dtype, a space and a shape, or for the block size. */
    DESCRIPTION = 32 + sizeof(struct shape_text),
    NAME_SHOWN = 200, /* bytes of a name in an error text */
};

static void
string_pair_write(FILE *out, const char *name, const char *description)
{
    fwrite(name, strlen(name) + 1, 1, out);
    fwrite(description, strlen(description) + 1, 1, out);
}

static void
manifest_text_write(FILE *out, const struct state_manifest *tensor_manifest)
{
    char text[DESCRIPTION];

    snprintf(text, sizeof(text), "blocks of %zu bytes",
             tensor_manifest->block_bytes);
    string_pair_write(out, "", text);
    for (size_t i = 0; i < tensor_manifest->n_entries; i++) {
        const struct hoop_named_tensor *named =
            tensor_manifest->entries[i].named;

        snprintf(text, sizeof(text), "%s %s", dtype_name(named->tensor.dtype),
                 shape_text(&named->tensor.shape).text);
        string_pair_write(out, named->name, text);
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

struct string_pair {
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

static struct string_pair
string_pair_read(struct string_reader *reader)
{
    struct string_pair pair = {.name = next_string_read(reader)};

    if (pair.name)
        pair.description = next_string_read(reader);
    return pair.description ? pair : (struct string_pair){0};
}

/* Raise how the first pairs that differ, in the order of names, differ. */
static enum hoop_status
raise_first_difference(const struct string_pair *mine,
                       const struct string_pair *theirs,
                       uint32_t rank)
{
    const int order = !mine->name     ? 1
                      : !theirs->name ? -1
                                      : strcmp(mine->name, theirs->name);

    if (order > 0)
        return error_raise(HOOP_E_MISMATCH,
                           "there is no tensor \"%.*s\", which rank %u has",
                           NAME_SHOWN, theirs->name, rank);
    if (order < 0)
        return error_raise(HOOP_E_MISMATCH,
                           "there is a tensor \"%.*s\", which rank %u does not "
                           "have",
                           NAME_SHOWN, mine->name, rank);
    if (!*mine->name)
        return error_raise(HOOP_E_MISMATCH, "%s, but %s on rank %u",
                           mine->description, theirs->description, rank);
    return error_raise(HOOP_E_MISMATCH,
                       "tensor \"%.*s\" is %s, but %.*s on rank %u", NAME_SHOWN,
                       mine->name, mine->description, NAME_SHOWN,
                       theirs->description, rank);
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
        const struct string_pair here = string_pair_read(&own);
        const struct string_pair there = string_pair_read(&other);

        if (!here.name && !there.name)
            return HOOP_OK;
        if (!here.name || !there.name || strcmp(here.name, there.name) != 0 ||
            strcmp(here.description, there.description) != 0)
            return raise_first_difference(&here, &there, rank);
    }
}
