/* mesh/degrees.c - n ranks divided into rows of tensor parallelism */

#include "mesh/degrees.h"

#include <assert.h>

#include "base/error.h"

static enum hoop_status
degree_check_divides(const char *name, uint32_t degree, uint32_t n_ranks)
{
    if (n_ranks % degree == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID, "%s %u does not divide %u ranks", name,
                       degree, n_ranks);
}

enum hoop_status
degrees_fill_missing(const struct degrees *given,
                     uint32_t n_ranks,
                     struct degrees *out_degrees)
{
    enum hoop_status status = HOOP_OK;
    struct degrees whole = *given;

    assert(n_ranks > 0);
    if (whole.tp > 0 && whole.dp > 0) {
        if ((uint64_t)whole.tp * whole.dp != n_ranks)
            return error_raise(HOOP_E_INVALID,
                               "tp_degree %u times dp_degree %u is not %u, the "
                               "number of ranks",
                               whole.tp, whole.dp, n_ranks);
    } else if (whole.dp > 0) {
        status = degree_check_divides("dp_degree", whole.dp, n_ranks);
        whole.tp = n_ranks / whole.dp;
    } else {
        whole.tp = whole.tp > 0 ? whole.tp : 1;
        status = degree_check_divides("tp_degree", whole.tp, n_ranks);
        whole.dp = n_ranks / whole.tp;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_degrees = whole;
    return HOOP_OK;
}

uint32_t
degrees_tp_rank(const struct degrees *degrees, uint32_t place)
{
    return place % degrees->tp;
}

uint32_t
degrees_dp_rank(const struct degrees *degrees, uint32_t place)
{
    return place / degrees->tp;
}

uint32_t
degrees_row_first_place(const struct degrees *degrees, uint32_t place)
{
    return place - place % degrees->tp;
}

uint32_t
degrees_column_nth_place(const struct degrees *degrees,
                         uint32_t place,
                         uint32_t n)
{
    assert(n < degrees->dp);
    return n * degrees->tp + place % degrees->tp;
}
