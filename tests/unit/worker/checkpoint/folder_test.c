/* tests/unit/worker/checkpoint/folder_test.c - what commits a checkpoint */

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "checkpoint/folder.h"
#include "manifest_case.h"
#include "place_case.h"

static void
folder_that_is_not_there_is_not_found(void **state)
{
    struct folder folder;

    assert_int_equal(folder_open("/nowhere/hoop", &folder), HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "/nowhere/hoop"));
    assert_int_equal(folder_open("/etc/passwd", &folder), HOOP_E_NOT_FOUND);
    assert_int_equal(folder_open(NULL, &folder), HOOP_E_INVALID);
    assert_int_equal(folder_open("", &folder), HOOP_E_INVALID);
    folder = FOLDER_CLOSED;
    folder_close(&folder);
}

static void
folder_committed_says_what_was_committed(void **state)
{
    struct folder *folder = place_case_create();
    struct checkpoint_manifest *manifest = manifest_case_two();
    struct checkpoint_manifest *again = NULL;
    enum folder_commit_outcome outcome;

    assert_int_equal(folder_load_manifest(folder, &again), HOOP_E_NOT_FOUND);
    assert_ok(folder_commit(folder, manifest, &outcome));
    assert_int_equal(outcome, FOLDER_COMMIT_DONE);
    assert_ok(folder_load_manifest(folder, &again));
    assert_int_equal(again->token, manifest->token);
    assert_false(place_case_has(folder, "hoop-7-1f2e3d4c5b6a7988.index"));
    manifest_destroy(again);
    manifest_destroy(manifest);
    place_case_destroy(folder);
}

static void
folder_commit_that_fails_leaves_the_index(void **state)
{
    struct folder *folder = place_case_create();
    struct checkpoint_manifest *manifest = manifest_case_two();
    enum folder_commit_outcome outcome;

    place_case_write_text(folder, "index.json", "before");
    place_case_write_text(folder, "hoop-7-1f2e3d4c5b6a7988.index",
                          "in the way");
    assert_int_not_equal(folder_commit(folder, manifest, &outcome), HOOP_OK);
    assert_int_equal(outcome, FOLDER_COMMIT_UNCHANGED);
    char text[8] = "";
    const int fd = openat(folder->fd, "index.json", 0);
    assert_int_equal(read(fd, text, sizeof(text)), 6);
    close(fd);
    assert_string_equal(text, "before");
    manifest_destroy(manifest);
    place_case_destroy(folder);
}

static void
folder_locked_is_locked_for_others(void **state)
{
    struct folder *folder = place_case_create();
    struct folder other;

    assert_ok(folder_open(folder->path, &other));
    assert_ok(folder_lock(folder));
    assert_int_equal(folder_lock(&other), HOOP_E_PRECONDITION);
    assert_non_null(strstr(error_text(), "another save"));
    const char *const path = folder->path;
    folder_close(folder);
    folder->path = path;
    assert_ok(folder_lock(&other));
    folder_close(&other);
    assert_ok(folder_open(path, folder));
    place_case_destroy(folder);
}

static void
folder_clean_removes_only_our_leftovers(void **state)
{
    struct folder *folder = place_case_create();
    struct checkpoint_manifest *manifest = manifest_case_two();

    place_case_write(folder, "hoop-7-1f2e3d4c5b6a7988-0.part", 1);
    place_case_write(folder, "hoop-7-1f2e3d4c5b6a7989-0.part", 1);
    place_case_write(folder, "hoop-8-1f2e3d4c5b6a7988-0.part", 1);
    place_case_write(folder, "hoop-7-1f2e3d4c5b6a7988.index", 1);
    place_case_write(folder, "notes.part", 1);
    place_case_write(folder, "index.json", 1);
    folder_remove_old_files(folder, manifest);
    assert_true(place_case_has(folder, "hoop-7-1f2e3d4c5b6a7988-0.part"));
    assert_false(place_case_has(folder, "hoop-7-1f2e3d4c5b6a7989-0.part"));
    assert_false(place_case_has(folder, "hoop-8-1f2e3d4c5b6a7988-0.part"));
    assert_false(place_case_has(folder, "hoop-7-1f2e3d4c5b6a7988.index"));
    assert_true(place_case_has(folder, "notes.part"));
    assert_true(place_case_has(folder, "index.json"));
    folder_remove_old_files(folder, NULL);
    assert_false(place_case_has(folder, "hoop-7-1f2e3d4c5b6a7988-0.part"));
    assert_true(place_case_has(folder, "notes.part"));
    manifest_destroy(manifest);
    place_case_destroy(folder);
}

static void
folder_with_a_wrong_index_says_so(void **state)
{
    struct folder *folder = place_case_create();
    struct checkpoint_manifest *manifest = NULL;

    place_case_write_text(folder, "index.json", "{}");
    assert_int_equal(folder_load_manifest(folder, &manifest), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "/index.json: format is missing"));
    place_case_write_text(folder, "index.json", "");
    assert_int_equal(folder_load_manifest(folder, &manifest), HOOP_E_DATA_LOSS);
    assert_int_equal(unlinkat(folder->fd, "index.json", 0), 0);
    assert_int_equal(mkdirat(folder->fd, "index.json", 0700), 0);
    assert_int_equal(folder_load_manifest(folder, &manifest), HOOP_E_DATA_LOSS);
    assert_int_equal(unlinkat(folder->fd, "index.json", AT_REMOVEDIR), 0);
    place_case_destroy(folder);
}

static void
folder_without_a_part_is_noticed(void **state)
{
    struct folder *folder = place_case_create();
    struct checkpoint_manifest *manifest = manifest_case_two();

    for (uint32_t i = 0; i < 4; i++)
        place_case_write(folder, manifest->files[i].name,
                         manifest->files[i].n_bytes);
    assert_ok(folder_check_files(folder, manifest));
    place_case_write(folder, manifest->files[2].name,
                     manifest->files[2].n_bytes - 1);
    assert_int_equal(folder_check_files(folder, manifest), HOOP_E_DATA_LOSS);
    assert_int_equal(unlinkat(folder->fd, manifest->files[2].name, 0), 0);
    assert_int_equal(folder_check_files(folder, manifest), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "place 2"));
    manifest_destroy(manifest);
    place_case_destroy(folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_that_is_not_there_is_not_found),
        cmocka_unit_test(folder_committed_says_what_was_committed),
        cmocka_unit_test(folder_commit_that_fails_leaves_the_index),
        cmocka_unit_test(folder_locked_is_locked_for_others),
        cmocka_unit_test(folder_clean_removes_only_our_leftovers),
        cmocka_unit_test(folder_with_a_wrong_index_says_so),
        cmocka_unit_test(folder_without_a_part_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
