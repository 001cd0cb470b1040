/*
 * parallel/measure.h - shapes and counts of a move, before anything is moved
 *
 * From the shape of this rank's tensor and the lists of rows: the shape of the
 * result, what the collective counts, and what all ranks must agree on.
 */

#ifndef PARALLEL_MEASURE_H
#define PARALLEL_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"
#include "hoop/tensor.h"

#include "parallel/move.h"

struct measure {
    struct hoop_shape result;
    size_t count;        /* of the collective; uneven: 0 */
    size_t *counts;      /* elements of each rank; NULL: even */
    size_t *recv_counts; /* CHANGE_SWAP */
    size_t *agreed;      /* owned, and the two lists with it */
    uint32_t n_agreed;
};

/* Who takes part. */
struct measure_group {
    uint32_t rank;
    uint32_t size;
};

/* The call's tensor has been checked.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED. */
enum hoop_status
measure_init(struct measure *measure,
             const struct move_call *call,
             const struct measure_group *group);
/* Zeroed is fine. */
void
measure_deinit(struct measure *measure);

#endif
