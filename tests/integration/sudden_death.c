/* tests/integration/sudden_death.c - die at the n-th change of a folder */

#include "sudden_death.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the headers declare for other names. */
int
openat64(int fd, const char *path, int how, ...);

static _Thread_local bool is_armed;
static _Thread_local unsigned n_left;
static _Thread_local unsigned n_seen;

void
sudden_death_after(unsigned n)
{
    n_left = n;
    n_seen = 0;
    is_armed = true;
}

unsigned
sudden_death_never(void)
{
    is_armed = false;
    return n_seen;
}

/* Whether this is the end. */
static bool
is_last(void)
{
    if (!is_armed)
        return false;
    n_seen++;
    return n_left-- == 0;
}

static void
die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static int
open_and_count(int fd, const char *path, int how, unsigned mode)
{
    if ((how & O_CREAT) && is_last())
        die();
    return (int)syscall(SYS_openat, fd, path, how, mode);
}

int
openat64(int fd, const char *path, int how, ...)
{
    va_list arguments;
    unsigned mode = 0;

    va_start(arguments, how);
    if (how & O_CREAT)
        mode = va_arg(arguments, unsigned);
    va_end(arguments);
    return open_and_count(fd, path, how, mode);
}

/* Others wake their threads by it, which a sanitizer has to see. */
static ssize_t
write_next(int fd, const void *bytes, size_t n_bytes)
{
    ssize_t (*next)(int, const void *, size_t);

    *(void **)&next = dlsym(RTLD_NEXT, "write");
    return next(fd, bytes, n_bytes);
}

ssize_t
write(int fd, const void *bytes, size_t n_bytes)
{
    struct stat stat;

    if (is_armed && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) &&
        is_last()) {
        syscall(SYS_write, fd, bytes, n_bytes / 2);
        die();
    }
    return write_next(fd, bytes, n_bytes);
}

int
fsync(int fd)
{
    if (is_last())
        die();
    return (int)syscall(SYS_fsync, fd);
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    if (is_last())
        die();
    return (int)syscall(SYS_renameat, from_fd, from, to_fd, to);
}

int
unlinkat(int fd, const char *path, int how)
{
    if (is_last())
        die();
    return (int)syscall(SYS_unlinkat, fd, path, how);
}
