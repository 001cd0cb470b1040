/*
 * parallel/degrees.h - n ranks as rows of tensor parallelism
 *
 * Pure. A place is an index in the ascending list of ranks; a row is tp
 * neighbours, a column those at one place of all rows.
 */

#ifndef PARALLEL_DEGREES_H
#define PARALLEL_DEGREES_H

#include <stdint.h>

#include "hoop/status.h"

struct degrees {
    uint32_t tp; /* ranks of a row, columns */
    uint32_t dp; /* ranks of a column, rows */
};

/* Of n_ranks ranks, 1 or more; 0 in given: not given. Handle: HOOP_E_INVALID
 * (one does not divide n_ranks, both are given and their product differs). */
enum hoop_status
degrees_complete(const struct degrees *given,
                 uint32_t n_ranks,
                 struct degrees *out_degrees);

/* Where a place stands: in its row, and in its column. */
uint32_t
degrees_tp_rank(const struct degrees *degrees, uint32_t place);
uint32_t
degrees_dp_rank(const struct degrees *degrees, uint32_t place);

/* The first place of place's row; the others follow it. */
uint32_t
degrees_row_first(const struct degrees *degrees, uint32_t place);
/* The n-th place of place's column. */
uint32_t
degrees_column_place(const struct degrees *degrees, uint32_t place, uint32_t n);

#endif
