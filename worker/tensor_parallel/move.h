/*
 * tensor_parallel/move.h - moves: how tensors change their layout over ranks
 *
 * A move changes how a tensor is divided over the ranks along its first and its
 * last dimension. It takes at most one collective, which knows no shapes, and
 * one copy before or after it: parts of the last dimension interleave in
 * memory, while a collective needs them one after the other.
 */

#ifndef TENSOR_PARALLEL_MOVE_H
#define TENSOR_PARALLEL_MOVE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

#include "engine/call.h"

enum move {
    MOVE_COPY,
    MOVE_ALL_REDUCE,
    MOVE_SPLIT_LAST,
    MOVE_SPLIT_FIRST,
    MOVE_GATHER_LAST,
    MOVE_GATHER_FIRST,
    MOVE_REDUCE_SCATTER_LAST, /* reduce-scatter, as the next */
    MOVE_REDUCE_SCATTER_FIRST,
    MOVE_ALL_TO_ALL,
    MOVE_ROWS_TO_COLUMNS,
    MOVE_COLUMNS_TO_ROWS,
};

/* What a move does to a dimension. */
enum part_change {
    PART_CHANGE_NONE,
    PART_CHANGE_SPLIT,      /* this rank keeps one part */
    PART_CHANGE_GATHER,     /* all ranks' parts together */
    PART_CHANGE_ALL_TO_ALL, /* a part of each rank's */
};

struct move_rule {
    enum part_change first;
    enum part_change last;
    enum call_name even; /* CALL_UNKNOWN: nothing is sent */
    enum call_name uneven;
};

/* Returns the row of the table for a move. */
const struct move_rule *
move_rule(enum move move);

struct move_call {
    enum move move;
    const struct hoop_tensor *tensor;
    struct hoop_tensor *out;
    hoop_comm_t *comm;
    const size_t *sizes; /* rows of each rank, or to each; NULL: equal */
    const size_t
        *coming; /* PART_CHANGE_ALL_TO_ALL: rows from each; NULL: equal */
    hoop_scratch_t *scratch;
};

/* Perform a move: move_call_run() waits until it has ended, move_call_start()
 * returns an operation that the caller waits for.
 * Handle: as in hoop/tensor_parallel.h. */
enum hoop_status
move_call_run(struct move_call call);
enum hoop_status
move_call_start(struct move_call call, hoop_op_t **out_op);

/*
 * From the shape of this rank's tensor and the lists of rows it computes the
 * shape of the result, the counts of the collective and the numbers that all
 * ranks must agree on.
 */

struct measure {
    struct hoop_shape result;
    size_t count;        /* of the collective; 0 if uneven */
    size_t *counts;      /* [size]: elements of each rank; NULL: even */
    size_t *recv_counts; /* [size]: for PART_CHANGE_ALL_TO_ALL */
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
