/*
 * parallel/shelf.h - the tensors that a stage holds while a schedule runs
 *
 * Each has one place, by what it is, chunk and micro-batch, and is freed there:
 * an input behind its backward, what is sent when it has been. A place is where
 * a message comes to or goes from, too, and knows the operation that does it.
 */

#ifndef PARALLEL_SHELF_H
#define PARALLEL_SHELF_H

#include <stdbool.h>
#include <sys/queue.h>

#include "hoop/op.h"
#include "hoop/schedule.h"
#include "hoop/tensor.h"

enum shelf_row {
    SHELF_INPUT,
    SHELF_OUTPUT,
    SHELF_OUTPUT_GRAD,
    SHELF_INPUT_GRAD,
    SHELF_ROWS,
};

struct shelf_place {
    struct hoop_tensor tensor;
    hoop_op_t *op;   /* NULL: the tensor is at rest */
    bool is_to_next; /* where it is being sent to */
    STAILQ_ENTRY(shelf_place) link;
};

struct shelf {
    size_t n_micro_batches;
    size_t n_per_row;
    struct shelf_place *places;
};

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
shelf_init(struct shelf *shelf, const struct hoop_schedule_options *shape);
/* Frees all tensors; nothing is under way any more. */
void
shelf_deinit(struct shelf *shelf);

struct shelf_place *
shelf_at(const struct shelf *shelf,
         enum shelf_row row,
         uint32_t chunk,
         uint32_t micro_batch);
/* Frees the tensor, if any. */
void
shelf_clear(struct shelf_place *place);
/* to is empty, as from is then. */
void
shelf_move(struct shelf_place *from, struct shelf_place *to);

#endif
