/* tests/unit/server/storage/folder.h - a temporary folder for a test */

#ifndef KEEP_FOLDER_H
#define KEEP_FOLDER_H

#include "check.h"
/* after cmocka */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64];
};

/* Uses a file system in memory if there is one, because a disk takes tens of
 * milliseconds for each commit. */
static inline void
folder_make(struct folder *folder)
{
    snprintf(folder->path, sizeof(folder->path), "%s/hoop-keep.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(folder->path));
}

static inline const char *
folder_file(const struct folder *folder, const char *name)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    return path;
}

static inline void
folder_remove(const struct folder *folder)
{
    unlink(folder_file(folder, "hoopd.mdb"));
    unlink(folder_file(folder, "hoopd.lock"));
    assert_int_equal(rmdir(folder->path), 0);
}

static inline void
folder_write(const struct folder *folder, const char *name, const char *text)
{
    FILE *file = fopen(folder_file(folder, name), "we");

    assert_non_null(file);
    /* hoopd makes its files with this mode, whatever the umask is. */
    assert_int_equal(fchmod(fileno(file), S_IRUSR | S_IWUSR), 0);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#endif
