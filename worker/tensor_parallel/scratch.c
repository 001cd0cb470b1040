/* tensor_parallel/scratch.c - memory that one result after the other is put in */

#include "tensor_parallel/scratch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "tensor/operand.h"

enum {
    ALIGNMENT = 64,
};

struct hoop_scratch {
    uint8_t *bytes;
    size_t capacity;
    bool is_lent;
};

enum hoop_status
hoop_scratch_create(hoop_scratch_t **out_scratch)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_scratch)
        return error_raise(HOOP_E_INVALID, "out_scratch is NULL");
    struct hoop_scratch *scratch = calloc(1, sizeof(*scratch));
    if (!scratch)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a scratch");
    *out_scratch = scratch;
    return HOOP_OK;
}

void
hoop_scratch_free(hoop_scratch_t *scratch)
{
    if (!scratch)
        return;
    free(scratch->bytes);
    free(scratch);
}

static bool
scratch_overlaps_tensor(const struct hoop_scratch *scratch,
                        const struct hoop_tensor *tensor)
{
    const uintptr_t first = (uintptr_t)scratch->bytes;
    const uintptr_t at = (uintptr_t)tensor->data;
    const size_t n_bytes = operand_bytes(tensor);

    return n_bytes > 0 && at < first + scratch->capacity &&
           first < at + n_bytes;
}

/* The old content is not copied, since it need not be kept. */
static enum hoop_status
scratch_grow(struct hoop_scratch *scratch, size_t n_bytes)
{
    if (n_bytes <= scratch->capacity)
        return HOOP_OK;
    const size_t capacity = (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint8_t *bytes = aligned_alloc(ALIGNMENT, capacity);
    if (!bytes)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for a scratch of %zu bytes", capacity);
    free(scratch->bytes);
    scratch->bytes = bytes;
    scratch->capacity = capacity;
    return HOOP_OK;
}

enum hoop_status
scratch_acquire(struct hoop_scratch *scratch,
                size_t n_bytes,
                const struct hoop_tensor *tensor,
                void **out_bytes)
{
    if (scratch->is_lent)
        return error_raise(HOOP_E_PRECONDITION,
                           "an operation that has not been waited for uses the "
                           "scratch: wait for it, or give each its own");
    if (scratch_overlaps_tensor(scratch, tensor))
        return error_raise(HOOP_E_INVALID,
                           "the tensor lies in the scratch that its result "
                           "would be put in: use another");
    const enum hoop_status status = scratch_grow(scratch, n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    scratch->is_lent = true;
    *out_bytes = scratch->bytes;
    return HOOP_OK;
}

void
scratch_release(struct hoop_scratch *scratch)
{
    if (scratch)
        scratch->is_lent = false;
}
