/* data_parallel/flat.c - a list of tensors as one flat array */

#include "data_parallel/flat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/layout.h"
#include "tensor/operand.h"

static enum hoop_status
flat_tensor_check(const struct hoop_tensor *tensor, const char *name, size_t i)
{
    char text[64];

    snprintf(text, sizeof(text), "%s %zu", name, i);
    const enum hoop_status status = operand_check(tensor, text);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Checks all tensors and counts their elements. */
static enum hoop_status
flat_tensor_list_check(const struct hoop_tensor *tensors,
                       size_t n_tensors,
                       const char *name,
                       size_t *out_count)
{
    size_t count = 0;

    if (!tensors && n_tensors > 0)
        return error_raise(HOOP_E_INVALID, "the list of %ss is NULL", name);
    if (n_tensors > UINT32_MAX / (HOOP_MAX_DIMS + 1))
        return error_raise(HOOP_E_INVALID, "%zu %ss are too many", n_tensors,
                           name);
    for (size_t i = 0; i < n_tensors; i++) {
        const enum hoop_status status = flat_tensor_check(&tensors[i], name, i);

        if (status != HOOP_OK)
            return error_pass(status);
        if (tensors[i].dtype != tensors[0].dtype)
            return error_raise(HOOP_E_INVALID, "%s %zu is %s, but %s 0 is %s",
                               name, i, dtype_name(tensors[i].dtype), name,
                               dtype_name(tensors[0].dtype));
        if (__builtin_add_overflow(count, operand_count(&tensors[i]), &count) ||
            count > INT64_MAX / dtype_size(tensors[0].dtype))
            return error_raise(HOOP_E_INVALID,
                               "the %ss have more than 2^63 bytes", name);
    }
    *out_count = count;
    return HOOP_OK;
}

static void
flat_pieces_fill(struct flat *flat, const struct hoop_tensor *tensors)
{
    for (size_t i = 0; i < flat->n_pieces; i++) {
        const struct hoop_shape *shape = &tensors[i].shape;

        flat->pieces[i] = (struct flat_piece){
            .bytes = tensors[i].data,
            .count = operand_count(&tensors[i]),
        };
        flat->shapes[flat->n_shape_entries++] = shape->n_dims;
        for (uint32_t d = 0; d < shape->n_dims; d++)
            flat->shapes[flat->n_shape_entries++] = shape->dims[d];
    }
}

enum hoop_status
flat_tensors_create(const struct hoop_tensor *tensors,
                    size_t n_tensors,
                    const char *name,
                    struct flat **out_flat)
{
    CLEANUP(flat_tensors_destroy) struct flat *flat = NULL;
    size_t count = 0;

    const enum hoop_status status =
        flat_tensor_list_check(tensors, n_tensors, name, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    flat = calloc(1, sizeof(*flat) + n_tensors * sizeof(flat->pieces[0]));
    if (flat)
        flat->shapes =
            calloc(n_tensors * (HOOP_MAX_DIMS + 1) + 1, sizeof(*flat->shapes));
    if (!flat || !flat->shapes)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a list of %zu %ss",
                           n_tensors, name);
    flat->dtype = n_tensors > 0 ? tensors[0].dtype : HOOP_FLOAT32;
    flat->element_size = dtype_size(flat->dtype);
    flat->count = count;
    flat->n_pieces = n_tensors;
    flat_pieces_fill(flat, tensors);
    *out_flat = STEAL(flat);
    return HOOP_OK;
}

void
flat_tensors_destroy(struct flat *flat)
{
    if (!flat)
        return;
    free(flat->shapes);
    free(flat);
}

enum hoop_status
flat_tensors_check_match(const struct flat *flat,
                         const struct hoop_tensor *tensors,
                         const char *name)
{
    const size_t *shapes = flat->shapes;
    size_t count;

    const enum hoop_status status =
        flat_tensor_list_check(tensors, flat->n_pieces, name, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    if (flat->n_pieces > 0 && tensors[0].dtype != flat->dtype)
        return error_raise(HOOP_E_INVALID, "the %ss are %s and not %s", name,
                           dtype_name(tensors[0].dtype),
                           dtype_name(flat->dtype));
    for (size_t i = 0; i < flat->n_pieces; i++) {
        struct hoop_shape shape = {.n_dims = (uint32_t)*shapes++};

        for (uint32_t d = 0; d < shape.n_dims; d++)
            shape.dims[d] = *shapes++;
        if (!shape_equal(&shape, &tensors[i].shape))
            return error_raise(HOOP_E_INVALID, "%s %zu is %s and not %s", name,
                               i, shape_text(&tensors[i].shape).text,
                               shape_text(&shape).text);
    }
    return HOOP_OK;
}

void
flat_tensors_pack_range(const struct flat *flat,
                        size_t first,
                        size_t count,
                        void *to)
{
    uint8_t *at = to;

    for (size_t i = 0; i < flat->n_pieces && count > 0; i++) {
        const struct flat_piece *piece = &flat->pieces[i];

        if (first >= piece->count) {
            first -= piece->count;
            continue;
        }
        const size_t n_left = piece->count - first;
        const size_t n = n_left < count ? n_left : count;
        memcpy(at, piece->bytes + first * flat->element_size,
               n * flat->element_size);
        at += n * flat->element_size;
        count -= n;
        first = 0;
    }
}

void
flat_tensors_unpack(const struct flat *flat, const void *from)
{
    const uint8_t *at = from;

    for (size_t i = 0; i < flat->n_pieces; i++) {
        const size_t n_bytes = flat->pieces[i].count * flat->element_size;

        if (n_bytes > 0)
            memcpy(flat->pieces[i].bytes, at, n_bytes);
        at += n_bytes;
    }
}
