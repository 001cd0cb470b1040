/*
 * tests/unit/common/dtype/reference.h - reductions of one element, slow and
 * plain, written differently from the kernels
 */

#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/dtype.h"

/* What hoop/dtype.h says of the pair. */
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

/* A number in a float dtype, rounded to nearest even; NaN is the quiet one. */
void
reference_store(void *out, enum hoop_dtype dtype, double value);

double
reference_load(const void *value, enum hoop_dtype dtype);

#endif
