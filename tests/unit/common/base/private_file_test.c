/* tests/unit/common/base/private_file_test.c - base/private_file.c */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/private_file.h"
#include "check.h"
#include "temporary.h"

enum {
    OTHER_USER = 54321,
};

static char folder[TEMPORARY_PATH] = "private_file_test.XXXXXX";
static char file[192];

static void
file_make(const char *name, mode_t mode)
{
    snprintf(file, sizeof(file), "%s/%s", folder, name);
    const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "secret", 6), 6);
    /* Whatever the umask is. */
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static enum hoop_status
opened(const char *path)
{
    int fd = -1;
    const enum hoop_status status = private_file_open("token file", path, &fd);
    char text[8] = "";

    assert_int_equal(status == HOOP_OK, fd >= 0);
    if (status != HOOP_OK)
        return status;
    assert_int_equal(read(fd, text, sizeof(text)), 6);
    assert_string_equal(text, "secret");
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    return HOOP_OK;
}

static int
folder_make(void **state)
{
    return temporary_folder(folder, sizeof(folder)) ? 0 : -1;
}

static int
folder_remove(void **state)
{
    char command[256];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* Every mode there is: for nobody else, but that root's group may read. */
static void
private_file_modes_that_are_taken(void **state)
{
    const unsigned forbidden = geteuid() == 0 ? 027 : 077;

    for (unsigned mode = 0; mode <= 0777; mode++) {
        /* Who is not root cannot open what it may not read itself. */
        if (geteuid() != 0 && !(mode & 0400))
            continue;
        file_make("token", (mode_t)mode);
        assert_int_equal(opened(file),
                         mode & forbidden ? HOOP_E_DENIED : HOOP_OK);
    }
}

static void
private_file_refusal_says_what_to_run(void **state)
{
    char command[256];

    file_make("token", 0644);
    snprintf(command, sizeof(command), "chmod 600 %s", file);
    assert_int_equal(opened(file), HOOP_E_DENIED);
    assert_non_null(strstr(error_text(), command));
    assert_non_null(strstr(error_text(), "0644"));
}

static void
private_file_that_is_not_there_is_not_found(void **state)
{
    assert_int_equal(opened("/nowhere/token"), HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "/nowhere/token"));
    assert_int_equal(opened("/"), HOOP_E_NOT_FOUND);
    assert_int_equal(opened("/dev/null"), HOOP_E_NOT_FOUND);
    assert_int_equal(opened(""), HOOP_E_NOT_FOUND);
}

/* As Kubernetes mounts them: token -> ..data/token, ..data -> ..2026. */
static void
private_file_links_of_ones_own_are_followed(void **state)
{
    char path[192];

    snprintf(path, sizeof(path), "%s/..2026", folder);
    assert_int_equal(mkdir(path, 0755), 0);
    file_make("..2026/linked", 0600);
    snprintf(path, sizeof(path), "%s/..data", folder);
    assert_int_equal(symlink("..2026", path), 0);
    snprintf(path, sizeof(path), "%s/linked", folder);
    assert_int_equal(symlink("..data/linked", path), 0);
    assert_ok(opened(path));

    /* What it leads to is judged. */
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(opened(path), HOOP_E_DENIED);

    snprintf(path, sizeof(path), "%s/loop", folder);
    assert_int_equal(symlink("loop", path), 0);
    assert_int_equal(opened(path), HOOP_E_NOT_FOUND);
}

static void
private_file_of_another_user_is_refused(void **state)
{
    char path[192];
    char second[192];

    if (geteuid() != 0)
        skip(); /* Only root can give a file away. */
    file_make("given", 0600);
    assert_int_equal(chown(file, OTHER_USER, (gid_t)-1), 0);
    assert_int_equal(opened(file), HOOP_E_DENIED);
    assert_non_null(strstr(error_text(), "54321"));
    assert_non_null(strstr(error_text(), "chown"));

    /* A link of another user, also behind one of one's own. */
    file_make("target", 0600);
    snprintf(path, sizeof(path), "%s/theirs", folder);
    assert_int_equal(symlink("target", path), 0);
    assert_ok(opened(path));
    assert_int_equal(lchown(path, OTHER_USER, (gid_t)-1), 0);
    assert_int_equal(opened(path), HOOP_E_DENIED);
    snprintf(second, sizeof(second), "%s/ours", folder);
    assert_int_equal(symlink(path, second), 0);
    assert_int_equal(opened(second), HOOP_E_DENIED);
    assert_non_null(strstr(error_text(), "theirs"));
}

/* As a shell's <(command). A pipe that nobody writes is not waited for. */
static void
private_file_may_be_a_pipe(void **state)
{
    char path[192];
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "secret", 6), 6);
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    assert_ok(opened(path));
    close(ends[0]);
    close(ends[1]);

    snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fd = -1;
    char byte;
    assert_ok(private_file_open("token file", path, &fd));
    assert_int_equal(read(fd, &byte, 1), 0);
    close(fd);
}

static void
private_folder_that_others_write_is_refused(void **state)
{
    char path[192];

    snprintf(path, sizeof(path), "%s/data", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (unsigned mode = 0700; mode <= 01777; mode++) {
        if ((mode & 0700) != 0700)
            continue;
        assert_int_equal(chmod(path, (mode_t)mode), 0);
        assert_int_equal(private_folder_check("data folder", path),
                         mode & 022 ? HOOP_E_DENIED : HOOP_OK);
    }
    assert_non_null(strstr(error_text(), "chmod 700"));
    assert_int_equal(chmod(path, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, OTHER_USER, (gid_t)-1), 0);
        assert_int_equal(private_folder_check("data folder", path),
                         HOOP_E_DENIED);
    }
    assert_int_equal(private_folder_check("data folder", "/nowhere"),
                     HOOP_E_NOT_FOUND);
    file_make("plain", 0600);
    assert_int_equal(private_folder_check("data folder", file),
                     HOOP_E_UNAVAILABLE);
}

static void
private_file_of_ones_own_has_mode_600_and_is_no_link(void **state)
{
    char path[192];

    for (unsigned mode = 0; mode <= 0777; mode++) {
        file_make("own", (mode_t)mode);
        assert_int_equal(private_file_check_own("data file", file),
                         mode & 077 ? HOOP_E_DENIED : HOOP_OK);
    }
    snprintf(path, sizeof(path), "%s/link", folder);
    assert_int_equal(symlink("own", path), 0);
    assert_int_equal(private_file_check_own("data file", path), HOOP_E_DENIED);
    assert_ok(private_file_check_own("data file", "/nowhere/x"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(private_file_modes_that_are_taken),
        cmocka_unit_test(private_file_refusal_says_what_to_run),
        cmocka_unit_test(private_file_that_is_not_there_is_not_found),
        cmocka_unit_test(private_file_links_of_ones_own_are_followed),
        cmocka_unit_test(private_file_of_another_user_is_refused),
        cmocka_unit_test(private_file_may_be_a_pipe),
        cmocka_unit_test(private_folder_that_others_write_is_refused),
        cmocka_unit_test(private_file_of_ones_own_has_mode_600_and_is_no_link),
    };

    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
