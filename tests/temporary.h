/*
 * tests/temporary.h - temporary files and folders of tests
 *
 * They are created in TMPDIR, or in /tmp. The test that creates one removes it.
 */

#ifndef TESTS_TEMPORARY_H
#define TESTS_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEMPORARY_PATH = 128,
    TEMPORARY_FILE = TEMPORARY_PATH + 32, /* path of a file in such a folder */
};

/* Turns a name into a path; an absolute path is kept. Returns false if there is
 * no room. */
static inline int
temporary_place(char *path, size_t n_room)
{
    const char *folder = getenv("TMPDIR");
    char name[TEMPORARY_PATH];

    if (path[0] == '/')
        return 1;
    const int n_name = snprintf(name, sizeof(name), "%s", path);
    const int n = snprintf(path, n_room, "%s/%s",
                           folder && folder[0] ? folder : "/tmp", name);
    return n_name < (int)sizeof(name) && n < (int)n_room;
}

/* path is "NAME-XXXXXX" in n_room bytes, and is replaced with the path of a new
 * empty file. Returns a descriptor of it, as mkstemp(3) does. */
static inline int
temporary_file(char *path, size_t n_room)
{
    return temporary_place(path, n_room) ? mkstemp(path) : -1;
}

/* Does the same for a new folder, as mkdtemp(3) does. */
static inline char *
temporary_folder(char *path, size_t n_room)
{
    return temporary_place(path, n_room) ? mkdtemp(path) : NULL;
}

#endif
