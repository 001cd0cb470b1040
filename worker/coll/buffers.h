/*
 * coll/buffers.h - what a collective reads and writes on this rank
 *
 * A call's two buffers may be one, or only one of them may matter here: the
 * root's differ from the others'. What the user says in MPI's terms becomes
 * what a plan reads and writes.
 */

#ifndef COLL_BUFFERS_H
#define COLL_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "coll/collective.h"

struct buffers {
    const void *input;
    void *output; /* in place, or when only one exists here: the input */
    bool is_in_place;
    size_t n_input; /* elements */
    size_t n_output;
};

/* The counts have been checked. */
struct buffers
buffers_of(const struct collective *collective, const hoop_comm_t *comm);

/* Where they are, of a call that has as many elements as buffers says. */
void
buffers_place(const struct collective *collective,
              const hoop_comm_t *comm,
              struct buffers *buffers);

/* buffers are the call's. Handle: HOOP_E_INVALID (NULL, both in place,
 * overlapping). */
enum hoop_status
buffers_check(const struct collective *collective,
              const hoop_comm_t *comm,
              const struct buffers *buffers);

/* Elements of all counts, or of count for each rank; they fit a size_t. */
size_t
buffers_total(const struct collective *collective, const hoop_comm_t *comm);

#endif
