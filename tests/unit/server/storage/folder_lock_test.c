/* tests/unit/server/storage/folder_lock_test.c - one holder, and what he
 * leaves */

#include <signal.h>
#include <sys/wait.h>

#include "base/error.h"
#include "folder.h"
#include "storage/folder_lock.h"

static void
refused(const struct folder *folder, enum hoop_status status, const char *part)
{
    struct folder_lock *folder_lock = NULL;

    assert_int_equal(folder_lock_take(folder->path,
                                      STORAGE_SURVIVES_PROCESS_CRASH,
                                      &folder_lock),
                     status);
    if (!strstr(error_text(), part))
        print_error("%s\n", error_text());
    assert_non_null(strstr(error_text(), part));
}

static void
second_claim_is_refused_and_names_the_first(void **state)
{
    struct folder folder;
    struct folder_lock *folder_lock = NULL;
    char pid[32];

    folder_make(&folder);
    assert_false(folder_lock_is_held(folder.path));
    assert_ok(folder_lock_take(folder.path, STORAGE_SURVIVES_MACHINE_CRASH,
                               &folder_lock));
    assert_true(folder_lock_is_held(folder.path));
    snprintf(pid, sizeof(pid), "pid %d on host ", (int)getpid());
    refused(&folder, HOOP_E_EXISTS, pid);
    folder_lock_release(folder_lock);
    assert_false(folder_lock_is_held(folder.path));
    assert_ok(folder_lock_take(folder.path, STORAGE_SURVIVES_MACHINE_CRASH,
                               &folder_lock));
    folder_lock_release(folder_lock);
    folder_remove(&folder);
}

static void
holder_killed_holds_no_more(void **state)
{
    struct folder folder;
    struct folder_lock *folder_lock = NULL;
    int ready[2];
    char byte = 0;

    folder_make(&folder);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        byte = folder_lock_take(folder.path, STORAGE_SURVIVES_PROCESS_CRASH,
                                &folder_lock) == HOOP_OK;
        (void)!write(ready[1], &byte, 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    refused(&folder, HOOP_E_EXISTS, "another coordinator");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    /* The same machine goes on: nothing is lost. */
    assert_ok(folder_lock_take(folder.path, STORAGE_SURVIVES_PROCESS_CRASH,
                               &folder_lock));
    folder_lock_release(folder_lock);
    close(ready[0]);
    close(ready[1]);
    folder_remove(&folder);
}

static void
folder_is_made_for_its_user_alone(void **state)
{
    struct folder folder;
    struct folder inner;
    struct folder_lock *folder_lock = NULL;
    struct stat made;

    folder_make(&folder);
    snprintf(inner.path, sizeof(inner.path), "%.40s/inner", folder.path);
    assert_ok(folder_lock_take(inner.path, STORAGE_SURVIVES_MACHINE_CRASH,
                               &folder_lock));
    assert_int_equal(stat(inner.path, &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);
    assert_int_equal(stat(folder_file(&inner, "hoopd.lock"), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0600);
    folder_lock_release(folder_lock);
    folder_remove(&inner);
    folder_remove(&folder);
    refused(&inner, HOOP_E_UNAVAILABLE, inner.path);
}

static void
file_for_a_folder_is_refused(void **state)
{
    struct folder folder;
    struct folder file;

    folder_make(&folder);
    folder_write(&folder, "hoopd.mdb", "");
    snprintf(file.path, sizeof(file.path), "%.40s/hoopd.mdb", folder.path);
    assert_false(folder_lock_is_held(file.path));
    refused(&file, HOOP_E_UNAVAILABLE, "Not a directory");
    folder_remove(&folder);
}

static void
machine_that_went_down_under_process_is_told(void **state)
{
    static const char former[] = "pid 7 on host a\nstarted on another\n";
    struct folder folder;
    struct folder_lock *folder_lock = NULL;
    char text[128];

    folder_make(&folder);
    snprintf(text, sizeof(text), "%sprocess\nin use\n", former);
    folder_write(&folder, "hoopd.lock", text);
    refused(&folder, HOOP_E_DATA_LOSS, "pid 7 on host a");
    snprintf(text, sizeof(text), "%sdisk\nin use\n", former);
    folder_write(&folder, "hoopd.lock", text);
    assert_ok(folder_lock_take(folder.path, STORAGE_SURVIVES_PROCESS_CRASH,
                               &folder_lock));
    folder_lock_release(folder_lock);
    snprintf(text, sizeof(text), "%sprocess\nsettled\n", former);
    folder_write(&folder, "hoopd.lock", text);
    assert_ok(folder_lock_take(folder.path, STORAGE_SURVIVES_PROCESS_CRASH,
                               &folder_lock));
    folder_lock_release(folder_lock);
    folder_remove(&folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_claim_is_refused_and_names_the_first),
        cmocka_unit_test(holder_killed_holds_no_more),
        cmocka_unit_test(folder_is_made_for_its_user_alone),
        cmocka_unit_test(file_for_a_folder_is_refused),
        cmocka_unit_test(machine_that_went_down_under_process_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
