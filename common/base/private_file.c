/* base/private_file.c - check that files with secrets are private, and read a
 * token file */

#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"

enum {
    LINKS_MAX = 40, /* as many as the kernel follows */
    OTHERS_WRITE = S_IWGRP | S_IWOTH,
};

static bool
owner_is_trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

static unsigned
permission_bits_of(const struct stat *about)
{
    return about->st_mode & 07777u;
}

static enum hoop_status
untrusted_owner_raise(const char *what, const char *path, uid_t owner)
{
    return error_raise(HOOP_E_DENIED,
                       "the %s %s belongs to user %u, and not to this user "
                       "(%u) or to root, so another can change it: run chown "
                       "%u %s if it is meant",
                       what, path, (unsigned)owner, (unsigned)geteuid(),
                       (unsigned)geteuid(), path);
}

/* Write the target of the link at path to out_path. Returns false if it cannot
 * be read or is too long. */
static bool
symlink_read_target(const char *path, char out_path[PATH_MAX])
{
    char target[PATH_MAX];
    const char *slash = strrchr(path, '/');
    const ssize_t n = readlink(path, target, sizeof(target) - 1);

    if (n < 0)
        return false;
    target[n] = '\0';
    const int n_folder =
        target[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
    const int n_path =
        snprintf(out_path, PATH_MAX, "%.*s%s", n_folder, path, target);

    return n_path < PATH_MAX;
}

/* The owner of a link can make it point elsewhere. */
static enum hoop_status
path_check_symlinks(const char *what, const char *path)
{
    char here[PATH_MAX];
    char next[PATH_MAX];
    struct stat about;

    if (snprintf(here, sizeof(here), "%s", path) >= (int)sizeof(here))
        return error_raise(HOOP_E_NOT_FOUND, "the path of the %s is too long",
                           what);
    for (int i = 0;
         i < LINKS_MAX && lstat(here, &about) == 0 && S_ISLNK(about.st_mode);
         i++) {
        if (!owner_is_trusted(about.st_uid))
            return error_raise(HOOP_E_DENIED,
                               "the %s %s is reached by the symbolic link %s "
                               "of user %u, who can have it point elsewhere: "
                               "name the file itself",
                               what, path, here, (unsigned)about.st_uid);
        if (!symlink_read_target(here, next))
            return HOOP_OK; /* opening it reports the reason */
        log_info("base", "the %s %s is a symbolic link to %s", what, here,
                 next);
        memcpy(here, next, sizeof(here));
    }
    return HOOP_OK;
}

/* Check a file on a writable mount. */
static enum hoop_status
file_permissions_check(const char *what,
                       const char *path,
                       const struct stat *about)
{
    const bool is_roots = about->st_uid == 0;
    const unsigned forbidden = is_roots ? S_IRWXO | S_IWGRP : S_IRWXG | S_IRWXO;

    if (!owner_is_trusted(about->st_uid))
        return untrusted_owner_raise(what, path, about->st_uid);
    if ((about->st_mode & forbidden) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_DENIED,
                       "others than its owner can read or write the %s %s "
                       "(mode %04o): run chmod 600 %s, and take another secret "
                       "if they may have read this one",
                       what, path, permission_bits_of(about), path);
}

/* Containers' secrets may have any owner and be readable by all. */
static enum hoop_status
readonly_mount_file_check(const char *what,
                          const char *path,
                          const struct stat *about)
{
    if (about->st_mode & OTHERS_WRITE)
        return error_raise(HOOP_E_DENIED,
                           "others than its owner can write the %s %s (mode "
                           "%04o) where it is not mounted read-only: run "
                           "chmod 600 there",
                           what, path, permission_bits_of(about));
    if (!owner_is_trusted(about->st_uid) ||
        (about->st_mode & (S_IRWXG | S_IRWXO)))
        log_info("base",
                 "the %s %s is of user %u, mode %04o: taken, since it is on a "
                 "read-only mount, as containers' secrets are",
                 what, path, (unsigned)about->st_uid,
                 permission_bits_of(about));
    return HOOP_OK;
}

static enum hoop_status
opened_file_check(const char *what, const char *path, int fd)
{
    struct stat about;
    struct statvfs mount;

    if (fstat(fd, &about) != 0 || fstatvfs(fd, &mount) != 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot look at the %s %s: %s",
                           what, path, strerror(errno));
    if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode))
        return error_raise(HOOP_E_NOT_FOUND,
                           "the %s %s is neither a file nor a pipe", what,
                           path);
    const enum hoop_status status =
        mount.f_flag & ST_RDONLY ? readonly_mount_file_check(what, path, &about)
                                 : file_permissions_check(what, path, &about);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
private_file_open(const char *what, const char *path, int *out_fd)
{
    enum hoop_status status = path_check_symlinks(what, path);
    if (status != HOOP_OK)
        return error_pass(status);

    /* Without O_NONBLOCK, open() would wait for a writer of a pipe. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot open the %s %s: %s", what,
                           path, strerror(errno));
    status = opened_file_check(what, path, fd);
    if (status != HOOP_OK) {
        close(fd);
        return error_pass(status);
    }
    (void)fcntl(fd, F_SETFL, O_RDONLY);
    *out_fd = fd;
    return HOOP_OK;
}

enum hoop_status
private_folder_check(const char *what, const char *path)
{
    struct stat about;

    const enum hoop_status status = path_check_symlinks(what, path);
    if (status != HOOP_OK)
        return error_pass(status);
    if (stat(path, &about) != 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot look at the %s %s: %s",
                           what, path, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return error_raise(HOOP_E_UNAVAILABLE, "cannot use the %s %s: %s", what,
                           path, strerror(ENOTDIR));
    if (!owner_is_trusted(about.st_uid))
        return untrusted_owner_raise(what, path, about.st_uid);
    if (about.st_mode & OTHERS_WRITE)
        return error_raise(HOOP_E_DENIED,
                           "others than its owner can write the %s %s (mode "
                           "%04o): run chmod 700 %s, or name a folder in it, "
                           "which is made for this user alone",
                           what, path, permission_bits_of(&about), path);
    return HOOP_OK;
}

enum hoop_status
private_file_check_own(const char *what, const char *path)
{
    struct stat about;

    if (lstat(path, &about) != 0)
        return HOOP_OK;
    if (!S_ISREG(about.st_mode))
        return error_raise(HOOP_E_DENIED, "the %s %s is not a file", what,
                           path);
    if (!owner_is_trusted(about.st_uid))
        return untrusted_owner_raise(what, path, about.st_uid);
    if (about.st_mode & (S_IRWXG | S_IRWXO))
        return error_raise(HOOP_E_DENIED,
                           "others than its owner can read or write the %s %s "
                           "(mode %04o): run chmod 600 %s, and take other "
                           "secrets than those in it",
                           what, path, permission_bits_of(&about), path);
    return HOOP_OK;
}

/*
 * Read a token file. No stream is used, because its buffer would be freed with
 * the secret in it.
 */

static enum hoop_status
token_text_check(const char *path, const char *text, size_t n_bytes)
{
    if (n_bytes == 0)
        return error_raise(HOOP_E_INVALID, "the token file %s is empty", path);
    if (memchr(text, '\n', n_bytes) || memchr(text, '\0', n_bytes))
        return error_raise(HOOP_E_INVALID,
                           "the token file %s is not one line of text", path);
    return HOOP_OK;
}

struct token_text {
    char bytes[2 * LIMIT_TOKEN]; /* room for blanks to be removed */
};

static void
token_text_wipe(struct token_text *text)
{
    explicit_bzero(text, sizeof(*text));
}

/* Read as much as there is room for; -1: an error. Closes fd. */
static ssize_t
token_text_read(int fd, struct token_text *text)
{
    size_t n_text = 0;
    ssize_t n = 1;

    while (n != 0 && n_text < sizeof(text->bytes)) {
        n = read(fd, text->bytes + n_text, sizeof(text->bytes) - n_text);
        if (n < 0 && errno != EINTR)
            break;
        n_text += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return n < 0 ? -1 : (ssize_t)n_text;
}

enum hoop_status
token_file_read(const char *path, size_t n_bytes, char *out_token)
{
    static const char blanks[] = " \t\r\n";
    __attribute__((cleanup(token_text_wipe))) struct token_text secret;
    char *const text = secret.bytes;
    int fd = -1;

    enum hoop_status status = private_file_open("token file", path, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    const ssize_t n_read = token_text_read(fd, &secret);
    if (n_read < 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot read the token file %s",
                           path);
    size_t n_text = (size_t)n_read;

    const char *start = text;
    while (n_text > 0 && start[0] && strchr(blanks, start[0])) {
        start++;
        n_text--;
    }
    while (n_text > 0 && start[n_text - 1] && strchr(blanks, start[n_text - 1]))
        n_text--;

    status = token_text_check(path, start, n_text);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_text >= n_bytes || (size_t)n_read == sizeof(secret.bytes))
        return error_raise(HOOP_E_INVALID,
                           "the token in %s has more than %zu bytes", path,
                           n_bytes - 1);

    memcpy(out_token, start, n_text);
    out_token[n_text] = '\0';
    return HOOP_OK;
}
