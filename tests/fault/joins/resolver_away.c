/*
 * tests/fault/joins/resolver_away.c - a resolver that does not answer at first
 *
 * Preload this library: while the file RESOLVER_AWAY exists, names fail to
 * resolve with EAI_AGAIN, as if no name server answered. Numeric addresses
 * still resolve. A name that ends in .invalid does not exist, as a name server
 * would say if there were one.
 */

#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int
look_up_fn(const char *node,
           const char *service,
           const struct addrinfo *hints,
           struct addrinfo **found);

__attribute__((visibility("default"))) int
getaddrinfo(const char *node,
            const char *service,
            const struct addrinfo *hints,
            struct addrinfo **found)
{
    const char *mark = getenv("RESOLVER_AWAY");
    look_up_fn *look_up = NULL;
    const char *end = node ? strrchr(node, '.') : NULL;

    if (end && strcmp(end, ".invalid") == 0)
        return EAI_NONAME;
    if (mark && access(mark, F_OK) == 0 && hints &&
        !(hints->ai_flags & AI_NUMERICHOST))
        return EAI_AGAIN;
    *(void **)&look_up = dlsym(RTLD_NEXT, "getaddrinfo");
    return look_up(node, service, hints, found);
}
