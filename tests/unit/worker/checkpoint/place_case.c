/* tests/unit/worker/checkpoint/place_case.c - a folder to test in */

#include "place_case.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "temporary.h"

struct folder *
place_case_create(void)
{
    struct folder *folder = malloc(sizeof(*folder));
    char *path = calloc(1, TEMPORARY_PATH);

    assert_non_null(folder);
    assert_non_null(path);
    strcpy(path, "hoop-folder-XXXXXX");
    assert_non_null(temporary_folder(path, TEMPORARY_PATH));
    assert_ok(folder_open(path, folder));
    return folder;
}

void
place_case_destroy(struct folder *folder)
{
    char *path = (char *)(uintptr_t)folder->path;
    const struct dirent *entry;
    DIR *entries = opendir(path);

    while (entries && (entry = readdir(entries)))
        unlinkat(folder->fd, entry->d_name, 0);
    if (entries)
        closedir(entries);
    folder_close(folder);
    rmdir(path);
    free(path);
    free(folder);
}

static void
write_all(const struct folder *folder,
          const char *name,
          const void *bytes,
          size_t n_bytes)
{
    const int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n_bytes), n_bytes);
    close(fd);
}

void
place_case_write(const struct folder *folder, const char *name, size_t n_bytes)
{
    uint8_t *bytes = malloc(n_bytes + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(i % 251);
    write_all(folder, name, bytes, n_bytes);
    free(bytes);
}

void
place_case_write_text(const struct folder *folder,
                      const char *name,
                      const char *text)
{
    write_all(folder, name, text, strlen(text));
}

int
place_case_has(const struct folder *folder, const char *name)
{
    return faccessat(folder->fd, name, F_OK, 0) == 0;
}
