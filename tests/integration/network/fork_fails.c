/*
 * tests/integration/network/fork_fails.c - lets one fork() fail
 *
 * The library is preloaded. It counts the calls of fork() in a process and,
 * before those, in its ancestors since the last exec(). Call number
 * FORK_FAILS_AT fails, as if the system had no process left.
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) pid_t
fork(void)
{
    static long n_calls;
    const char *at = getenv("FORK_FAILS_AT");
    pid_t (*next)(void) = NULL;

    if (at && ++n_calls == strtol(at, NULL, 10)) {
        errno = EAGAIN;
        return -1;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "fork");
    return next();
}
