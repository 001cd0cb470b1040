/* tests/integration/model.c - tensors of a model that chance made */

#include "model.h"

#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "reference.h"

static struct hoop_shape
draw_shape(uint64_t *seed)
{
    struct hoop_shape shape = {.n_dims = (uint32_t)draw_below(seed, 5)};

    for (uint32_t i = 0; i < shape.n_dims; i++) {
        /* Nothing is rare: one of it empties the tensor. */
        const size_t size = draw_below(seed, 26);

        shape.dims[i] = size == 25 ? 0 : size % 5 + 1;
    }
    return shape;
}

void
model_init(struct model *model, enum hoop_dtype dtype, uint64_t seed)
{
    size_t counts[MODEL_TENSORS_MAX];

    memset(model, 0, sizeof(*model));
    model->dtype = dtype;
    model->n_tensors = 1 + draw_below(&seed, MODEL_TENSORS_MAX);
    for (size_t i = 0; i < model->n_tensors; i++) {
        const struct hoop_shape shape = draw_shape(&seed);

        model->list[i] = (struct hoop_tensor){.dtype = dtype, .shape = shape};
        if (hoop_shape_count(&shape, &counts[i]) != HOOP_OK)
            abort();
        model->count += counts[i];
    }
    const size_t n_bytes = model->count * hoop_dtype_size(dtype);
    model->values = malloc(n_bytes + 1);
    for (uint32_t rank = 0; rank < MODEL_RANKS_MAX; rank++)
        model->all[rank] = malloc(n_bytes + 1);
    uint8_t *at = model->values;
    for (size_t i = 0; i < model->n_tensors; i++) {
        model->list[i].data = counts[i] > 0 ? at : NULL;
        at += counts[i] * hoop_dtype_size(dtype);
    }
}

void
model_deinit(struct model *model)
{
    free(model->values);
    for (uint32_t rank = 0; rank < MODEL_RANKS_MAX; rank++)
        free(model->all[rank]);
}

void
model_fill(struct model *model, const struct rank *rank, uint64_t seed)
{
    for (uint32_t r = 0; r < rank->size; r++)
        reference_fill(model->all[r], model->dtype, model->count,
                       seed * 101 + r);
    memcpy(model->values, model->all[rank->rank],
           model->count * hoop_dtype_size(model->dtype));
}

bool
model_allows(const struct model *model,
             uint32_t size,
             enum hoop_reduce_op op,
             size_t index,
             const void *result)
{
    const struct reference reference = {
        .dtype = model->dtype,
        .op = op,
        .inputs = (const void *const *)model->all,
        .n_inputs = size,
    };

    return reference_allows(&reference, index, result);
}

bool
model_is_everywhere(const struct model *model, struct rank *rank)
{
    const uint8_t *bytes = model->values;
    uint64_t hashes[MODEL_RANKS_MAX] = {0};
    uint64_t hash = 1;

    for (size_t i = 0; i < model->count * hoop_dtype_size(model->dtype); i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    if (hoop_allgather(&hash, hashes, 1, HOOP_UINT64, rank->comm) != HOOP_OK)
        return false;
    for (uint32_t r = 0; r < rank->size; r++) {
        if (hashes[r] != hash)
            return false;
    }
    return true;
}
