/* tensor_parallel/mapping.h - the mappings: one move forward and one move backward */

#ifndef TENSOR_PARALLEL_MAPPING_H
#define TENSOR_PARALLEL_MAPPING_H

#include "hoop/mappings.h"

enum mapping {
    MAPPING_UNKNOWN,
    MAPPING_COPY_TO_TP,
    MAPPING_REDUCE_FROM_TP,
    MAPPING_SCATTER_TO_TP,
    MAPPING_GATHER_FROM_TP,
    MAPPING_SCATTER_TO_SP,
    MAPPING_GATHER_FROM_SP,            /* for a sharded consumer */
    MAPPING_GATHER_FROM_SP_REPLICATED, /* for a replicated consumer */
    MAPPING_REDUCE_SCATTER_TO_SP,
    MAPPING_ALL_GATHER_LAST_FROM_TP,
    MAPPING_REDUCE_SCATTER_LAST_TO_TP,
    MAPPING_ALL_TO_ALL_ROWS,
    MAPPING_SP2HP,
    MAPPING_HP2SP,
};

struct mapping_call {
    enum mapping mapping;
    const struct hoop_tensor *tensor;
    struct hoop_tensor *out;
    hoop_comm_t *comm;
    const struct hoop_rows *rows; /* NULL: equal parts */
    /* as given to the forward; NULL: equal parts */
    const struct hoop_row_splits *splits;
};

/* Perform the move of a mapping. The _start forms return an operation that the
 * caller waits for.
 * Handle: as in hoop/mappings.h. */
enum hoop_status
mapping_run_forward(struct mapping_call call);
enum hoop_status
mapping_start_forward(struct mapping_call call, hoop_op_t **out_op);
enum hoop_status
mapping_run_backward(struct mapping_call call);
enum hoop_status
mapping_start_backward(struct mapping_call call, hoop_op_t **out_op);

#endif
