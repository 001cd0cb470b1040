/*
 * core/memory.h - memory for the coordinator's books
 *
 * Everything is bounded by base/limits.h, and what a client can make large
 * (a value, see store.c) is allocated with a check and refused. For the rest
 * there is no way on without memory: the process ends, as its supervisor
 * expects, rather than forget an answer it owes.
 */

#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stdlib.h>

/* Zeroed; the caller frees. Never NULL. */
static inline void *
memory_create(size_t n_items, size_t n_bytes)
{
    void *memory = calloc(n_items ? n_items : 1, n_bytes);

    if (!memory)
        abort();
    return memory;
}

/* As realloc, what is new is not zeroed. Never NULL. */
static inline void *
memory_resize(void *memory, size_t n_items, size_t n_bytes)
{
    void *resized = reallocarray(memory, n_items, n_bytes);

    if (!resized)
        abort();
    return resized;
}

#endif
