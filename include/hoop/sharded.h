/* hoop/sharded.h - data parallel: each rank keeps the optimizer of its own shard
 *
 * Parameters are taken as one flat array, cut into equal shards (the last may
 * be shorter, or empty). A step reduce-scatters the gradients, the caller
 * updates its shard of the parameters with optimizer state of that size only,
 * and an all-gather gives everybody all. ZeRO's first stage, torch's
 * ZeroRedundancyOptimizer, Megatron's distributed optimizer.
 */

#ifndef HOOP_SHARDED_H
#define HOOP_SHARDED_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

typedef struct hoop_sharded hoop_sharded_t;

/* A rank's part of the flat array. */
struct hoop_shard {
    size_t offset; /* elements; where it begins in the flat array */
    size_t count;
};

/*
 * parameters: dense, of one dtype, the same shapes in the same order on all
 * ranks of comm, which is borrowed for life, as is their data; the list is for
 * the call. *out_sharded is the caller's, for hoop_sharded_free(). It has a
 * copy of the flat array, and of a shard. No communication.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharded_create(const struct hoop_tensor *parameters,
                    size_t n_parameters,
                    hoop_comm_t *comm,
                    hoop_sharded_t **out_sharded);

/* NULL is fine. */
HOOP_API void
hoop_sharded_free(hoop_sharded_t *sharded);

/* The part of rank, without communication; where there is no such rank, nothing
 * at 0. Thread: any. */
HOOP_API struct hoop_shard
hoop_sharded_part(const hoop_sharded_t *sharded, uint32_t rank);

/*
 * Reduce gradients, which have the parameters' shapes and dtype, with HOOP_SUM
 * or HOOP_AVG: *out_gradient is this rank's shard of the result, and
 * *out_parameter a copy of its shard of the parameters, to be changed in place;
 * both are hoop's and valid until hoop_sharded_gather() or the next reduce; a
 * step may be given up here. Both have one dimension, and no data where the
 * shard is empty. Handle: HOOP_E_INVALID, as hoop_reduce_scatterv().
 * Thread: as a collective.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharded_reduce(hoop_sharded_t *sharded,
                    const struct hoop_tensor *gradients,
                    enum hoop_reduce_op op,
                    struct hoop_tensor *out_gradient,
                    struct hoop_tensor *out_parameter);

/* Give all ranks all changed shards: the parameters hold them. Handle:
 * HOOP_E_PRECONDITION (nothing has been reduced), as hoop_allgatherv(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharded_gather(hoop_sharded_t *sharded);

HOOP_END

#endif
