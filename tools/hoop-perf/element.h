/*
 * hoop-perf/element.h - encodes small whole numbers as elements of any dtype
 *
 * The only file of this program that depends on the dtype.
 */

#ifndef HOOP_PERF_ELEMENT_H
#define HOOP_PERF_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/status.h"

enum {
    ELEMENT_BYTES_MAX = 16,
};

/* imaginary is 0 unless the dtype is complex. */
struct number {
    int64_t real;
    int64_t imaginary;
};

/* "f32" or "float32". Handle: HOOP_E_INVALID. */
HOOP_NODISCARD enum hoop_status
element_parse_dtype(const char *text, enum hoop_dtype *out_dtype);

/* "sum", "product" ("prod"), ... Handle: HOOP_E_INVALID. */
HOOP_NODISCARD enum hoop_status
element_parse_reduce_op(const char *text, enum hoop_reduce_op *out_op);

/* "f32" */
const char *
element_name(enum hoop_dtype dtype);

bool
element_is_complex(enum hoop_dtype dtype);

/*
 * Largest value up to which whole numbers and their sums are exact. Integers
 * are exact above it too, where they wrap around.
 */
int64_t
element_exact_max(enum hoop_dtype dtype);

/* Writes hoop_dtype_size() bytes. Integers are truncated to their width. */
void
element_encode(enum hoop_dtype dtype, struct number number, void *out_bytes);

#endif
