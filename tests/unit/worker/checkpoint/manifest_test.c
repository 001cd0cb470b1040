/* tests/unit/worker/checkpoint/manifest_test.c - what an index may say */

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "checkpoint/manifest.h"
#include "manifest_case.h"

static void
require_refused(struct checkpoint_manifest *manifest, const char *words)
{
    assert_int_equal(manifest_check(manifest), HOOP_E_INVALID);
    if (!strstr(error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", error_text(), words);
}

static void
manifest_of_two_tensors_is_good(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    size_t number = 0;

    (void)state;
    assert_int_equal(manifest_check(manifest), HOOP_OK);
    assert_int_equal(manifest_find_tensor(manifest, "b", &number), HOOP_OK);
    assert_int_equal(number, 1);
    assert_int_equal(manifest_find_tensor(manifest, "w", &number), HOOP_OK);
    assert_int_equal(number, 0);
    assert_int_equal(manifest_find_tensor(manifest, "c", &number),
                     HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "\"c\""));
    assert_string_equal(manifest->contents.files[3].name,
                        "hoop-7-1f2e3d4c5b6a7988-3.part");
    manifest_destroy(manifest);
    manifest_destroy(NULL);
}

static void
manifest_with_a_wrong_tensor_is_refused(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    struct hoop_checkpoint_tensor *tensor = &manifest->tensors[1];
    const struct hoop_checkpoint_tensor before = *tensor;

    (void)state;
    tensor->dtype = (enum hoop_dtype)99;
    require_refused(manifest, "dtype");
    *tensor = before;
    tensor->shape.n_dims = HOOP_MAX_DIMS + 1;
    require_refused(manifest, "\"b\"");
    *tensor = before;
    tensor->sharding.dims[0] = (struct hoop_axes){1, {2}};
    require_refused(manifest, "axis 2");
    *tensor = before;
    tensor->sharding.dims[1] = (struct hoop_axes){1, {0}};
    require_refused(manifest, "dim 1");
    *tensor = before;
    tensor->sharding.partial = (struct hoop_axes){1, {0}};
    require_refused(manifest, "partial");
    *tensor = before;
    tensor->mesh.sizes[0] = 3;
    require_refused(manifest, "6 ranks, not 4");
    *tensor = before;
    tensor->mesh.n_axes = 0;
    require_refused(manifest, "no axes");
    *tensor = before;
    manifest_destroy(manifest);
}

static void
manifest_with_too_many_bytes_is_refused(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();

    (void)state;
    manifest->tensors[0].shape = (struct hoop_shape){1, {INT64_MAX}};
    require_refused(manifest, "bytes");
    manifest->tensors[0].dtype = HOOP_INT8;
    require_refused(manifest, "bytes");
    manifest->tensors[0].shape = (struct hoop_shape){1, {INT64_MAX - 100}};
    require_refused(manifest, "bytes"); /* with the other's */
    manifest_destroy(manifest);
}

static void
manifest_with_a_wrong_name_is_refused(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    const char *const before = manifest->tensors[1].name;
    char text[LIMIT_CHECKPOINT_NAME + 1];

    (void)state;
    memset(text, 'x', sizeof(text));
    text[LIMIT_CHECKPOINT_NAME] = '\0';
    manifest->tensors[1].name = text;
    require_refused(manifest, "1023 bytes");
    text[LIMIT_CHECKPOINT_NAME - 1] = '\0';
    assert_int_equal(manifest_check(manifest), HOOP_OK);
    manifest->tensors[1].name = "";
    require_refused(manifest, "no name");
    manifest->tensors[1].name = NULL;
    require_refused(manifest, "no name");
    manifest->tensors[1].name = "a\377";
    require_refused(manifest, "not UTF-8");
    manifest->tensors[1].name = "w";
    require_refused(manifest, "both named \"w\"");
    manifest->tensors[1].name = before;
    manifest_destroy(manifest);
}

static uint64_t
digest_of(const struct checkpoint_manifest *manifest)
{
    uint64_t digest = 0;

    assert_int_equal(manifest_digest(manifest, &digest), HOOP_OK);
    return digest;
}

static void
manifest_digest_tells_every_field(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    const uint64_t before = digest_of(manifest);
    struct hoop_checkpoint_tensor *tensor = &manifest->tensors[0];

    (void)state;
    manifest->token++;
    assert_int_not_equal(digest_of(manifest), before);
    manifest->token--;
    manifest->files[3].n_bytes++;
    assert_int_not_equal(digest_of(manifest), before);
    manifest->files[3].n_bytes--;
    manifest->files[0].digest++;
    assert_int_not_equal(digest_of(manifest), before);
    manifest->files[0].digest--;
    tensor->dtype = HOOP_INT32;
    assert_int_not_equal(digest_of(manifest), before);
    tensor->dtype = HOOP_FLOAT32;
    tensor->shape = (struct hoop_shape){2, {10, 6}};
    assert_int_not_equal(digest_of(manifest), before);
    tensor->shape = (struct hoop_shape){2, {6, 10}};
    tensor->sharding.dims[0] = (struct hoop_axes){2, {0, 1}};
    assert_int_not_equal(digest_of(manifest), before);
    tensor->sharding.dims[0] = (struct hoop_axes){2, {1, 0}};
    tensor->sharding.is_uneven = false;
    assert_int_not_equal(digest_of(manifest), before);
    tensor->sharding.is_uneven = true;
    assert_int_equal(digest_of(manifest), before);
    manifest->digest = before;
    assert_int_equal(manifest_verify_digest(manifest), HOOP_OK);
    manifest->digest++;
    assert_int_equal(manifest_verify_digest(manifest), HOOP_E_DATA_LOSS);
    manifest_destroy(manifest);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifest_of_two_tensors_is_good),
        cmocka_unit_test(manifest_with_a_wrong_tensor_is_refused),
        cmocka_unit_test(manifest_with_too_many_bytes_is_refused),
        cmocka_unit_test(manifest_with_a_wrong_name_is_refused),
        cmocka_unit_test(manifest_digest_tells_every_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
