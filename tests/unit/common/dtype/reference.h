/* tests/unit/common/dtype/reference.h - slow reductions of single elements */

#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/dtype.h"

/* Returns whether hoop/dtype.h defines the operator for the type. */
bool
reference_has(enum hoop_dtype dtype, enum hoop_reduce_op op);

void
reference_combine(void *out,
                  const void *left,
                  const void *right,
                  enum hoop_dtype dtype,
                  enum hoop_reduce_op op);

void
reference_divide(void *value, enum hoop_dtype dtype, uint32_t n);

/* Stores a number in a float dtype, rounded to nearest even. NaN is quiet. */
void
reference_store(void *out, enum hoop_dtype dtype, double value);

double
reference_load(const void *value, enum hoop_dtype dtype);

#endif
