/* tests/unit/worker/checkpoint/manifest_test.c - what an index may say */

#include <stdio.h>
#include <stdlib.h>
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

    assert_ok(manifest_check(manifest));
    assert_ok(manifest_find_tensor(manifest, "b", &number));
    assert_int_equal(number, 1);
    assert_ok(manifest_find_tensor(manifest, "w", &number));
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

    memset(text, 'x', sizeof(text));
    text[LIMIT_CHECKPOINT_NAME] = '\0';
    manifest->tensors[1].name = text;
    require_refused(manifest, "1023 bytes");
    text[LIMIT_CHECKPOINT_NAME - 1] = '\0';
    assert_ok(manifest_check(manifest));
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

    assert_ok(manifest_digest(manifest, &digest));
    return digest;
}

static void
manifest_digest_tells_every_field(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    const uint64_t before = digest_of(manifest);
    struct hoop_checkpoint_tensor *tensor = &manifest->tensors[0];

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
    assert_ok(manifest_verify_digest(manifest));
    manifest->digest++;
    assert_int_equal(manifest_verify_digest(manifest), HOOP_E_DATA_LOSS);
    manifest_destroy(manifest);
}

static char *
text_of(const struct checkpoint_manifest *manifest)
{
    char *text = NULL;
    size_t n_bytes = 0;

    assert_ok(manifest_encode(manifest, &text, &n_bytes));
    assert_int_equal(strlen(text), n_bytes);
    return text;
}

static void
manifest_comes_back_as_it_was(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    struct checkpoint_manifest *again = NULL;
    char *text = text_of(manifest);

    assert_ok(manifest_decode(text, strlen(text), &again));
    assert_ok(manifest_verify_digest(again));
    assert_int_equal(again->contents.generation, 7);
    assert_int_equal(again->token, manifest->token);
    assert_int_equal(again->contents.n_tensors, 2);
    assert_string_equal(again->tensors[1].name, "b");
    assert_string_equal(again->files[2].name, manifest->files[2].name);
    assert_int_equal(again->files[2].digest, manifest->files[2].digest);
    assert_true(hoop_sharding_equal(&again->tensors[0].sharding,
                                    &manifest->tensors[0].sharding));
    free(text);
    manifest_destroy(again);
    manifest_destroy(manifest);
}

static void
manifest_is_a_tensor_a_line(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    char *text = text_of(manifest);

    assert_non_null(strstr(text, "\n{\"name\":\"w\",\"dtype\":\"float32\","
                                 "\"shape\":[6,10],\"mesh\":[2,2],"
                                 "\"cuts\":[[1,0],[]],\"uneven\":true},\n"));
    assert_non_null(strstr(text, "\n\"token\": \"1f2e3d4c5b6a7988\",\n"));
    assert_non_null(
        strstr(text, "\n{\"bytes\":65600,\"xxh3\":\"f000000000000003\"}"));
    free(text);
    manifest_destroy(manifest);
}

/* The text with its first from replaced by to must not be read. */
static void
manifest_json_require_refused(const char *text,
                              const char *from,
                              const char *to,
                              const char *words)
{
    const char *at = strstr(text, from);
    struct checkpoint_manifest *manifest = NULL;
    char changed[4096];

    assert_non_null(at);
    snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, to,
             at + strlen(from));
    assert_int_equal(manifest_decode(changed, strlen(changed), &manifest),
                     HOOP_E_DATA_LOSS);
    if (!strstr(error_text(), words))
        fail_msg("%s -> %s: \"%s\" does not say \"%s\"", from, to, error_text(),
                 words);
}

struct fault {
    const char *from;
    const char *to;
    const char *words;
};

static const struct fault faults[] = {
    {"hoop-checkpoint", "hoop", "format is wrong"},
    {"\"format\"", "\"form\"", "format is missing"},
    {"\"version\": 1", "\"version\": \"1\"", "version is wrong"},
    {"\"generation\": 7", "\"generation\": -7", "generation is wrong"},
    {"\"generation\": 7", "\"generation\": 9223372036854775807", "generation"},
    {"\"generation\": 7", "\"generation\": 7.5", "generation is wrong"},
    {"\"1f2e", "\"1F2e", "token is wrong"},
    {"\"1f2e", "\"1f2", "token is wrong"},
    {"\"digest\"", "\"gest\"", "digest is missing"},
    {"\"tensors\": [", "\"tensors\": [1,", "tensors[0].name is missing"},
    {"\"files\": [", "\"files\": [[],", "files[0].bytes is missing"},
    {"\"name\":\"w\"", "\"name\":\"b\"", "both named"},
    {"\"name\":\"w\"", "\"name\":\"\"", "no name"},
    {"\"name\":\"w\"", "\"name\":1", "tensors[0].name is wrong"},
    {"\"name\":\"w\"", "\"name\":\"w\\u0000\"", "line"},
    {"float32", "float33", "tensors[0].dtype is wrong"},
    {"[6,10]", "[6,-10]", "tensors[0].shape[1] is wrong"},
    {"[6,10]", "[6,1e3]", "tensors[0].shape[1] is wrong"},
    {"[6,10]", "[1,1,1,1,1,1,1,1,1]", "tensors[0].shape is wrong"},
    {"[6,10]", "[6]", "tensors[0].cuts is wrong"},
    {"[6,10]", "[9223372036854775807,2]", "\"w\""},
    {"[2,2]", "[2,3]", "6 ranks, not 4"},
    {"[2,2]", "[2,0]", "size 0"},
    {"[2,2]", "[4294967296,2]", "tensors[0].mesh[0] is wrong"},
    {"[2,2]", "[1,1,1,1,1,1,1,1,4]", "tensors[0].mesh is wrong"},
    {"[[1,0],[]]", "[[1,1],[]]", "axis 1"},
    {"[[1,0],[]]", "[[1,2],[]]", "axis 2"},
    {"[[1,0],[]]", "[[1,0],0]", "tensors[0].cuts[1] is wrong"},
    {"\"uneven\":true", "\"uneven\":1", "tensors[0].uneven is wrong"},
    {"\"uneven\":true", "\"uneven\":false", "cannot be cut"},
    {"\"bytes\":", "\"bytes\":-", "files[0].bytes is wrong"},
    {"\"xxh3\":\"f", "\"xxh3\":\"g", "files[0].xxh3 is wrong"},
    {"\"files\": [", "\"files\": [{\"bytes\":0,\"xxh3\":\"0000000000000000\"},",
     "4 ranks, not 5"},
    {"{\n", "{\n\"format\": \"hoop-checkpoint\",\n", "line"},
    {"}\n]\n}\n", "}\n]\n}\n}", "line"},
    {"}\n]\n}\n", "}\n]\n", "line"},
};

static void
manifest_with_a_fault_is_refused_with_its_place(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    char *text = text_of(manifest);

    for (size_t i = 0; i < COUNT_OF(faults); i++)
        manifest_json_require_refused(text, faults[i].from, faults[i].to,
                                      faults[i].words);
    manifest_json_require_refused(text, text, "[]", "an object is expected");
    free(text);
    manifest_destroy(manifest);
}

static void
manifest_of_another_version_is_left_alone(void **state)
{
    static const char text[] =
        "{\"format\": \"hoop-checkpoint\", \"version\": 2}";
    struct checkpoint_manifest *manifest = NULL;

    assert_int_equal(manifest_decode(text, strlen(text), &manifest),
                     HOOP_E_UNIMPLEMENTED);
    assert_non_null(strstr(error_text(), "version 2"));
}

static void
manifest_that_was_changed_is_not_proved(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    struct checkpoint_manifest *again = NULL;
    char *text = text_of(manifest);

    strstr(text, "\"name\":\"w\"")[8] = 'x';
    assert_ok(manifest_decode(text, strlen(text), &again));
    assert_int_equal(manifest_verify_digest(again), HOOP_E_DATA_LOSS);
    free(text);
    manifest_destroy(again);
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
        cmocka_unit_test(manifest_comes_back_as_it_was),
        cmocka_unit_test(manifest_is_a_tensor_a_line),
        cmocka_unit_test(manifest_with_a_fault_is_refused_with_its_place),
        cmocka_unit_test(manifest_of_another_version_is_left_alone),
        cmocka_unit_test(manifest_that_was_changed_is_not_proved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
