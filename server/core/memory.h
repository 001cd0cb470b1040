/*
 * core/memory.h - memory for the coordinator's books, and what it counts
 *
 * Everything is bounded by base/limits.h. What clients can make grow is charged
 * to an account of its job, and so to that of all jobs: what the allocator gave,
 * not what was asked for. Whoever is about to allocate for a request checks first
 * that there is room. What must not be refused, since a world goes on with it, is
 * charged all the same.
 *
 * Where the process itself has no memory there is no way on but for values (see
 * store.c): it ends, as its supervisor expects, rather than forget an answer it
 * owes.
 *
 * Keys and values have bounds of their own, see store.c.
 */

#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

#include "hoop/status.h"

/* Of a job; or, without all, of all jobs. */
struct memory_account {
    struct memory_account *all;
    size_t n_bytes;
};

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

/* Whether so many bytes more may be allocated. Handle: HOOP_E_EXHAUSTED (the text
 * says which limit). */
enum hoop_status
memory_check(const struct memory_account *account, size_t n_bytes);

/* As memory_create(), charged to account; memory_free() frees it. */
void *
memory_take(struct memory_account *account, size_t n_items, size_t n_bytes);
/* As memory_resize(), of what was taken from account. */
void *
memory_retake(struct memory_account *account,
              void *memory,
              size_t n_items,
              size_t n_bytes);
/* A copy of text. */
char *
memory_take_text(struct memory_account *account, const char *text);
/* Frees it and takes it off the account. NULL is fine. */
void
memory_free(struct memory_account *account, void *memory);

/* What was charged as so many bytes takes n_bytes now. */
void
memory_recount(struct memory_account *account, size_t n_former, size_t n_bytes);

/* What the allocator uses for it; NULL: 0. */
size_t
memory_size(void *memory);

#endif
