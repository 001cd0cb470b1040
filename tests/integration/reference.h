/*
 * tests/integration/reference.h - calls by chance, and what they must give
 *
 * Shares no code with the library: elements are taken apart from their bytes,
 * integers are combined in 64 bits and cut, floats in double. What rounding may
 * make of a float is bounded by its type and the size of the operands.
 */

#ifndef TESTS_REFERENCE_H
#define TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/hoop.h"

/* n elements of any value that reductions of a few ranks do not overflow; the
 * same for the same seed. */
void
reference_fill(void *elements, enum hoop_dtype dtype, size_t n, uint64_t seed);

/* Whether the operator has a meaning for the type. */
bool
reference_is_defined(enum hoop_dtype dtype, enum hoop_reduce_op op);

struct reference {
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    const void *const *inputs; /* [rank] */
    size_t n_inputs;
    double loss; /* what a float loses on its way, of itself; 0: nothing */
};

/* Whether result may be the reduction of element index of all inputs. */
bool
reference_allows(const struct reference *reference,
                 size_t index,
                 const void *result);

/*
 * The same seed draws the same on all ranks, all ranks' inputs included.
 */

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

/* "allreduce". Static. */
const char *
draw_name(enum draw_kind kind);

/* One call, the same on all ranks. counts[s] are rank s's; of an all-to-all,
 * pair[s][r] go from s to r. */
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

/* A number below bound; seed becomes the next one. */
size_t
draw_below(uint64_t *seed, size_t bound);

size_t
draw_sum(const size_t *counts, uint32_t n);

void
draw_init(struct draw *draw, uint32_t size, uint64_t seed);
void
draw_deinit(struct draw *draw);

/* Elements that rank gives, if it gives any. */
size_t
draw_given(const struct draw *draw, uint32_t rank);
bool
draw_has_input(const struct draw *draw, uint32_t rank);

/* Makes the call of the rank of comm; started if op is not NULL. */
enum hoop_status
draw_call(const struct draw *draw,
          const void *send,
          void *recv,
          hoop_comm_t *comm,
          hoop_op_t **op);

#endif
