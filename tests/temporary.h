/*
 * tests/temporary.h - files and folders of tests, where the user wants them
 *
 * In TMPDIR, or in /tmp. Who makes one removes it.
 */

#ifndef TESTS_TEMPORARY_H
#define TESTS_TEMPORARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEMPORARY_PATH = 128,
    TEMPORARY_FILE = TEMPORARY_PATH + 32, /* of a file in such a folder */
};

/* A name becomes a path; a path stays one. False: there is no room. */
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

/* path: "NAME-XXXXXX", in n_room bytes; becomes that of a new empty file, which is
 * open. As mkstemp(3). */
static inline int
temporary_file(char *path, size_t n_room)
{
    return temporary_place(path, n_room) ? mkstemp(path) : -1;
}

/* ... of a new folder. As mkdtemp(3). */
static inline char *
temporary_folder(char *path, size_t n_room)
{
    return temporary_place(path, n_room) ? mkdtemp(path) : NULL;
}

#endif
