/* tests/unit/worker/state_sync/tensor_manifest_test.c - tensors, in blocks */

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "state_case.h"
#include "state_sync/tensor_manifest.h"

static void
tensor_manifest_cuts_each_tensor_by_itself(void **state)
{
    static const size_t sizes[] = {0, 2 * CASE_BLOCK, 1, 0, CASE_BLOCK + 1, 0};
    static const uint64_t firsts[] = {0, 0, 2, 3, 3, 5};
    static const size_t entries[] = {1, 1, 2, 4, 4};
    struct state_manifest *tensor_manifest =
        state_case_of(sizes, COUNT_OF(sizes));

    assert_int_equal(tensor_manifest->n_blocks, 5);
    assert_int_equal(tensor_manifest->n_bytes, 3 * CASE_BLOCK + 2);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(tensor_manifest->entries[i].first, firsts[i]);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(state_manifest_byte_range(tensor_manifest, i, 1).entry,
                         entries[i]);
    const struct state_manifest_byte_range last =
        state_manifest_byte_range(tensor_manifest, 3, 2);
    assert_ptr_equal(last.at, state_case_at(4, 0));
    assert_int_equal(last.n_bytes, CASE_BLOCK + 1);
    const struct state_manifest_byte_range tail =
        state_manifest_byte_range(tensor_manifest, 4, 1);
    assert_ptr_equal(tail.at, state_case_at(4, CASE_BLOCK));
    assert_int_equal(tail.offset, CASE_BLOCK);
    assert_int_equal(tail.n_bytes, 1);
    assert_int_equal(state_manifest_adjacent_blocks(tensor_manifest, 0, 5), 2);
    assert_int_equal(state_manifest_adjacent_blocks(tensor_manifest, 1, 5), 1);
    assert_int_equal(state_manifest_adjacent_blocks(tensor_manifest, 3, 5), 2);
    assert_int_equal(state_manifest_adjacent_blocks(tensor_manifest, 3, 4), 1);
    state_manifest_destroy(tensor_manifest);
    state_manifest_destroy(NULL);
}

static void
tensor_manifest_digest_tells_every_byte(void **state)
{
    static const size_t sizes[] = {CASE_BLOCK + 5, 0, 3};
    struct state_manifest *tensor_manifest =
        state_case_of(sizes, COUNT_OF(sizes));
    const struct digest_128 before =
        state_manifest_hash_blocks(tensor_manifest);
    struct digest_128 digests[3];

    memcpy(digests, tensor_manifest->digests, sizeof(digests));
    *state_case_at(2, 2) ^= 1;
    const struct digest_128 after = state_manifest_hash_blocks(tensor_manifest);
    assert_false(digest_128_equal(&before, &after));
    assert_true(digest_128_equal(&digests[0], &tensor_manifest->digests[0]));
    assert_true(digest_128_equal(&digests[1], &tensor_manifest->digests[1]));
    assert_false(digest_128_equal(&digests[2], &tensor_manifest->digests[2]));
    *state_case_at(2, 2) ^= 1;
    state_manifest_destroy(tensor_manifest);
}

static void
tensor_manifest_of_nothing_has_no_blocks(void **state)
{
    struct state_manifest *tensor_manifest = state_case_of(NULL, 0);

    assert_int_equal(tensor_manifest->n_blocks, 0);
    (void)state_manifest_hash_blocks(tensor_manifest);
    state_manifest_destroy(tensor_manifest);
}

static void
require_refused(const struct hoop_state *wrong, const char *words)
{
    struct state_manifest *tensor_manifest = NULL;

    assert_int_equal(state_manifest_create(wrong, &tensor_manifest),
                     HOOP_E_INVALID);
    assert_null(tensor_manifest);
    if (!strstr(error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", error_text(), words);
}

static void
tensor_manifest_of_wrong_tensors_is_refused(void **state)
{
    char name[LIMIT_STATE_NAME + 1] = "";
    float values[6] = {0};
    static const size_t strides[] = {1, 3};
    struct hoop_named_tensor two[] = {
        {"w", {values, HOOP_FLOAT32, {1, {6}}, NULL}},
        {"b", {values, HOOP_FLOAT32, {2, {3, 2}}, NULL}},
    };
    struct hoop_state wrong = {two, 2, 1, 0};

    memset(name, 'n', LIMIT_STATE_NAME);
    require_refused(NULL, "state is NULL");
    require_refused(&(struct hoop_state){NULL, 1, 1, 0}, "tensors is NULL");
    require_refused(&(struct hoop_state){two, 2, 1, 1023}, "too small");
    two[1].name = "w";
    require_refused(&wrong, "\"w\" is there twice");
    two[1].name = "";
    require_refused(&wrong, "tensors[1] has no name");
    two[1].name = name;
    require_refused(&wrong, "longer than 1023 bytes");
    two[1].name = "b";
    two[1].tensor.strides = strides;
    require_refused(&wrong, "tensor \"b\" does not lie dense");
    two[1].tensor.strides = NULL;
    two[1].tensor.data = NULL;
    require_refused(&wrong, "tensor \"b\" has no data");
}

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

    assert_ok(state_manifest_create(&it, &tensor_manifest));
    assert_ok(state_manifest_to_text(tensor_manifest, &manifest_text));
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

    assert_int_equal(mine.n_bytes, theirs.n_bytes);
    assert_memory_equal(mine.bytes, theirs.bytes, mine.n_bytes);
    assert_ok(manifest_text_compare(&mine, &theirs, 7));
    free(mine.bytes);
    free(theirs.bytes);
}

static void
manifest_text_that_differs_says_where(void **state)
{
    struct hoop_named_tensor other[] = {three[0], three[1], three[2]};
    struct manifest_text_bytes mine = manifest_text_of(three, 3, 4096);
    struct manifest_text_bytes theirs = manifest_text_of(three, 3, 8192);

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
        cmocka_unit_test(tensor_manifest_cuts_each_tensor_by_itself),
        cmocka_unit_test(tensor_manifest_digest_tells_every_byte),
        cmocka_unit_test(tensor_manifest_of_nothing_has_no_blocks),
        cmocka_unit_test(tensor_manifest_of_wrong_tensors_is_refused),
        cmocka_unit_test(
            manifest_text_of_the_same_in_another_order_is_the_same),
        cmocka_unit_test(manifest_text_that_differs_says_where),
        cmocka_unit_test(manifest_text_that_is_cut_off_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
