/* pipeline/activation_store.c - the tensors that a stage holds during a run */

#include "pipeline/activation_store.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

enum hoop_status
activation_store_init(struct activation_store *activation_store,
                      const struct hoop_schedule_options *shape)
{
    const size_t n_per_row = (size_t)shape->n_chunks * shape->n_micro_batches;

    *activation_store = (struct activation_store){
        .n_micro_batches = shape->n_micro_batches,
        .n_per_row = n_per_row,
        .places = calloc(ACTIVATION_KINDS * n_per_row,
                         sizeof(*activation_store->places)),
    };
    if (!activation_store->places)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the places of %zu tensors",
                           ACTIVATION_KINDS * n_per_row);
    return HOOP_OK;
}

void
activation_store_deinit(struct activation_store *activation_store)
{
    for (size_t i = 0; activation_store->places &&
                       i < ACTIVATION_KINDS * activation_store->n_per_row;
         i++)
        activation_slot_clear(&activation_store->places[i]);
    free(activation_store->places);
    *activation_store = (struct activation_store){0};
}

struct activation_slot *
activation_store_slot(const struct activation_store *activation_store,
                      enum activation_kind row,
                      uint32_t chunk,
                      uint32_t micro_batch)
{
    const size_t column =
        chunk * activation_store->n_micro_batches + micro_batch;

    assert(column < activation_store->n_per_row);
    return &activation_store
                ->places[(size_t)row * activation_store->n_per_row + column];
}

void
activation_slot_clear(struct activation_slot *place)
{
    assert(!place->op);
    hoop_tensor_free(&place->tensor);
    place->tensor = (struct hoop_tensor){0};
}

void
activation_slot_move(struct activation_slot *from, struct activation_slot *to)
{
    assert(!from->op && !to->op && !to->tensor.data);
    to->tensor = from->tensor;
    from->tensor = (struct hoop_tensor){0};
}
