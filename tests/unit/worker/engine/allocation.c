/* tests/unit/worker/engine/allocation.c - allocations that fail when a test
 * says so */

#include "allocation.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_bool is_refused;
static atomic_uint n_until_failure;

void *
__real_malloc(size_t n_bytes);
void *
__wrap_malloc(size_t n_bytes);
void *
__real_calloc(size_t n_members, size_t n_bytes);
void *
__wrap_calloc(size_t n_members, size_t n_bytes);

void *
__wrap_malloc(size_t n_bytes)
{
    return atomic_load(&is_refused) ? NULL : __real_malloc(n_bytes);
}

void *
__wrap_calloc(size_t n_members, size_t n_bytes)
{
    if (atomic_load(&n_until_failure) > 0 &&
        atomic_fetch_sub(&n_until_failure, 1) == 1)
        return NULL;
    return __real_calloc(n_members, n_bytes);
}

void
malloc_refuse(void)
{
    atomic_store(&is_refused, true);
}

void
malloc_allow(void)
{
    atomic_store(&is_refused, false);
}

void
calloc_refuse_nth(unsigned n)
{
    atomic_store(&n_until_failure, n);
}
