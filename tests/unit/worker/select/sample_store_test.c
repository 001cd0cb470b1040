/* tests/unit/worker/select/sample_store_test.c - select/samples.c */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "select/samples.h"
#include "temporary.h"

static const char text[] = "2 1 allreduce 64 ring=1 recursive_doubling=9\n";

static char folder[TEMPORARY_PATH] = "hoop-race-store-XXXXXX";

static int
folder_make(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!temporary_folder(folder, sizeof(folder)))
        return -1;
    return setenv("XDG_CACHE_HOME", folder, 1);
}

static char *
path_of(const char *transport)
{
    char *path = NULL;

    assert_int_equal(sample_store_path(transport, &path), HOOP_OK);
    return path;
}

static void
path_tells_machine_and_transport(void **state)
{
    CLEANUP(free) char *one = path_of("tcp");
    CLEANUP(free) char *same = path_of("tcp");
    CLEANUP(free) char *other = path_of("shm");
    char *path = NULL;

    (void)state;
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    assert_ptr_equal(strstr(one, folder), one);
    assert_non_null(strstr(one, "/hoop/tuning-"));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", folder, 1);
    path = path_of("tcp");
    assert_non_null(strstr(path, "/.cache/hoop/tuning-"));
    free(path);
    unsetenv("HOME");
    path = NULL;
    assert_int_equal(sample_store_path("tcp", &path), HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "XDG_CACHE_HOME"));
    assert_null(path);
    assert_int_equal(rmdir(folder), 0);
}

/* And nothing is left beside it. */
static void
what_is_written_is_read_and_replaced(void **state)
{
    CLEANUP(free) char *path = path_of("tcp");
    char parent[192];

    (void)state;
    assert_null(sample_store_read(path));
    for (size_t n = 1; n <= 2; n++) {
        char all[2 * sizeof(text)] = "";

        for (size_t i = 0; i < n; i++)
            strcat(all, text);
        assert_int_equal(sample_store_write(path, all, strlen(all)), HOOP_OK);
        struct samples *samples = sample_store_read(path);
        assert_non_null(samples);
        assert_int_equal(samples->n, n);
        samples_destroy(samples);
    }
    assert_int_equal(unlink(path), 0);
    snprintf(parent, sizeof(parent), "%s/hoop", folder);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void
nonsense_is_none_and_no_folder_is_told(void **state)
{
    CLEANUP(free) char *path = path_of("tcp");
    CLEANUP(free) char *below = NULL;
    char parent[192];

    (void)state;
    assert_int_equal(sample_store_write(path, "2 1 gossip 8 x=1\n", 17),
                     HOOP_OK);
    assert_null(sample_store_read(path));
    assert_true(asprintf(&below, "%s/file", path) > 0);
    assert_int_equal(sample_store_write(below, text, strlen(text)),
                     HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(error_text(), "Not a directory"));
    assert_int_equal(unlink(path), 0);
    snprintf(parent, sizeof(parent), "%s/hoop", folder);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(path_tells_machine_and_transport, folder_make),
        cmocka_unit_test_setup(what_is_written_is_read_and_replaced,
                               folder_make),
        cmocka_unit_test_setup(nonsense_is_none_and_no_folder_is_told,
                               folder_make),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
