/*
 * mesh/degrees.h - n ranks divided into rows of tensor parallelism
 *
 * The functions are pure. A place is an index into the ascending list of ranks.
 * A row is tp consecutive places; a column has the places at one position of
 * every row.
 */

#ifndef MESH_DEGREES_H
#define MESH_DEGREES_H

#include <stdint.h>

#include "hoop/status.h"

struct degrees {
    uint32_t tp; /* ranks in a row; number of columns */
    uint32_t dp; /* ranks in a column; number of rows */
};

/* Completes the degrees for n_ranks ranks, 1 or more. A degree of 0 is not
 * given; if neither is, tp is 1.
 * Handle: HOOP_E_INVALID (a degree does not divide n_ranks; both are given and
 * their product is not n_ranks). */
enum hoop_status
degrees_fill_missing(const struct degrees *given,
                     uint32_t n_ranks,
                     struct degrees *out_degrees);

/* Return the position of a place in its row, and in its column. */
uint32_t
degrees_tp_rank(const struct degrees *degrees, uint32_t place);
uint32_t
degrees_dp_rank(const struct degrees *degrees, uint32_t place);

/* Returns the first place of the row; the others follow it. */
uint32_t
degrees_row_first_place(const struct degrees *degrees, uint32_t place);
/* Returns the n-th place of the column. */
uint32_t
degrees_column_nth_place(const struct degrees *degrees,
                         uint32_t place,
                         uint32_t n);

#endif
