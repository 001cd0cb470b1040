/*
 * tensor/axis.c - a dense tensor, divided along one of its dimensions
 *
 * Runs are often a single element, and then a copy of constant size is several
 * times as fast as memcpy(). If all parts are copied, only as many rows are
 * done at a time as stay in the cache for all parts.
 */

#include "tensor/axis.h"

#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"

enum {
    ROWS_BYTES = 128 * 1024,
};

enum hoop_status
axis_of(const struct hoop_shape *shape,
        int32_t dim,
        enum hoop_dtype dtype,
        struct axis *out_axis)
{
    struct axis axis = {1, 0, 1, dtype_size(dtype)};
    uint32_t at = 0;
    size_t count;
    size_t n_bytes;
    enum hoop_status status = shape_count(shape, &count);

    if (status == HOOP_OK)
        status = shape_dim(shape, dim, &at);
    if (status != HOOP_OK)
        return error_pass(status);
    if (__builtin_mul_overflow(count, axis.element_size, &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID, "%zu elements of %s are too many",
                           count, dtype_name(dtype));
    axis.length = shape->dims[at];
    for (uint32_t i = 0; i < at; i++)
        axis.n_outer *= shape->dims[i];
    for (uint32_t i = at + 1; i < shape->n_dims; i++)
        axis.n_inner *= shape->dims[i];
    *out_axis = axis;
    return HOOP_OK;
}

size_t
axis_count(const struct axis *axis, size_t n)
{
    return axis->n_outer * n * axis->n_inner;
}

size_t
axis_bytes(const struct axis *axis, size_t n)
{
    return axis_count(axis, n) * axis->element_size;
}

/* One piece of every row. Strides are in bytes. */
struct rows {
    uint8_t *to;
    size_t to_stride;
    const uint8_t *from;
    size_t from_stride;
    size_t n_rows;
    size_t n_bytes;
};

static inline void
rows_copy_of(const struct rows *rows, size_t n_bytes)
{
    for (size_t row = 0; row < rows->n_rows; row++)
        memcpy(rows->to + row * rows->to_stride,
               rows->from + row * rows->from_stride, n_bytes);
}

static void
rows_copy(const struct rows *rows)
{
    switch (rows->n_bytes) {
    case 0: /* addresses may be NULL then */
        return;
    case 2:
        rows_copy_of(rows, 2);
        return;
    case 4:
        rows_copy_of(rows, 4);
        return;
    case 8:
        rows_copy_of(rows, 8);
        return;
    case 16:
        rows_copy_of(rows, 16);
        return;
    default:
        rows_copy_of(rows, rows->n_bytes);
        return;
    }
}

void
axis_take(const struct axis *axis,
          const void *whole,
          size_t first,
          size_t n,
          void *part)
{
    const size_t run = axis->n_inner * axis->element_size;
    const struct rows rows = {
        .to = part,
        .to_stride = n * run,
        .from = axis->n_outer > 0 && n * run > 0
                    ? (const uint8_t *)whole + first * run
                    : NULL,
        .from_stride = axis->length * run,
        .n_rows = axis->n_outer,
        .n_bytes = n * run,
    };

    rows_copy(&rows);
}

void
axis_put(const struct axis *axis,
         void *whole,
         size_t first,
         size_t n,
         const void *part)
{
    const size_t run = axis->n_inner * axis->element_size;
    const struct rows rows = {
        .to = axis->n_outer > 0 && n * run > 0 ? (uint8_t *)whole + first * run
                                               : NULL,
        .to_stride = axis->length * run,
        .from = part,
        .from_stride = n * run,
        .n_rows = axis->n_outer,
        .n_bytes = n * run,
    };

    rows_copy(&rows);
}

/* Return the number of rows done at a time, as an axis. */
static struct axis
axis_chunk(const struct axis *axis, size_t first)
{
    const size_t row_bytes = axis->length * axis->n_inner * axis->element_size;
    const size_t n_fitting = row_bytes > 0 ? ROWS_BYTES / row_bytes : 0;
    const size_t n_rows = n_fitting > 0 ? n_fitting : 1;
    struct axis chunk = *axis;

    if (n_rows < axis->n_outer - first)
        chunk.n_outer = n_rows;
    else
        chunk.n_outer = axis->n_outer - first;
    return chunk;
}

void
axis_divide(const struct axis *axis,
            const void *whole,
            uint32_t n_parts,
            void *parts)
{
    const size_t n = axis->length / n_parts;
    const size_t piece = n * axis->n_inner * axis->element_size;
    struct axis chunk;

    if (piece == 0)
        return;
    for (size_t row = 0; row < axis->n_outer; row += chunk.n_outer) {
        chunk = axis_chunk(axis, row);
        for (uint32_t i = 0; i < n_parts; i++)
            axis_take(&chunk, (const uint8_t *)whole + row * n_parts * piece,
                      i * n, n,
                      (uint8_t *)parts + (i * axis->n_outer + row) * piece);
    }
}

void
axis_join(const struct axis *axis,
          void *whole,
          uint32_t n_parts,
          const void *parts)
{
    const size_t n = axis->length / n_parts;
    const size_t piece = n * axis->n_inner * axis->element_size;
    struct axis chunk;

    if (piece == 0)
        return;
    for (size_t row = 0; row < axis->n_outer; row += chunk.n_outer) {
        chunk = axis_chunk(axis, row);
        for (uint32_t i = 0; i < n_parts; i++)
            axis_put(&chunk, (uint8_t *)whole + row * n_parts * piece, i * n, n,
                     (const uint8_t *)parts +
                         (i * axis->n_outer + row) * piece);
    }
}
