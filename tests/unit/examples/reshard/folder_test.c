/* tests/unit/examples/reshard/folder_test.c - reshard/folder.c */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alone.h"
#include "check.h"
#include "reshard/folder.h"
#include "temporary.h"

static int
folder_exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void
folder_without_a_name_is_new_and_removed_with_all_in_it(void **state)
{
    char inside[FOLDER_PATH_BYTES + 8];
    struct folder folder = {0};
    struct folder other = {0};

    assert_int_equal(folder_open(NULL, alone_comm(state), &folder), HOOP_OK);
    assert_int_equal(folder_open(NULL, alone_comm(state), &other), HOOP_OK);
    assert_true(folder_exists(folder.path));
    assert_string_not_equal(folder.path, other.path);
    snprintf(inside, sizeof(inside), "%s/index", folder.path);
    const int file = open(inside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    folder_remove(&folder);
    folder_remove(&other);
    assert_false(folder_exists(folder.path));
    assert_false(folder_exists(other.path));
}

static void
folder_with_a_name_is_made_once_and_stays(void **state)
{
    char path[TEMPORARY_PATH] = "hoop_folder_test_XXXXXX";
    struct folder folder = {0};

    assert_non_null(temporary_folder(path, sizeof(path)));
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(folder_open(path, alone_comm(state), &folder),
                         HOOP_OK);
        assert_string_equal(folder.path, path);
        folder_remove(&folder);
        assert_true(folder_exists(path));
    }
    assert_int_equal(rmdir(path), 0);
}

static void
folder_that_cannot_be_is_refused(void **state)
{
    static char path[2 * FOLDER_PATH_BYTES];
    struct folder folder = {0};

    memset(path, 'a', sizeof(path) - 1);
    assert_int_equal(folder_open(path, alone_comm(state), &folder),
                     HOOP_E_UNAVAILABLE);
    assert_int_equal(folder_open("/dev/null/x", alone_comm(state), &folder),
                     HOOP_E_UNAVAILABLE);
    assert_string_equal(folder.path, "");
    folder_remove(&folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            folder_without_a_name_is_new_and_removed_with_all_in_it),
        cmocka_unit_test(folder_with_a_name_is_made_once_and_stays),
        cmocka_unit_test(folder_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
