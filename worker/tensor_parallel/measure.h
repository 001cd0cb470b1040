/*
 * tensor_parallel/measure.h - shapes and counts of a move, before it starts
 *
 * From the shape of this rank's tensor and the lists of rows it computes the
 * shape of the result, the counts of the collective and the numbers that all
 * ranks must agree on.
 */

#ifndef TENSOR_PARALLEL_MEASURE_H
#define TENSOR_PARALLEL_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"
#include "hoop/tensor.h"

#include "tensor_parallel/move.h"

struct measure {
    struct hoop_shape result;
    size_t count;        /* of the collective; 0 if uneven */
    size_t *counts;      /* [size]: elements of each rank; NULL: even */
    size_t *recv_counts; /* [size]: for CHANGE_SWAP */
    /* compared between ranks; owned memory, which also has both lists */
    size_t *agreed;
    uint32_t n_agreed;
};

/* The caller's rank and the number of ranks. */
struct move_group {
    uint32_t rank;
    uint32_t size;
};

/* Computes the measure of a call whose tensor has been checked. The caller ends
 * it with move_geometry_deinit().
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED. */
enum hoop_status
move_geometry_init(struct measure *measure,
                   const struct move_call *call,
                   const struct move_group *group);
/* Zeroed memory is allowed. */
void
move_geometry_deinit(struct measure *measure);

#endif
