/*
 * tests/integration/reference.h - random calls and their expected results
 *
 * It shares no code with the library. Elements are decoded from their bytes.
 * Integers are combined in 64 bits and then truncated, and floats in double.
 * The type and the size of the operands bound the rounding error of a float.
 */

#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/hoop.h"

/* Fills n elements with values that a reduction over a few ranks does not
 * overflow. The same seed gives the same elements. */
void
reference_fill(void *elements, enum hoop_dtype dtype, size_t n, uint64_t seed);

/* Returns whether the operator is defined for the type. */
bool
reference_is_defined(enum hoop_dtype dtype, enum hoop_reduce_op op);

struct reference {
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    const void *const *inputs; /* by rank */
    size_t n_inputs;
    double loss; /* the relative loss of a float in transit; 0: none */
};

/* Returns whether result may be the reduction of the elements at index of all
 * inputs. */
bool
reference_allows(const struct reference *reference,
                 size_t index,
                 const void *result);

/* The same seed gives the same call on all ranks, with the inputs of all
 * ranks. */

enum {
    DRAW_RANKS_MAX = 8,
};

enum draw_kind {
    DRAW_ALLREDUCE,
    DRAW_REDUCE,
    DRAW_BROADCAST,
    DRAW_ALLGATHER,
    DRAW_GATHER,
    DRAW_SCATTER,
    DRAW_REDUCE_SCATTER,
    DRAW_ALLTOALL,
    DRAW_SCAN,
    DRAW_EXSCAN,
    DRAW_KINDS,
};

/* Returns a static name such as "allreduce". */
const char *
draw_name(enum draw_kind kind);

/* This is a call that is the same on all ranks. counts[s] belongs to rank s. In
 * an all-to-all pair[s][r] elements go from rank s to rank r. */
struct draw {
    enum draw_kind kind;
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t size;
    uint32_t root;
    bool is_in_place;
    bool is_even;
    size_t element_size;
    size_t count;
    size_t counts[DRAW_RANKS_MAX];
    size_t pairs[DRAW_RANKS_MAX][DRAW_RANKS_MAX];
    void *inputs[DRAW_RANKS_MAX];
};

/* Returns a number below bound and replaces seed with the next one. */
size_t
draw_below(uint64_t *seed, size_t bound);

size_t
draw_sum(const size_t *counts, uint32_t n);

void
draw_init(struct draw *draw, uint32_t size, uint64_t seed);
void
draw_deinit(struct draw *draw);

/* Returns how many elements the rank contributes. */
size_t
draw_given(const struct draw *draw, uint32_t rank);
bool
draw_has_input(const struct draw *draw, uint32_t rank);

/* Makes the call of this rank of comm. It only starts it if op is not NULL. */
enum hoop_status
draw_call(const struct draw *draw,
          const void *send,
          void *recv,
          hoop_comm_t *comm,
          hoop_op_t **op);

#endif
