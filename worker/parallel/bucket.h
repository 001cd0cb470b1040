/*
 * parallel/bucket.h - which gradients are reduced together
 *
 * Backward produces gradients in the reverse of the order in which a model
 * lists them, so the first bucket has the last gradients. A bucket is as full
 * as its size allows without cutting a gradient; one that is larger than that
 * has a bucket for itself. No bucket is empty while there are elements, so that
 * ranks hear each other in the first one.
 */

#ifndef PARALLEL_BUCKET_H
#define PARALLEL_BUCKET_H

#include <stddef.h>

struct bucket {
    size_t first; /* of the list's gradients ... */
    size_t end;   /* ... up to the one before this */
    size_t count; /* elements of all of them */
};

/* Cuts n_gradients of counts[] elements into buckets of at most count_max, in
 * the order in which they are reduced. buckets has room for n_gradients.
 * Returns how many there are. */
size_t
bucket_cut(const size_t *counts,
           size_t n_gradients,
           size_t count_max,
           struct bucket *buckets);

#endif
