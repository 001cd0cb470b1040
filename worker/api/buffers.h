/*
 * api/buffers.h - what a collective reads and writes on this rank
 *
 * The two buffers of a call may be one, and on a rank that is not the root only
 * one of them may matter. This file turns the user's arguments, in MPI's terms,
 * into the input and the output of a plan.
 */

#ifndef API_BUFFERS_H
#define API_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/collective.h"

struct collective_buffers {
    const void *input;
    /* the input if the call is in place, or if only one buffer matters here */
    void *output;
    bool is_in_place;
    size_t n_input; /* elements */
    size_t n_output;
};

/* The buffers of a call whose counts have been checked. */
struct collective_buffers
buffers_from_collective(const struct collective *collective,
                        const hoop_comm_t *comm);

/* Set only the pointers and is_in_place; the numbers of elements in buffers are
 * kept, unless a buffer does not matter on this rank. */
void
buffers_set_pointers(const struct collective *collective,
                     const hoop_comm_t *comm,
                     struct collective_buffers *buffers);

/* Check the buffers of a call.
 * Handle: HOOP_E_INVALID (NULL, both in place, overlapping). */
enum hoop_status
buffers_check(const struct collective *collective,
              const hoop_comm_t *comm,
              const struct collective_buffers *buffers);

/* The sum of all counts, or count times the number of ranks if a buffer holds
 * every rank's block, else count. The caller has checked that it fits. */
size_t
collective_total_count(const struct collective *collective,
                       const hoop_comm_t *comm);

#endif
