/*
 * tests/integration/reference.h - what reductions must give, by plain loops
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

/* n elements of any value that reductions of a few ranks do not overflow; the
 * same for the same seed. */
void
reference_fill(void *elements, enum hoop_dtype dtype, size_t n, uint64_t seed);

/* Next number of a seed, which it changes. */
uint64_t
reference_random(uint64_t *seed);

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

#endif
