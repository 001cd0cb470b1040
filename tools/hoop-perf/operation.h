/* hoop-perf/operation.h - the operations: sizes, factors, how to call them */

#ifndef HOOP_PERF_OPERATION_H
#define HOOP_PERF_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

enum operation_layout {
    LAYOUT_SAME,     /* count in, count out */
    LAYOUT_GATHER,   /* count in, n * count out */
    LAYOUT_SCATTER,  /* n * count in, count out */
    LAYOUT_EXCHANGE, /* n * count in, n * count out */
    LAYOUT_NONE,     /* no elements */
};

/* What the receive buffer holds afterwards. */
enum operation_result {
    RESULT_NONE,
    RESULT_REDUCED,   /* over all ranks */
    RESULT_PREFIX,    /* over the ranks up to and including this one */
    RESULT_BEFORE,    /* over the ranks before this one; nothing on rank 0 */
    RESULT_ROOTS,     /* root's data, or this rank's block of it */
    RESULT_PREVIOUS,  /* data of the rank before this one */
    RESULT_GATHERED,  /* data of all ranks, in order */
    RESULT_EXCHANGED, /* this rank's block of the data of each rank */
};

/* Which ranks have a buffer; the bits can be combined. */
enum operation_root {
    ROOT_NONE = 0,
    ROOT_PUTS_IN = 1, /* only the root does */
    ROOT_GETS_OUT = 2,
};

/* One call. The buffers belong to the caller. */
struct call {
    const void *send; /* may be HOOP_IN_PLACE */
    void *receive;
    size_t count;
    enum hoop_dtype dtype;
    enum hoop_reduce_op reduce_op;
    uint32_t root;
    hoop_comm_t *comm;
};

typedef enum hoop_status
operation_fn(const struct call *call);

struct operation {
    const char *name;
    enum operation_layout layout;
    enum operation_result result;
    enum operation_root root;
    bool works_in_place;
    operation_fn *run;
};

/* What nccl-tests prints and what the buffers must hold, for one size. */
struct extent {
    size_t n_bytes; /* the larger buffer's */
    size_t count;   /* as passed to the call */
    size_t n_send;  /* elements */
    size_t n_receive;
};

enum {
    OPERATION_COUNT = 17,
};

extern const struct operation operations[OPERATION_COUNT];

/* Return whether the operation combines contributions of several ranks. */
bool
operation_reduces(const struct operation *operation);

/* NULL if there is none of this name. */
const struct operation *
operation_find(const char *name);

/* n_bytes is rounded down to a multiple of element size and ranks. */
struct extent
operation_extent(const struct operation *operation,
                 size_t n_bytes,
                 size_t element_size,
                 uint32_t n_ranks);

/* Bus bandwidth divided by algorithm bandwidth, as in nccl-tests. */
double
operation_bus_factor(const struct operation *operation, uint32_t n_ranks);

#endif
