/* base/cleanup.h - release resources at the end of a scope */

#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stddef.h>
#include <stdlib.h>

/* CLEANUP(peer_destroy) struct peer *peer = NULL; the variable counts as
 * used. */
#define CLEANUP(destroy) __attribute__((cleanup(destroy##_at), unused))

/* Define destroy##_at, which CLEANUP needs, from a destructor that accepts
 * NULL. */
#define DEFINE_CLEANUP(type, destroy)                                          \
    static inline void destroy##_at(type *at)                                  \
    {                                                                          \
        destroy(*at);                                                          \
    }

/* Return the pointer and set the variable to NULL, so that it no longer owns
 * it. */
#define STEAL(pointer)                                                         \
    __extension__({                                                            \
        __typeof__(pointer) stolen_ = (pointer);                               \
        (pointer) = NULL;                                                      \
        stolen_;                                                               \
    })

#define CONTAINER_OF(pointer, type, member)                                    \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline void
free_at(void *at)
{
    free(*(void **)at);
}

#endif
