/*
 * parallel/activation_store.h - the tensors that a stage holds while a schedule runs
 *
 * Each has one place, by what it is, chunk and micro-batch, and is freed there:
 * an input behind its backward, what is sent when it has been. A place is where
 * a message comes to or goes from, too, and knows the operation that does it.
 */

#ifndef PARALLEL_ACTIVATION_STORE_H
#define PARALLEL_ACTIVATION_STORE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "hoop/op.h"
#include "hoop/schedule.h"
#include "hoop/tensor.h"

enum activation_kind {
    ACTIVATION_INPUT,
    ACTIVATION_OUTPUT,
    ACTIVATION_OUTPUT_GRAD,
    ACTIVATION_INPUT_GRAD,
    ACTIVATION_KINDS,
};

struct activation_slot {
    struct hoop_tensor tensor;
    hoop_op_t *op;   /* NULL: the tensor is at rest */
    bool is_to_next; /* where it is being sent to */
    STAILQ_ENTRY(activation_slot) link;
};

struct activation_store {
    size_t n_micro_batches;
    size_t n_per_row;
    struct activation_slot *places;
};

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
activation_store_init(struct activation_store *activation_store,
                      const struct hoop_schedule_options *shape);
/* Frees all tensors; nothing is under way any more. */
void
activation_store_deinit(struct activation_store *activation_store);

struct activation_slot *
activation_store_at(const struct activation_store *activation_store,
                    enum activation_kind row,
                    uint32_t chunk,
                    uint32_t micro_batch);
/* Frees the tensor, if any. */
void
activation_store_clear(struct activation_slot *place);
/* to is empty, as from is then. */
void
activation_store_move(struct activation_slot *from, struct activation_slot *to);

#endif
