/* tests/fuzz/manifest_fuzz.c - an index that is read can be believed */

#include <stdlib.h>
#include <string.h>

#include "checkpoint/piece.h"
#include "fuzz/fuzz.h"

enum {
    TENSORS = 64 /* looked at, of each file */
};

/* What a place has written lies in its part, and in the file. */
static void
require_pieces(const struct checkpoint_manifest *manifest, uint32_t place)
{
    const size_t n_tensors = manifest->contents.n_tensors;
    uint64_t *offsets = calloc(n_tensors + 1, sizeof(*offsets));

    if (!offsets)
        return;
    const uint64_t end = piece_file_offsets(manifest, place, offsets);
    fuzz_require(end <= INT64_MAX);
    for (size_t i = 0; i < n_tensors && i < TENSORS; i++) {
        const struct tensor_piece piece =
            tensor_piece_of_place(manifest, i, place);
        size_t count = 0;

        fuzz_require(hoop_shape_count(&piece.part.shape, &count) == HOOP_OK);
        fuzz_require(piece.first <= count);
        fuzz_require(piece.n_elements <= count - piece.first);
        fuzz_require(offsets[i] <= end);
    }
    free(offsets);
}

static void
require_same_again(const struct checkpoint_manifest *manifest)
{
    struct checkpoint_manifest *again = NULL;
    char *text = NULL;
    size_t n_bytes = 0;
    uint64_t before = 0;
    uint64_t after = 0;

    fuzz_require(manifest_encode(manifest, &text, &n_bytes) == HOOP_OK);
    fuzz_require(manifest_decode(text, n_bytes, &again) == HOOP_OK);
    fuzz_require(manifest_verify_digest(again) == HOOP_OK);
    fuzz_require(manifest_digest(manifest, &before) == HOOP_OK);
    fuzz_require(manifest_digest(again, &after) == HOOP_OK);
    fuzz_require(before == after);
    free(text);
    manifest_destroy(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct checkpoint_manifest *manifest = NULL;

    if (manifest_decode((const char *)bytes, n_bytes, &manifest) != HOOP_OK)
        return 0;
    require_same_again(manifest);
    if (manifest->contents.n_files > 0) {
        require_pieces(manifest, 0);
        require_pieces(manifest, manifest->contents.n_files - 1);
    }
    manifest_destroy(manifest);
    return 0;
}
