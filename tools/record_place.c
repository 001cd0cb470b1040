/* record_place.c - where hooprun keeps the records of its jobs, and hoopctl
 * finds them */

#include "record_place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

const char *
record_place_path(unsigned place, char out_path[RECORD_PLACE_BYTES])
{
    snprintf(out_path, RECORD_PLACE_BYTES, "%s/hoop-%u",
             place == 0 ? "/dev/shm" : "/tmp", (unsigned)geteuid());
    return out_path;
}

bool
record_place_is_own(unsigned place)
{
    char path[RECORD_PLACE_BYTES];
    struct stat info;

    if (lstat(record_place_path(place, path), &info) != 0)
        return false;
    errno = EPERM;
    return S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

int
record_folder_lock(const char *path, int operation)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || flock(fd, operation | LOCK_NB) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Return false if there is no such folder. */
static bool
folder_fill(const char *path, struct record_folder *out_folder)
{
    struct stat info;

    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return false;
    *out_folder = (struct record_folder){.changed = info.st_mtim};
    snprintf(out_folder->path, sizeof(out_folder->path), "%s", path);
    const int fd = record_folder_lock(path, LOCK_SH);
    if (fd >= 0)
        close(fd);
    else
        out_folder->is_live = errno == EWOULDBLOCK;
    return true;
}

static int
folder_compare(const void *a, const void *b)
{
    const struct timespec *left = &((const struct record_folder *)a)->changed;
    const struct timespec *right = &((const struct record_folder *)b)->changed;

    if (left->tv_sec != right->tv_sec)
        return left->tv_sec < right->tv_sec ? 1 : -1;
    return (left->tv_nsec < right->tv_nsec) - (left->tv_nsec > right->tv_nsec);
}

size_t
record_folders_list(unsigned place, struct record_folder **out_folders)
{
    char path[RECORD_PLACE_BYTES];
    struct record_folder *folders = NULL;
    const struct dirent *entry;
    size_t n = 0;

    *out_folders = NULL;
    DIR *dir = record_place_is_own(place)
                   ? opendir(record_place_path(place, path))
                   : NULL;
    while (dir && (entry = readdir(dir))) {
        char folder[RECORD_FOLDER_BYTES];
        struct record_folder *more;

        if (entry->d_name[0] == '.' ||
            snprintf(folder, sizeof(folder), "%s/%s", path, entry->d_name) >=
                (int)sizeof(folder))
            continue;
        more = realloc(folders, (n + 1) * sizeof(*folders));
        if (!more)
            break;
        folders = more;
        n += folder_fill(folder, &folders[n]);
    }
    if (dir)
        closedir(dir);
    if (n > 0)
        qsort(folders, n, sizeof(*folders), folder_compare);
    *out_folders = folders;
    return n;
}
