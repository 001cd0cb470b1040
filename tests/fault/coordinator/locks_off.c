/*
 * tests/fault/coordinator/locks_off.c - a file system whose locks do not work
 *
 * Preload this library: every lock is granted, and no lock is seen as held.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

__attribute__((visibility("default"))) int
fcntl64(int fd, int command, ...);

static int
fcntl_pass(int fd, int command, void *argument)
{
    static int (*next)(int, int, ...);

    if (command == F_OFD_SETLK)
        return 0;
    if (command == F_OFD_GETLK) {
        ((struct flock *)argument)->l_type = F_UNLCK;
        return 0;
    }
    if (!next) {
        void *found = dlsym(RTLD_NEXT, "fcntl64");

        memcpy(&next, &found, sizeof(next));
    }
    return next(fd, command, argument);
}

__attribute__((visibility("default"))) int
fcntl64(int fd, int command, ...)
{
    va_list list;

    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return fcntl_pass(fd, command, argument);
}
