/* checkpoint/folder.c - the folder of a checkpoint, and how a save is
 * committed */

#include "checkpoint/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "checkpoint/file.h"
#include "net/wakeup.h"

static const char index_file_name[] = "index.json";
static const char lock_file_name[] = "hoop.lock";

enum hoop_status
folder_open(const char *path, struct folder *out_folder)
{
    struct folder folder = {.path = path, .fd = -1, .lock = -1};

    if (!path || !*path)
        return error_raise(HOOP_E_INVALID, "there is no folder's name");
    folder.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.fd < 0)
        return file_raise_errno(&folder, errno, "open the folder", NULL);
    *out_folder = folder;
    return HOOP_OK;
}

void
folder_close(struct folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    descriptor_close(folder->lock);
    *folder = FOLDER_CLOSED;
}

enum hoop_status
folder_lock(struct folder *folder)
{
    const int fd = openat(folder->fd, lock_file_name,
                          O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return file_raise_errno(folder, errno, "open", lock_file_name);
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        descriptor_track(fd); /* so that a forked child closes it */
        folder->lock = fd;
        return HOOP_OK;
    }
    const int error = errno;
    close(fd);
    if (error == EWOULDBLOCK)
        return error_raise(HOOP_E_PRECONDITION,
                           "another save into %s runs: it holds %s",
                           folder->path, lock_file_name);
    return file_raise_errno(folder, error, "lock", lock_file_name);
}

/* Read a whole file that is not too large. */
static enum hoop_status
index_file_read(const struct folder *folder,
                int fd,
                char **out_text,
                size_t *out_n)
{
    struct stat stat;
    size_t n_read = 0;

    if (fstat(fd, &stat) < 0)
        return file_raise_errno(folder, errno, "look at", index_file_name);
    if (!S_ISREG(stat.st_mode) || stat.st_size > LIMIT_CHECKPOINT_INDEX)
        return error_raise(HOOP_E_DATA_LOSS,
                           "%s/%s is no index: it is no file, or has more "
                           "than %d bytes",
                           folder->path, index_file_name,
                           LIMIT_CHECKPOINT_INDEX);
    const size_t n_bytes = (size_t)stat.st_size;
    CLEANUP(free) char *text = malloc(n_bytes + 1);
    if (!text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an index");
    while (n_read < n_bytes) {
        const ssize_t n =
            pread(fd, text + n_read, n_bytes - n_read, (off_t)n_read);

        if (n < 0 && errno != EINTR)
            return file_raise_errno(folder, errno, "read", index_file_name);
        if (n == 0)
            break;
        n_read += n > 0 ? (size_t)n : 0;
    }
    *out_text = STEAL(text);
    *out_n = n_read;
    return HOOP_OK;
}

enum hoop_status
folder_read_index(const struct folder *folder,
                  char **out_text,
                  size_t *out_n_bytes)
{
    const int fd =
        openat(folder->fd, index_file_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return error_raise(HOOP_E_NOT_FOUND,
                           "there is no checkpoint in %s: it has no %s",
                           folder->path, index_file_name);
    if (fd < 0)
        return file_raise_errno(folder, errno, "open", index_file_name);
    const enum hoop_status status =
        index_file_read(folder, fd, out_text, out_n_bytes);
    close(fd);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
folder_decode_index(const struct folder *folder,
                    const char *text,
                    size_t n_bytes,
                    struct checkpoint_manifest **out_manifest)
{
    CLEANUP(manifest_destroy) struct checkpoint_manifest *manifest = NULL;

    enum hoop_status status = manifest_decode(text, n_bytes, &manifest);
    if (status == HOOP_OK)
        status = manifest_verify_digest(manifest);
    if (status != HOOP_OK)
        return error_raise(status, "%s/%s: %s", folder->path, index_file_name,
                           error_text());
    *out_manifest = STEAL(manifest);
    return HOOP_OK;
}

enum hoop_status
folder_load_manifest(const struct folder *folder,
                     struct checkpoint_manifest **out_manifest)
{
    CLEANUP(free) char *text = NULL;
    size_t n_bytes = 0;

    enum hoop_status status = folder_read_index(folder, &text, &n_bytes);
    if (status == HOOP_OK)
        status = folder_decode_index(folder, text, n_bytes, out_manifest);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
folder_check_files(const struct folder *folder,
                   const struct checkpoint_manifest *manifest)
{
    for (uint32_t i = 0; i < manifest->contents.n_files; i++) {
        const struct hoop_checkpoint_file *file = &manifest->files[i];
        struct stat stat;

        if (fstatat(folder->fd, file->name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
            return error_raise(HOOP_E_DATA_LOSS,
                               "%s/%s, which place %u has written, cannot be "
                               "seen from here (%s): is the folder one that "
                               "all ranks see?",
                               folder->path, file->name, i,
                               strerrordesc_np(errno));
        if ((uint64_t)stat.st_size != file->n_bytes)
            return error_raise(HOOP_E_DATA_LOSS,
                               "%s/%s has %llu bytes, not the %llu that place "
                               "%u has written",
                               folder->path, file->name,
                               (unsigned long long)stat.st_size,
                               (unsigned long long)file->n_bytes, i);
    }
    return HOOP_OK;
}

static enum hoop_status
folder_sync(const struct folder *folder)
{
    if (fsync(folder->fd) < 0)
        return file_raise_errno(folder, errno, "sync the folder", NULL);
    return HOOP_OK;
}

/* Write the index under its unique name. */
static enum hoop_status
index_file_write(const struct folder *folder,
                 const struct checkpoint_manifest *manifest,
                 const char *name)
{
    CLEANUP(free) char *text = NULL;
    CLEANUP(file_writer_discard) struct file_writer *file_writer = NULL;
    struct written_file written;
    size_t n_bytes = 0;

    enum hoop_status status = manifest_encode(manifest, &text, &n_bytes);
    if (status == HOOP_OK)
        status = file_writer_create(folder, name, &file_writer);
    if (status == HOOP_OK)
        status = file_writer_append(file_writer, text, n_bytes);
    if (status == HOOP_OK)
        status = file_writer_sync_and_close(file_writer, &written);
    if (status != HOOP_OK)
        return error_pass(status);
    file_writer_destroy(STEAL(file_writer));
    return HOOP_OK;
}

enum hoop_status
folder_commit(const struct folder *folder,
              const struct checkpoint_manifest *manifest,
              enum folder_commit_outcome *out_outcome)
{
    const struct file_name of = {.kind = FILE_NAME_INDEX,
                                 .generation = manifest->contents.generation,
                                 .token = manifest->token};
    char name[FILE_NAME_BUFFER_BYTES];

    *out_outcome = FOLDER_COMMIT_UNCHANGED;
    file_name_format(&of, name);
    enum hoop_status status = index_file_write(folder, manifest, name);
    if (status == HOOP_OK)
        status = folder_sync(folder); /* makes the names of all files durable */
    if (status != HOOP_OK)
        return error_pass(status);
    if (renameat(folder->fd, name, folder->fd, index_file_name) < 0) {
        status = file_raise_errno(folder, errno, "replace", index_file_name);
        unlinkat(folder->fd, name, 0);
        return status;
    }
    *out_outcome = FOLDER_COMMIT_UNCERTAIN;
    status = folder_sync(folder);
    if (status != HOOP_OK)
        return error_raise(status,
                           "%s: the new checkpoint is in place, but may not "
                           "be on the disk",
                           error_text());
    *out_outcome = FOLDER_COMMIT_DONE;
    return HOOP_OK;
}

void
folder_remove_old_files(const struct folder *folder,
                        const struct checkpoint_manifest *kept)
{
    const struct dirent *entry;
    const int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

    if (!entries) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(entries))) {
        struct file_name name;

        if (!file_name_parse(entry->d_name, &name))
            continue;
        if (kept && name.kind == FILE_NAME_PART &&
            name.generation == kept->contents.generation &&
            name.token == kept->token)
            continue;
        if (unlinkat(folder->fd, entry->d_name, 0) < 0)
            log_debug("checkpoint", "cannot remove %s/%s: %s", folder->path,
                      entry->d_name, strerrordesc_np(errno));
    }
    closedir(entries);
}
