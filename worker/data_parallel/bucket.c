/* data_parallel/bucket.c - which gradients are reduced together */

#include "data_parallel/bucket.h"

size_t
buckets_assign_gradients(const size_t *counts,
                         size_t n_gradients,
                         size_t count_max,
                         struct bucket *buckets)
{
    size_t n_buckets = 0;

    for (size_t i = n_gradients; i > 0; i--) {
        const size_t count = counts[i - 1];
        struct bucket *last = n_buckets > 0 ? &buckets[n_buckets - 1] : NULL;

        if (last && (last->count == 0 || (last->count <= count_max &&
                                          count <= count_max - last->count))) {
            last->first = i - 1;
            last->count += count;
            continue;
        }
        buckets[n_buckets++] =
            (struct bucket){.first = i - 1, .end = i, .count = count};
    }
    return n_buckets;
}
