/*
 * data_parallel/gradients.h - which gradients are reduced together
 *
 * Backward produces gradients in the reverse of the order in which a model
 * lists them, so the first bucket has the last gradients. A bucket takes as
 * many gradients as fit; a gradient is never cut, and one above the size has a
 * bucket for itself. The first bucket has no elements only if all gradients
 * have none, so that ranks communicate in it.
 */

#ifndef DATA_PARALLEL_GRADIENTS_H
#define DATA_PARALLEL_GRADIENTS_H

#include <stddef.h>

struct bucket {
    size_t first; /* index of its first gradient */
    size_t end;   /* index after its last gradient */
    size_t count; /* elements of all its gradients */
};

/* Divides n_gradients of counts[] elements into buckets of at most count_max
 * elements, in the order in which they are reduced. buckets must have room for
 * n_gradients. Returns the number of buckets. */
size_t
buckets_assign_gradients(const size_t *counts,
                         size_t n_gradients,
                         size_t count_max,
                         struct bucket *buckets);

#endif
