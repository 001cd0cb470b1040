/*
 * parallel/move.h - what is done to a tensor between ranks, as rows of a table
 *
 * A move changes how a tensor lies over the ranks along its first and its last
 * dimension. It is at most one collective, which knows of no shape, and one
 * copy, before or after it: parts of the last dimension interleave, where a
 * collective wants them one behind the other.
 */

#ifndef PARALLEL_MOVE_H
#define PARALLEL_MOVE_H

#include <stddef.h>

#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

#include "engine/call.h"

enum move {
    MOVE_COPY,
    MOVE_SUM,
    MOVE_SPLIT_LAST,
    MOVE_SPLIT_FIRST,
    MOVE_GATHER_LAST,
    MOVE_GATHER_FIRST,
    MOVE_SCATTER_LAST, /* reduced */
    MOVE_SCATTER_FIRST,
    MOVE_EXCHANGE,
    MOVE_ROWS_TO_COLUMNS,
    MOVE_COLUMNS_TO_ROWS,
};

/* What becomes of a dimension. */
enum change {
    CHANGE_NONE,
    CHANGE_CUT,  /* a part of it stays here */
    CHANGE_JOIN, /* all ranks' together */
    CHANGE_SWAP, /* a part of each rank's */
};

/* Where the parts of the last dimension are brought together. */
enum packing {
    PACKING_NONE,
    PACKING_BEFORE,
    PACKING_AFTER,
};

struct move_rule {
    enum change first;
    enum change last;
    enum call_name even; /* CALL_UNKNOWN: nothing is sent */
    enum call_name uneven;
    unsigned parts; /* of the collective */
    enum packing packing;
};

const struct move_rule *
move_rule(enum move move);

struct move_call {
    enum move move;
    const struct hoop_tensor *tensor;
    struct hoop_tensor *out;
    const size_t *sizes;  /* rows of each rank, or to it; NULL: equal */
    const size_t *coming; /* CHANGE_SWAP: from each; NULL: equal */
    hoop_scratch_t *scratch;
    hoop_comm_t *comm;
};

/* Handle: as in hoop/tensor_parallel.h. */
enum hoop_status
move_run(const struct move_call *call);
enum hoop_status
move_start(const struct move_call *call, hoop_op_t **out_op);

#endif
