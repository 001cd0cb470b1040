/* parallel/shelf.c - the tensors that a stage holds while a schedule runs */

#include "parallel/shelf.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

enum hoop_status
shelf_init(struct shelf *shelf, const struct hoop_schedule_options *shape)
{
    const size_t n_per_row = (size_t)shape->n_chunks * shape->n_micro_batches;

    *shelf = (struct shelf){
        .n_micro_batches = shape->n_micro_batches,
        .n_per_row = n_per_row,
        .places = calloc(SHELF_ROWS * n_per_row, sizeof(*shelf->places)),
    };
    if (!shelf->places)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the places of %zu tensors",
                           SHELF_ROWS * n_per_row);
    return HOOP_OK;
}

void
shelf_deinit(struct shelf *shelf)
{
    for (size_t i = 0; shelf->places && i < SHELF_ROWS * shelf->n_per_row; i++)
        shelf_clear(&shelf->places[i]);
    free(shelf->places);
    *shelf = (struct shelf){0};
}

struct shelf_place *
shelf_at(const struct shelf *shelf,
         enum shelf_row row,
         uint32_t chunk,
         uint32_t micro_batch)
{
    const size_t column = chunk * shelf->n_micro_batches + micro_batch;

    assert(column < shelf->n_per_row);
    return &shelf->places[(size_t)row * shelf->n_per_row + column];
}

void
shelf_clear(struct shelf_place *place)
{
    assert(!place->op);
    hoop_tensor_free(&place->tensor);
    place->tensor = (struct hoop_tensor){0};
}

void
shelf_move(struct shelf_place *from, struct shelf_place *to)
{
    assert(!from->op && !to->op && !to->tensor.data);
    to->tensor = from->tensor;
    from->tensor = (struct hoop_tensor){0};
}
