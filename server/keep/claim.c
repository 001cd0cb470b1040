/* keep/claim.c - who may use a folder of data: one coordinator at a time */

#include "keep/claim.h"

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

static const char file_name[] = "hoopd.lock";
static const char boot_path[] = "/proc/sys/kernel/random/boot_id";
/* The last line of the file: nothing is left in the kernel's hands. */
static const char settled[] = "settled";

enum {
    /* pid, host, machine's start, durability, state, chance: a line each. */
    TEXT_MAX = 512,
};

struct claim {
    int fd;
    enum keep_durability durability;
    uint64_t chance; /* in the file's last line */
    char path[LIMIT_SETTING + sizeof(file_name)];
};

static const char *
durability_word(enum keep_durability durability)
{
    return durability == KEEP_DISK ? "disk" : "process";
}

static enum hoop_status
refusal(int error)
{
    if (error == EACCES || error == EPERM || error == EROFS)
        return HOOP_E_DENIED;
    return HOOP_E_UNAVAILABLE;
}

static enum hoop_status
folder_make(const char *folder)
{
    if (strlen(folder) >= LIMIT_SETTING)
        return error_raise(HOOP_E_INVALID,
                           "the path of the data folder is over %d bytes",
                           LIMIT_SETTING - 1);
    if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST)
        return error_raise(refusal(errno),
                           "cannot make the data folder %s: %s; make it, for "
                           "user %u to write, or name another",
                           folder, strerror(errno), (unsigned int)geteuid());
    const enum hoop_status status = private_folder_check("data folder", folder);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
file_open(struct claim *claim)
{
    claim->fd = open(claim->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                     S_IRUSR | S_IWUSR);
    if (claim->fd >= 0)
        return HOOP_OK;
    return error_raise(refusal(errno),
                       "cannot open %s: %s; the data folder must be one that "
                       "user %u may write",
                       claim->path, strerror(errno), (unsigned int)geteuid());
}

/* Zeroed behind what the file has. False: it cannot be read, and text is "". */
static bool
file_read(const struct claim *claim, char text[TEXT_MAX])
{
    memset(text, 0, TEXT_MAX);
    if (pread(claim->fd, text, TEXT_MAX - 1, 0) >= 0)
        return true;
    text[0] = '\0';
    return false;
}

/* The first line without its end: "pid 12 on host a". */
static void
line_cut(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

static struct flock
whole_file(void)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static enum hoop_status
file_lock(const struct claim *claim)
{
    char text[TEXT_MAX];

    struct flock lock = whole_file();

    if (fcntl(claim->fd, F_OFD_SETLK, &lock) == 0)
        return HOOP_OK;
    if (errno != EAGAIN && errno != EACCES)
        return error_raise(refusal(errno), "cannot lock %s: %s", claim->path,
                           strerror(errno));
    file_read(claim, text);
    line_cut(text);
    return error_raise(HOOP_E_EXISTS,
                       "another coordinator, %s, uses the data of %s: stop "
                       "it, give this one a folder of its own, or start it "
                       "with --standby on to take over when that one ends",
                       text[0] ? text : "one that has just begun", claim->path);
}

/* "unknown" where there is no /proc. */
static void
boot_read(char text[LIMIT_NAME])
{
    FILE *file = fopen(boot_path, "re");

    snprintf(text, LIMIT_NAME, "unknown");
    if (!file)
        return;
    if (fgets(text, LIMIT_NAME, file))
        line_cut(text);
    fclose(file);
}

/* Written by one that did not come to its end, on a machine that did not. */
static enum hoop_status
former_check(const struct claim *claim)
{
    char text[TEXT_MAX];
    char boot[LIMIT_NAME];

    file_read(claim, text);
    boot_read(boot);
    if (!text[0] || strstr(text, "\nsettled\n") || strstr(text, boot) ||
        !strstr(text, "\nprocess\n"))
        return HOOP_OK;
    line_cut(text);
    return error_raise(HOOP_E_DATA_LOSS,
                       "the machine went down while %s kept its data with "
                       "--durability process, which only survives the death "
                       "of hoopd: what is there may be damaged. Begin with an "
                       "empty folder, or remove %s to use it all the same",
                       text, claim->path);
}

static enum hoop_status
file_write(const struct claim *claim, const char *state)
{
    char boot[LIMIT_NAME];
    char host[LIMIT_NAME] = "";
    char text[TEXT_MAX];

    boot_read(boot);
    gethostname(host, sizeof(host) - 1);
    const int n_bytes = snprintf(
        text, sizeof(text),
        "pid %d on host %s\nstarted on %s\n%s\n%s\nholder %016" PRIx64 "\n",
        (int)getpid(), host, boot, durability_word(claim->durability), state,
        claim->chance);
    if (ftruncate(claim->fd, 0) == 0 &&
        pwrite(claim->fd, text, (size_t)n_bytes, 0) == n_bytes &&
        fdatasync(claim->fd) == 0)
        return HOOP_OK;
    return error_raise(refusal(errno), "cannot write %s: %s", claim->path,
                       strerror(errno));
}

enum hoop_status
claim_take(const char *folder,
           enum keep_durability durability,
           struct claim **out_claim)
{
    CLEANUP(claim_drop) struct claim *claim = calloc(1, sizeof(*claim));

    if (!claim)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a lock");
    claim->fd = -1;
    claim->durability = durability;

    enum hoop_status status =
        random_fill(&claim->chance, sizeof(claim->chance));
    if (status == HOOP_OK)
        status = folder_make(folder);
    if (status != HOOP_OK)
        return error_pass(status);
    snprintf(claim->path, sizeof(claim->path), "%s/%s", folder, file_name);
    status = file_open(claim);
    if (status == HOOP_OK)
        status = file_lock(claim);
    if (status == HOOP_OK)
        status = former_check(claim);
    if (status == HOOP_OK)
        status = file_write(claim, "in use");
    if (status != HOOP_OK)
        return error_pass(status);
    *out_claim = STEAL(claim);
    return HOOP_OK;
}

enum hoop_status
claim_check(const struct claim *claim)
{
    struct claim now = {
        .fd = open(claim->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
    };
    char text[TEXT_MAX] = "";
    char line[LIMIT_NAME];

    snprintf(line, sizeof(line), "\nholder %016" PRIx64 "\n", claim->chance);
    if (now.fd >= 0) {
        const bool is_read = file_read(&now, text);

        close(now.fd);
        /* Storage that is away says nothing. */
        if (!is_read || strstr(text, line))
            return HOOP_OK;
    } else if (errno != ENOENT) {
        /* No descriptor, or storage that is away: that says nothing. */
        return HOOP_OK;
    }
    line_cut(text);
    return error_raise(HOOP_E_ABORTED,
                       "%s is no longer this coordinator's but %s's: its lock "
                       "did not hold, or the file was removed",
                       claim->path, text[0] ? text : "nobody");
}

bool
claim_is_held(const char *folder)
{
    struct flock lock = whole_file();
    struct claim claim;

    snprintf(claim.path, sizeof(claim.path), "%.*s/%s", LIMIT_SETTING - 1,
             folder, file_name);
    claim.fd = open(claim.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (claim.fd < 0)
        return false;

    /* Asked, not taken: nobody who begins is in the way of who looks. */
    const bool is_held =
        fcntl(claim.fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

    close(claim.fd);
    return is_held;
}

void
claim_settle(struct claim *claim)
{
    /* Without it a successor may ask in vain, which is the safe side. */
    (void)!file_write(claim, settled);
}

void
claim_drop(struct claim *claim)
{
    if (!claim)
        return;
    if (claim->fd >= 0)
        close(claim->fd);
    free(claim);
}
