/* hooprun/records.c - the folder in which the workers of this host record their
 * calls */

#include "hooprun/records.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "variable.h"

enum {
    FOLDER_MODE = 0700,
    RECORD_BYTES = 2 * 1024 * 1024, /* at most */
    /* How much of the free memory or disk the records may take. */
    SHARE_MAX = 2,
};

/* Return whether there is room for the records of n_workers: of each its own,
 * that of the run before, which a restart keeps, and with HOOP_RECORDER_SIGNAL
 * their copy, before and after it is whole. */
static bool
has_room(const char *place, uint32_t n_workers)
{
    const uint64_t n_records = variable("HOOP_RECORDER_SIGNAL") ? 4 : 2;
    const uint64_t needed = n_workers * n_records * RECORD_BYTES;
    struct statvfs info;

    if (statvfs(place, &info) != 0)
        return false;
    const uint64_t n_free = (uint64_t)info.f_bavail * info.f_frsize;
    errno = ENOSPC;
    return n_free / SHARE_MAX >= needed;
}

/* Remove a folder that nobody uses. It has files only, all of hoop. */
static void
folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (strstr(entry->d_name, ".hoopr"))
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    (void)rmdir(path);
}

/* Remove the oldest folders of runs that have ended, until n_kept are left. */
static void
place_clean(unsigned place, size_t n_kept)
{
    struct record_folder *folders = NULL;
    const size_t n = record_folders_list(place, &folders);
    size_t n_ended = 0;

    for (size_t i = 0; i < n; i++) {
        if (folders[i].is_live || ++n_ended <= n_kept)
            continue;
        const int fd = record_folder_lock(folders[i].path, LOCK_EX);
        if (fd < 0)
            continue;
        folder_remove(folders[i].path);
        close(fd);
    }
    free(folders);
}

/* Make a folder in a place. Return false, and errno says why there is none. */
static bool
folder_make(struct records *records, unsigned place, uint32_t n_workers)
{
    char path[RECORD_PLACE_BYTES];

    if (mkdir(record_place_path(place, path), FOLDER_MODE) != 0 &&
        errno != EEXIST)
        return false;
    if (!record_place_is_own(place))
        return false;
    place_clean(place, RECORDS_KEPT - 1);
    if (!has_room(path, n_workers))
        return false;
    snprintf(records->path, sizeof(records->path), "%s/run.XXXXXX", path);
    if (!mkdtemp(records->path))
        return false;
    records->fd = open(records->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Who lists the folders may have the lock for a moment. */
    if (records->fd >= 0 && flock(records->fd, LOCK_EX) == 0)
        return true;
    const int error = errno;
    if (records->fd >= 0)
        close(records->fd);
    records->fd = -1;
    (void)rmdir(records->path);
    errno = error;
    return false;
}

void
records_open(struct records *records, uint32_t n_workers)
{
    char path[RECORD_PLACE_BYTES];

    *records = (struct records){.fd = -1};
    if (variable("HOOP_RECORDER_DIR"))
        return;
    for (unsigned i = 0; i < RECORD_PLACES; i++) {
        if (folder_make(records, i, n_workers))
            return;
        records->path[0] = '\0';
    }
    warn("no calls are recorded: no folder for %u workers in %s", n_workers,
         record_place_path(RECORD_PLACES - 1, path));
}

bool
records_close(struct records *records, int exit_code)
{
    if (records->fd < 0)
        return false;
    if (exit_code == EXIT_SUCCESS)
        folder_remove(records->path);
    /* hoopctl record shows the run that has ended last. */
    (void)futimens(records->fd, NULL);
    /* It can be removed if nothing was recorded. */
    const bool is_kept = exit_code != EXIT_SUCCESS &&
                         rmdir(records->path) != 0 && errno == ENOTEMPTY;

    close(records->fd);
    records->fd = -1;
    return is_kept;
}
