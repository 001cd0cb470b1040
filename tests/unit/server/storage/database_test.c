/* tests/unit/server/storage/database_test.c - all or nothing, and damage
 * found */

#include <signal.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "folder.h"
#include "storage/database.h"

static struct storage_span
text(const char *text)
{
    return (struct storage_span){text, strlen(text)};
}

static void
put(struct database *database, const char *key, const char *value)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};

    changeset_put(&changes, '/', text(key), text(value));
    assert_ok(database_apply_changes(database, &changes));
}

static void
erase(struct database *database, const char *key)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};

    changeset_erase(&changes, '/', text(key));
    assert_ok(database_apply_changes(database, &changes));
}

struct listing {
    char text[512];
};

static enum hoop_status
listing_add(void *owner, struct storage_span key, struct storage_span value)
{
    struct listing *listing = owner;
    const size_t n_bytes = strlen(listing->text);

    snprintf(listing->text + n_bytes, sizeof(listing->text) - n_bytes,
             "%.*s=%.*s ", (int)key.n_bytes, (const char *)key.bytes,
             (int)value.n_bytes, (const char *)value.bytes);
    return HOOP_OK;
}

static void
holds(struct database *database, const char *expected)
{
    struct listing listing = {0};

    assert_ok(database_visit_records(database, listing_add, &listing));
    assert_string_equal(listing.text, expected);
}

static void
records_outlive_their_database(void **state)
{
    struct folder folder;
    struct database *database = NULL;

    folder_make(&folder);
    for (int durability = STORAGE_SURVIVES_PROCESS_CRASH;
         durability <= STORAGE_SURVIVES_MACHINE_CRASH; durability++) {
        assert_ok(database_open(
            folder.path, (enum storage_durability)durability, &database));
        put(database, "b", "2");
        put(database, "a",
            durability == STORAGE_SURVIVES_MACHINE_CRASH ? "3" : "1");
        database_close(database);
    }
    assert_ok(
        database_open(folder.path, STORAGE_SURVIVES_MACHINE_CRASH, &database));
    holds(database, "/a=3 /b=2 ");
    database_close(database);
    folder_remove(&folder);
}

static void
erasing_takes_all_that_begin_so(void **state)
{
    struct folder folder;
    struct database *database = NULL;
    char key[32];

    folder_make(&folder);
    assert_ok(
        database_open(folder.path, STORAGE_SURVIVES_PROCESS_CRASH, &database));
    put(database, "a", "");
    put(database, "c", "");
    /* Several pages of them. */
    for (int i = 0; i < 2000; i++) {
        snprintf(key, sizeof(key), "b%d", i);
        put(database, key, "some value that takes its place in a page");
    }
    erase(database, "b1999");
    erase(database, "b");
    erase(database, "nothing");
    holds(database, "/a= /c= ");
    erase(database, "");
    holds(database, "");
    database_close(database);
    folder_remove(&folder);
}

static void
damaged(const struct folder *folder)
{
    struct database *database = NULL;
    struct listing listing = {0};

    enum hoop_status status =
        database_open(folder->path, STORAGE_SURVIVES_MACHINE_CRASH, &database);
    if (status == HOOP_OK)
        status = database_visit_records(database, listing_add, &listing);
    assert_int_equal(status, HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), folder->path));
    database_close(database);
}

static void
foreign_file_is_refused(void **state)
{
    struct folder folder;
    char text[8192];

    folder_make(&folder);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    folder_write(&folder, "hoopd.mdb", text);
    damaged(&folder);
    folder_write(&folder, "hoopd.mdb", "short");
    damaged(&folder);
    folder_remove(&folder);
}

/* A file with large and small records. */
static off_t
file_fill(const struct folder *folder)
{
    static char large[64 * 1024];
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct database *database = NULL;
    struct stat file;

    memset(large, 'l', sizeof(large));
    changeset_put(&changes, 'l', text("arge"),
                  (struct storage_span){large, sizeof(large)});
    assert_ok(
        database_open(folder->path, STORAGE_SURVIVES_MACHINE_CRASH, &database));
    assert_ok(database_apply_changes(database, &changes));
    put(database, "marked", "a value to be found");
    database_close(database);
    assert_int_equal(stat(folder_file(folder, "hoopd.mdb"), &file), 0);
    return file.st_size;
}

static void
file_cut_short_is_found(void **state)
{
    struct folder folder;

    folder_make(&folder);
    for (int part = 1; part < 4; part++) {
        const off_t n_bytes = file_fill(&folder);

        assert_int_equal(truncate(folder_file(&folder, "hoopd.mdb"),
                                  n_bytes * part / 4 / 4096 * 4096),
                         0);
        damaged(&folder);
        unlink(folder_file(&folder, "hoopd.mdb"));
    }
    folder_remove(&folder);
}

static void
value_changed_on_disk_is_found(void **state)
{
    struct folder folder;
    static char bytes[1 << 20];

    folder_make(&folder);
    file_fill(&folder);
    const int fd = open(folder_file(&folder, "hoopd.mdb"), O_RDWR | O_CLOEXEC);
    const ssize_t n_bytes = pread(fd, bytes, sizeof(bytes), 0);
    char *at = memmem(bytes, (size_t)n_bytes, "to be found", 11);
    assert_non_null(at);
    for (; at; at = memmem(at + 1, (size_t)(bytes + n_bytes - at - 1),
                           "to be found", 11))
        assert_int_equal(pwrite(fd, "T", 1, at - bytes), 1);
    close(fd);
    damaged(&folder);
    folder_remove(&folder);
}

/* As on a full disk; afterwards it is as if it had not been tried. */
static void
write_that_fails_changes_nothing(void **state)
{
    static char large[1 << 20];
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct folder folder;
    struct database *database = NULL;
    struct rlimit former;

    folder_make(&folder);
    assert_ok(
        database_open(folder.path, STORAGE_SURVIVES_PROCESS_CRASH, &database));
    put(database, "a", "1");
    changeset_put(&changes, '/', text("a"), text("2"));
    changeset_put(&changes, '/', text("large"),
                  (struct storage_span){large, sizeof(large)});

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &former), 0);
    const struct rlimit less = {256 * 1024, former.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    assert_int_not_equal(database_apply_changes(database, &changes), HOOP_OK);
    assert_non_null(strstr(error_text(), folder.path));
    holds(database, "/a=1 ");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &former), 0);
    assert_ok(database_apply_changes(database, &changes));
    erase(database, "large");
    holds(database, "/a=2 ");
    database_close(database);
    folder_remove(&folder);
}

/* The last of our descriptors of the file: its page of pages goes there. */
static int
descriptor_of_pages(const struct folder *folder)
{
    char link[64];
    char path[512];
    int found = -1;

    for (int fd = 0; fd < 256; fd++) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
            continue;
        path[n] = '\0';
        if (strcmp(path, folder_file(folder, "hoopd.mdb")) == 0)
            found = fd;
    }
    return found;
}

/* Then the library refuses everything, until it is opened anew. */
static void
library_that_has_given_up_is_opened_anew(void **state)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct folder folder;
    struct database *database = NULL;

    folder_make(&folder);
    assert_ok(
        database_open(folder.path, STORAGE_SURVIVES_MACHINE_CRASH, &database));
    put(database, "a", "1");
    const int fd = descriptor_of_pages(&folder);
    const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && full >= 0);
    assert_int_equal(dup2(full, fd), fd);
    close(full);

    changeset_put(&changes, '/', text("a"), text("2"));
    assert_int_not_equal(database_apply_changes(database, &changes), HOOP_OK);
    assert_non_null(strstr(error_text(), folder.path));
    assert_ok(database_apply_changes(database, &changes));
    put(database, "b", "3");
    holds(database, "/a=2 /b=3 ");
    database_close(database);
    folder_remove(&folder);
}

/* Nor can it be opened for a while. */
static void
library_that_cannot_be_opened_is_tried_again(void **state)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct folder folder;
    struct database *database = NULL;
    char aside[512];

    folder_make(&folder);
    assert_ok(
        database_open(folder.path, STORAGE_SURVIVES_MACHINE_CRASH, &database));
    put(database, "a", "1");
    const int full = open("/dev/full", O_RDWR | O_CLOEXEC);
    assert_true(dup2(full, descriptor_of_pages(&folder)) >= 0);
    close(full);
    changeset_put(&changes, '/', text("a"), text("2"));
    assert_int_not_equal(database_apply_changes(database, &changes), HOOP_OK);

    /* Away, and a folder is where it was. */
    snprintf(aside, sizeof(aside), "%s.aside",
             folder_file(&folder, "hoopd.mdb"));
    assert_int_equal(rename(folder_file(&folder, "hoopd.mdb"), aside), 0);
    assert_int_equal(mkdir(folder_file(&folder, "hoopd.mdb"), 0700), 0);
    for (int i = 0; i < 2; i++)
        assert_int_not_equal(database_apply_changes(database, &changes),
                             HOOP_OK);
    assert_int_not_equal(database_sync(database), HOOP_OK);
    assert_int_equal(rmdir(folder_file(&folder, "hoopd.mdb")), 0);
    assert_int_equal(rename(aside, folder_file(&folder, "hoopd.mdb")), 0);
    assert_ok(database_apply_changes(database, &changes));
    holds(database, "/a=2 ");
    database_close(database);
    folder_remove(&folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_outlive_their_database),
        cmocka_unit_test(erasing_takes_all_that_begin_so),
        cmocka_unit_test(foreign_file_is_refused),
        cmocka_unit_test(file_cut_short_is_found),
        cmocka_unit_test(value_changed_on_disk_is_found),
        cmocka_unit_test(write_that_fails_changes_nothing),
        cmocka_unit_test(library_that_has_given_up_is_opened_anew),
        cmocka_unit_test(library_that_cannot_be_opened_is_tried_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
