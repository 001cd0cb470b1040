/*
 * core/memory.h - memory for the coordinator's state, and its accounts
 *
 * Everything is bounded by base/limits.h. What clients can make grow is charged
 * to an account of its job, and thereby to the account of all jobs; the charge
 * is what the allocator gave, not what was asked for. Code that allocates for a
 * request first checks that there is room. What must not be refused, because a
 * world depends on it, is charged without a check.
 *
 * If the process itself has no memory, an allocation aborts the process, except
 * that of a value (see store.c): its supervisor restarts it, which is better
 * than losing an answer it owes.
 *
 * Keys and values of the store have limits of their own, see store.c.
 */

#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

#include "hoop/status.h"

/* The account of a job; or, with all NULL, that of all jobs. */
struct memory_account {
    struct memory_account *all;
    size_t n_bytes;
};

/* Allocate zeroed memory. The caller frees it. Never NULL. */
static inline void *
memory_calloc(size_t n_items, size_t n_bytes)
{
    void *memory = calloc(n_items ? n_items : 1, n_bytes);

    if (!memory)
        abort();
    return memory;
}

/* As realloc(): added memory is not zeroed. Never NULL. */
static inline void *
memory_realloc(void *memory, size_t n_items, size_t n_bytes)
{
    void *resized = reallocarray(memory, n_items, n_bytes);

    if (!resized)
        abort();
    return resized;
}

/* Check that so many more bytes may be allocated. Handle: HOOP_E_EXHAUSTED (the
 * text says which limit). */
enum hoop_status
memory_check_limit(const struct memory_account *account, size_t n_bytes);

/* As memory_calloc(), charged to account. Free it with
 * memory_free_charged(). */
void *
memory_alloc_charged(struct memory_account *account,
                     size_t n_items,
                     size_t n_bytes);
/* As memory_realloc(), for memory taken from account. */
void *
memory_realloc_charged(struct memory_account *account,
                       void *memory,
                       size_t n_items,
                       size_t n_bytes);
/* Return a copy of text, charged to account. */
char *
memory_strdup_charged(struct memory_account *account, const char *text);
/* Return a copy of n_bytes, charged to account; NULL if there are none. */
uint8_t *
memory_copy_charged(struct memory_account *account,
                    const uint8_t *bytes,
                    size_t n_bytes);
/* Free memory and remove its charge. NULL is allowed. */
void
memory_free_charged(struct memory_account *account, void *memory);

/* Replace a charge of n_former bytes by one of n_bytes. */
void
memory_replace_charge(struct memory_account *account,
                      size_t n_former,
                      size_t n_bytes);

/* Return what the allocator uses for memory; 0 for NULL. */
size_t
memory_allocated_size(void *memory);

#endif
