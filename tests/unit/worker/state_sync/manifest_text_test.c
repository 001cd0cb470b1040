/* tests/unit/worker/state_sync/manifest_text_test.c - what differs is named */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "state_sync/tensor_manifest.h"

static float values[6];
static const struct hoop_named_tensor three[] = {
    {"w", {values, HOOP_FLOAT32, {2, {2, 3}}, NULL}},
    {"b", {values, HOOP_FLOAT32, {1, {6}}, NULL}},
    {"s", {values, HOOP_FLOAT32, {0}, NULL}},
};

static struct manifest_text_bytes
manifest_text_of(const struct hoop_named_tensor *tensors,
                 size_t n_tensors,
                 size_t block_bytes)
{
    const struct hoop_state it = {tensors, n_tensors, 1, block_bytes};
    struct state_manifest *tensor_manifest = NULL;
    struct manifest_text_bytes manifest_text = {0};

    assert_int_equal(state_manifest_create(&it, &tensor_manifest), HOOP_OK);
    assert_int_equal(state_manifest_to_text(tensor_manifest, &manifest_text),
                     HOOP_OK);
    state_manifest_destroy(tensor_manifest);
    return manifest_text;
}

static void
require_difference(const struct manifest_text_bytes *mine,
                   const struct manifest_text_bytes *theirs,
                   const char *words)
{
    assert_int_equal(manifest_text_compare(mine, theirs, 7), HOOP_E_MISMATCH);
    if (!strstr(error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", error_text(), words);
}

static void
manifest_text_of_the_same_in_another_order_is_the_same(void **state)
{
    const struct hoop_named_tensor turned[] = {three[2], three[0], three[1]};
    struct manifest_text_bytes mine = manifest_text_of(three, 3, 4096);
    struct manifest_text_bytes theirs = manifest_text_of(turned, 3, 4096);

    (void)state;
    assert_int_equal(mine.n_bytes, theirs.n_bytes);
    assert_memory_equal(mine.bytes, theirs.bytes, mine.n_bytes);
    assert_int_equal(manifest_text_compare(&mine, &theirs, 7), HOOP_OK);
    free(mine.bytes);
    free(theirs.bytes);
}

static void
manifest_text_that_differs_says_where(void **state)
{
    struct hoop_named_tensor other[] = {three[0], three[1], three[2]};
    struct manifest_text_bytes mine = manifest_text_of(three, 3, 4096);
    struct manifest_text_bytes theirs = manifest_text_of(three, 3, 8192);

    (void)state;
    require_difference(&mine, &theirs,
                       "blocks of 4096 bytes, but blocks of 8192 bytes on "
                       "rank 7");
    free(theirs.bytes);
    theirs = manifest_text_of(three, 2, 4096);
    require_difference(&mine, &theirs,
                       "there is a tensor \"s\", which rank 7 does not have");
    require_difference(&theirs, &mine,
                       "there is no tensor \"s\", which rank 7 has");
    free(theirs.bytes);
    other[0].tensor.shape.dims[1] = 2;
    theirs = manifest_text_of(other, 3, 4096);
    require_difference(&mine, &theirs,
                       "tensor \"w\" is float32 [2, 3], but float32 [2, 2] on "
                       "rank 7");
    free(theirs.bytes);
    other[1].tensor.dtype = HOOP_INT32;
    theirs = manifest_text_of(other, 3, 4096);
    require_difference(&mine, &theirs,
                       "tensor \"b\" is float32 [6], but int32 [6] on rank 7");
    free(theirs.bytes);
    free(mine.bytes);
}

/* Wherever it ends: no byte behind it is read. */
static void
manifest_text_that_is_cut_off_differs(void **state)
{
    struct manifest_text_bytes mine = manifest_text_of(three, 3, 4096);

    (void)state;
    for (size_t n_bytes = 0; n_bytes < mine.n_bytes; n_bytes++) {
        const struct manifest_text_bytes part = {malloc(n_bytes + 1), n_bytes};

        memcpy(part.bytes, mine.bytes, n_bytes);
        part.bytes[n_bytes] = 'x';
        assert_int_equal(manifest_text_compare(&mine, &part, 7),
                         HOOP_E_MISMATCH);
        assert_int_equal(manifest_text_compare(&part, &mine, 7),
                         HOOP_E_MISMATCH);
        free(part.bytes);
    }
    free(mine.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            manifest_text_of_the_same_in_another_order_is_the_same),
        cmocka_unit_test(manifest_text_that_differs_says_where),
        cmocka_unit_test(manifest_text_that_is_cut_off_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
