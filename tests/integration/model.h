/*
 * tests/integration/model.h - tensors of a model that chance made, on each rank
 *
 * All ranks draw the same shapes and know what every rank's values are, so that
 * what comes out of a reduction can be said without the library.
 */

#ifndef TESTS_MODEL_H
#define TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranks.h"

enum {
    MODEL_TENSORS_MAX = 12,
    MODEL_RANKS_MAX = 4,
};

struct model {
    enum hoop_dtype dtype;
    size_t n_tensors;
    struct hoop_tensor list[MODEL_TENSORS_MAX];
    size_t count;               /* elements of all */
    void *values;               /* of this rank, one after the other */
    void *all[MODEL_RANKS_MAX]; /* of each rank, when they were filled */
};

/* Shapes of up to 4 dimensions, sizes 0 to 5, of a dtype. */
void
model_init(struct model *model, enum hoop_dtype dtype, uint64_t seed);
void
model_deinit(struct model *model);

/* New values, of every rank others. */
void
model_fill(struct model *model, const struct rank *rank, uint64_t seed);

/* Whether element index of the reduction over all ranks may be result. */
bool
model_allows(const struct model *model,
             uint32_t size,
             enum hoop_reduce_op op,
             size_t index,
             const void *result);

/* Whether all ranks have the same bytes. */
bool
model_is_everywhere(const struct model *model, struct rank *rank);

#endif
