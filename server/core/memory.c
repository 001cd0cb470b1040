/* core/memory.c - memory allocated for jobs, charged to their accounts */

#include "core/memory.h"

#include <assert.h>
#include <malloc.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

size_t
memory_allocated_size(void *memory)
{
    return memory ? malloc_usable_size(memory) + sizeof(size_t) : 0;
}

enum hoop_status
memory_check_limit(const struct memory_account *account, size_t n_bytes)
{
    const size_t n_max = account->all ? LIMIT_JOB_BYTES : LIMIT_JOBS_BYTES;

    if (account->n_bytes + n_bytes > n_max)
        return error_raise(HOOP_E_EXHAUSTED,
                           "members, groups and waiting requests of %s take "
                           "%zu bytes: %zu more are over the limit of %zu",
                           account->all ? "the job" : "all jobs",
                           account->n_bytes, n_bytes, n_max);
    return account->all ? memory_check_limit(account->all, n_bytes) : HOOP_OK;
}

static void
account_add(struct memory_account *account, size_t n_bytes)
{
    account->n_bytes += n_bytes;
    account->all->n_bytes += n_bytes;
}

static void
account_subtract(struct memory_account *account, size_t n_bytes)
{
    assert(account->n_bytes >= n_bytes);
    account->n_bytes -= n_bytes;
    account->all->n_bytes -= n_bytes;
}

void
memory_replace_charge(struct memory_account *account,
                      size_t n_former,
                      size_t n_bytes)
{
    account_subtract(account, n_former);
    account_add(account, n_bytes);
}

void *
memory_alloc_charged(struct memory_account *account,
                     size_t n_items,
                     size_t n_bytes)
{
    void *memory = memory_calloc(n_items, n_bytes);

    account_add(account, memory_allocated_size(memory));
    return memory;
}

void *
memory_realloc_charged(struct memory_account *account,
                       void *memory,
                       size_t n_items,
                       size_t n_bytes)
{
    account_subtract(account, memory_allocated_size(memory));
    memory = memory_realloc(memory, n_items, n_bytes);
    account_add(account, memory_allocated_size(memory));
    return memory;
}

char *
memory_strdup_charged(struct memory_account *account, const char *text)
{
    const size_t n_bytes = strlen(text) + 1;

    return memcpy(memory_alloc_charged(account, n_bytes, 1), text, n_bytes);
}

uint8_t *
memory_copy_charged(struct memory_account *account,
                    const uint8_t *bytes,
                    size_t n_bytes)
{
    if (n_bytes == 0)
        return NULL;

    uint8_t *copy = memory_alloc_charged(account, n_bytes, 1);

    memcpy(copy, bytes, n_bytes);
    return copy;
}

void
memory_free_charged(struct memory_account *account, void *memory)
{
    if (!memory)
        return;
    account_subtract(account, memory_allocated_size(memory));
    free(memory);
}
