/* reshard/folder.c - the folder of the checkpoint */

#include "reshard/folder.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
folder_make(const char *path, struct folder *out_folder)
{
    const char *parent = getenv("TMPDIR");
    struct folder folder = {.is_temporary = !path};
    int n_bytes = 0;

    if (path)
        n_bytes = snprintf(folder.path, sizeof(folder.path), "%s", path);
    else
        n_bytes =
            snprintf(folder.path, sizeof(folder.path), "%s/hoop_reshard_XXXXXX",
                     parent && *parent ? parent : "/tmp");
    errno = ENAMETOOLONG;
    if (n_bytes >= FOLDER_PATH_BYTES ||
        (path ? mkdir(path, 0777) != 0 && errno != EEXIST
              : !mkdtemp(folder.path))) {
        warn("cannot make the folder %.200s; choose another with --folder",
             folder.path);
        return false;
    }
    *out_folder = folder;
    return true;
}

enum hoop_status
folder_open(const char *path, hoop_comm_t *world, struct folder *out_folder)
{
    struct folder folder = {.is_temporary = !path};

    if (hoop_comm_rank(world) == 0 && !folder_make(path, &folder))
        folder.path[0] = '\0';
    const enum hoop_status status = hoop_broadcast(
        HOOP_IN_PLACE, folder.path, sizeof(folder.path), HOOP_UINT8, 0, world);
    if (status != HOOP_OK) {
        warnx("no folder from rank 0: %s", hoop_error_text());
        if (hoop_comm_rank(world) == 0)
            folder_remove(&folder);
        return status;
    }
    if (folder.path[0] == '\0')
        return HOOP_E_UNAVAILABLE;
    *out_folder = folder;
    return HOOP_OK;
}

/* A checkpoint has no folders inside. */
void
folder_remove(const struct folder *folder)
{
    char path[FOLDER_PATH_BYTES + NAME_MAX + 2];

    if (!folder->is_temporary || folder->path[0] == '\0')
        return;
    DIR *entries = opendir(folder->path);
    for (const struct dirent *entry = entries ? readdir(entries) : NULL; entry;
         entry = readdir(entries)) {
        snprintf(path, sizeof(path), "%s/%s", folder->path, entry->d_name);
        unlink(path); /* fails for . and .., which is fine */
    }
    if (entries)
        closedir(entries);
    if (rmdir(folder->path) != 0)
        warn("cannot remove %s", folder->path);
}
