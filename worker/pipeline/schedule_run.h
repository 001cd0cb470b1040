/*
 * pipeline/schedule_run.h - the activations that a stage holds during a run
 *
 * Each tensor has one slot, found by kind, chunk and micro-batch. Its memory is
 * freed there: an input's after its backward, a sent tensor's when the send has
 * ended. Messages are received into slots and sent from them; a slot knows the
 * operation that does so.
 */

#ifndef PIPELINE_SCHEDULE_RUN_H
#define PIPELINE_SCHEDULE_RUN_H

#include <sys/queue.h>

#include "hoop/op.h"
#include "hoop/schedule.h"
#include "hoop/tensor.h"

enum activation_kind {
    ACTIVATION_INPUT,
    ACTIVATION_OUTPUT,
    ACTIVATION_OUTPUT_GRAD,
    ACTIVATION_INPUT_GRAD,
    ACTIVATION_N_KINDS,
};

struct messenger_side;

struct activation_slot {
    struct hoop_tensor tensor;
    hoop_op_t *op;                   /* NULL: no message is in progress */
    struct messenger_side *receiver; /* the neighbour it is being sent to */
    STAILQ_ENTRY(activation_slot) link;
};

struct activation_store {
    size_t n_micro_batches;
    size_t n_slots_per_kind;
    struct activation_slot *places;
};

/* Allocates a slot for each tensor.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
activation_store_init(struct activation_store *activation_store,
                      const struct hoop_schedule_options *shape);
/* Frees all tensors. No operation may be in progress. */
void
activation_store_deinit(struct activation_store *activation_store);

/* Returns the slot of a tensor. chunk and micro_batch must exist. */
struct activation_slot *
activation_store_slot(const struct activation_store *activation_store,
                      enum activation_kind row,
                      uint32_t chunk,
                      uint32_t micro_batch);
/* Frees the tensor, if any. The slot must have no operation. */
void
activation_slot_clear(struct activation_slot *place);
/* Moves a tensor to another slot, which must be empty. Neither slot may have an
 * operation; from is empty afterwards. */
void
activation_slot_move(struct activation_slot *from, struct activation_slot *to);

#endif
