/* storage/folder_lock.c - lock a data folder for one coordinator at a time */

#include "storage/folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/private_file.h"
#include "base/random.h"

static const char lock_file_name[] = "hoopd.lock";
static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id";
/* A line of the file: all data is on disk. */
static const char settled[] = "settled";

enum {
    /* Six lines: pid and host, boot id, durability, state, holder. */
    LOCK_FILE_BYTES_MAX = 512,
};

struct folder_lock {
    int fd;
    enum storage_durability durability;
    uint64_t holder_nonce; /* the number in the file's last line */
    char path[LIMIT_SETTING + sizeof(lock_file_name)];
};

static const char *
durability_name(enum storage_durability durability)
{
    return durability == STORAGE_SURVIVES_MACHINE_CRASH ? "disk" : "process";
}

static enum hoop_status
folder_status_from_errno(int error)
{
    if (error == EACCES || error == EPERM || error == EROFS)
        return HOOP_E_DENIED;
    return HOOP_E_UNAVAILABLE;
}

static enum hoop_status
data_folder_create(const char *folder)
{
    if (strlen(folder) >= LIMIT_SETTING)
        return error_raise(HOOP_E_INVALID,
                           "the path of the data folder is over %d bytes",
                           LIMIT_SETTING - 1);
    if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST)
        return error_raise(folder_status_from_errno(errno),
                           "cannot make the data folder %s: %s; make it, for "
                           "user %u to write, or name another",
                           folder, strerror(errno), (unsigned int)geteuid());
    const enum hoop_status status = private_folder_check("data folder", folder);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
lock_file_open(struct folder_lock *folder_lock)
{
    folder_lock->fd =
        open(folder_lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
             S_IRUSR | S_IWUSR);
    if (folder_lock->fd >= 0)
        return HOOP_OK;
    return error_raise(folder_status_from_errno(errno),
                       "cannot open %s: %s; the data folder must be one that "
                       "user %u may write",
                       folder_lock->path, strerror(errno),
                       (unsigned int)geteuid());
}

/* Read the file and pad it with zeros. Returns false with text "" if it cannot
 * be read. */
static bool
lock_file_read(const struct folder_lock *folder_lock,
               char text[LOCK_FILE_BYTES_MAX])
{
    memset(text, 0, LOCK_FILE_BYTES_MAX);
    if (pread(folder_lock->fd, text, LOCK_FILE_BYTES_MAX - 1, 0) >= 0)
        return true;
    text[0] = '\0';
    return false;
}

/* Keep only the first line: "pid 12 on host a". */
static void
text_cut_after_first_line(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

static struct flock
whole_file_write_lock(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static enum hoop_status
lock_file_acquire(const struct folder_lock *folder_lock)
{
    char text[LOCK_FILE_BYTES_MAX];

    struct flock lock = whole_file_write_lock();

    if (fcntl(folder_lock->fd, F_OFD_SETLK, &lock) == 0)
        return HOOP_OK;
    if (errno != EAGAIN && errno != EACCES)
        return error_raise(folder_status_from_errno(errno),
                           "cannot lock %s: %s", folder_lock->path,
                           strerror(errno));
    lock_file_read(folder_lock, text);
    text_cut_after_first_line(text);
    return error_raise(HOOP_E_EXISTS,
                       "another coordinator, %s, uses the data of %s: stop "
                       "it, give this one a folder of its own, or start it "
                       "with --standby on to take over when that one ends",
                       text[0] ? text : "one that has just begun",
                       folder_lock->path);
}

/* "unknown" if there is no /proc. */
static void
folder_lock_boot_id_read(char text[LIMIT_NAME])
{
    FILE *file = fopen(boot_id_path, "re");

    snprintf(text, LIMIT_NAME, "unknown");
    if (!file)
        return;
    if (fgets(text, LIMIT_NAME, file))
        text_cut_after_first_line(text);
    fclose(file);
}

/* Refuse the folder if its last holder did not close it, used
 * STORAGE_SURVIVES_PROCESS_CRASH, and the machine was restarted since. */
static enum hoop_status
folder_lock_check_last_holder(const struct folder_lock *folder_lock)
{
    char text[LOCK_FILE_BYTES_MAX];
    char boot[LIMIT_NAME];

    lock_file_read(folder_lock, text);
    folder_lock_boot_id_read(boot);
    if (!text[0] || strstr(text, "\nsettled\n") || strstr(text, boot) ||
        !strstr(text, "\nprocess\n"))
        return HOOP_OK;
    text_cut_after_first_line(text);
    return error_raise(HOOP_E_DATA_LOSS,
                       "the machine went down while %s kept its data with "
                       "--durability process, which only survives the death "
                       "of hoopd: what is there may be damaged. Begin with an "
                       "empty folder, or remove %s to use it all the same",
                       text, folder_lock->path);
}

static enum hoop_status
lock_file_write(const struct folder_lock *folder_lock, const char *state)
{
    char boot[LIMIT_NAME];
    char host[LIMIT_NAME] = "";
    char text[LOCK_FILE_BYTES_MAX];

    folder_lock_boot_id_read(boot);
    gethostname(host, sizeof(host) - 1);
    const int n_bytes = snprintf(
        text, sizeof(text),
        "pid %d on host %s\nstarted on %s\n%s\n%s\nholder %016" PRIx64 "\n",
        (int)getpid(), host, boot, durability_name(folder_lock->durability),
        state, folder_lock->holder_nonce);
    if (ftruncate(folder_lock->fd, 0) == 0 &&
        pwrite(folder_lock->fd, text, (size_t)n_bytes, 0) == n_bytes &&
        fdatasync(folder_lock->fd) == 0)
        return HOOP_OK;
    return error_raise(folder_status_from_errno(errno), "cannot write %s: %s",
                       folder_lock->path, strerror(errno));
}

enum hoop_status
folder_lock_take(const char *folder,
                 enum storage_durability durability,
                 struct folder_lock **out_folder_lock)
{
    CLEANUP(folder_lock_release)
    struct folder_lock *folder_lock = calloc(1, sizeof(*folder_lock));

    if (!folder_lock)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a lock");
    folder_lock->fd = -1;
    folder_lock->durability = durability;

    enum hoop_status status = random_fill(&folder_lock->holder_nonce,
                                          sizeof(folder_lock->holder_nonce));
    if (status == HOOP_OK)
        status = data_folder_create(folder);
    if (status != HOOP_OK)
        return error_pass(status);
    snprintf(folder_lock->path, sizeof(folder_lock->path), "%s/%s", folder,
             lock_file_name);
    status = lock_file_open(folder_lock);
    if (status == HOOP_OK)
        status = lock_file_acquire(folder_lock);
    if (status == HOOP_OK)
        status = folder_lock_check_last_holder(folder_lock);
    if (status == HOOP_OK)
        status = lock_file_write(folder_lock, "in use");
    if (status != HOOP_OK)
        return error_pass(status);
    *out_folder_lock = STEAL(folder_lock);
    return HOOP_OK;
}

enum hoop_status
folder_lock_check_still_ours(const struct folder_lock *folder_lock)
{
    struct folder_lock now = {
        .fd = open(folder_lock->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
    };
    char text[LOCK_FILE_BYTES_MAX] = "";
    char line[LIMIT_NAME];

    snprintf(line, sizeof(line), "\nholder %016" PRIx64 "\n",
             folder_lock->holder_nonce);
    if (now.fd >= 0) {
        const bool is_read = lock_file_read(&now, text);

        close(now.fd);
        /* A file system that does not answer proves nothing. */
        if (!is_read || strstr(text, line))
            return HOOP_OK;
    } else if (errno != ENOENT) {
        /* A lack of descriptors, or a file system that does not answer, proves
         * nothing. */
        return HOOP_OK;
    }
    text_cut_after_first_line(text);
    return error_raise(HOOP_E_ABORTED,
                       "%s is no longer this coordinator's but %s's: its lock "
                       "did not hold, or the file was removed",
                       folder_lock->path, text[0] ? text : "nobody");
}

bool
folder_lock_is_held(const char *folder)
{
    struct flock lock = whole_file_write_lock();
    struct folder_lock folder_lock;

    snprintf(folder_lock.path, sizeof(folder_lock.path), "%.*s/%s",
             LIMIT_SETTING - 1, folder, lock_file_name);
    folder_lock.fd = open(folder_lock.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (folder_lock.fd < 0)
        return false;

    /* Only query the lock: taking it could get in the way of a coordinator that
     * starts. */
    const bool is_held = fcntl(folder_lock.fd, F_OFD_GETLK, &lock) == 0 &&
                         lock.l_type != F_UNLCK;

    close(folder_lock.fd);
    return is_held;
}

void
folder_lock_mark_synced(struct folder_lock *folder_lock)
{
    /* If this fails, a successor may refuse the folder needlessly, which is
     * safe. */
    (void)!lock_file_write(folder_lock, settled);
}

void
folder_lock_release(struct folder_lock *folder_lock)
{
    if (!folder_lock)
        return;
    if (folder_lock->fd >= 0)
        close(folder_lock->fd);
    free(folder_lock);
}
