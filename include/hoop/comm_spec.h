/* hoop/comm_spec.h - one collective on a tensor along axes of a mesh
 *
 * A spec names what is done forward, and with it what is done backward with
 * the gradient of the result. It is a plain record: nothing is remembered
 * between the two. Every rank of the mesh says the same spec. ColossalAI's
 * CommSpec.
 *
 * Whatever cannot be done with such a spec is HOOP_E_INVALID with the same text
 * on every rank, before anything moves: a size that is not divisible, a
 * dimension or an axis that is not there, another kind of mesh.
 */

#ifndef HOOP_COMM_SPEC_H
#define HOOP_COMM_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/mesh.h"
#include "hoop/op.h"
#include "hoop/sharding.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

/* Forward, and backward. Sums only. */
enum hoop_comm_pattern {
    /* All ranks' parts along gather_dim; this rank's part along shard_dim,
     * without a sum. Both are the same dimension. */
    HOOP_COMM_GATHER,
    /* The reverse. Forward sends nothing. */
    HOOP_COMM_SPLIT,
    /* Parts along shard_dim go to the ranks, and come together along
     * gather_dim; the reverse, among the same ranks. */
    HOOP_COMM_ALL_TO_ALL,
    /* Sum of all ranks; the gradient as it is. */
    HOOP_COMM_ALLREDUCE,
    /* The tensor as it is; sum of all ranks. */
    HOOP_COMM_IDENTITY,
    /* Gather along one dimension cut by both axes of the mesh, or along two
     * that are cut by one each; this rank's part of it. See axes. */
    HOOP_COMM_MIX_GATHER,
    /* This rank's part along shard_dim of the sum; gather along gather_dim,
     * which is the same. Not in ColossalAI. */
    HOOP_COMM_REDUCE_SCATTER,
};

/* Dimensions of a tensor, from the last if negative. None: not said. */
struct hoop_comm_dims {
    uint32_t n_dims;
    int32_t dims[2];
};

struct hoop_comm_spec {
    enum hoop_comm_pattern pattern;
    struct hoop_comm_dims gather_dim; /* one; of a mix-gather one or two */
    struct hoop_comm_dims shard_dim;  /* of a mix-gather: not looked at */
    /*
     * logical_process_axis. One: the ranks along it. All of the mesh, each
     * once: all its ranks, in the order of their places.
     *
     * A mix-gather, on a mesh of two axes, has two. Different ones cut the
     * dimensions of gather_dim, in their order: of dims f before b, [b, f] and
     * {1, 0} is S0 S1, [b, f] and {0, 1} is S1 S0. Twice the same cuts the
     * only dimension by both: {1, 1} is S01, {0, 0} is S10.
     */
    struct hoop_axes axes;
    bool is_forward_only; /* no backward: costs none, and needs no dimension */
    /* Before the action, of the whole tensor; looked at for costs only. */
    struct hoop_sharding sharding;
    struct hoop_shape shape;
};

/*
 * The shape that the forward makes of a rank's tensor of that shape: it is the
 * check of a spec, too, forward and backward. Thread: any.
 *
 * Handle: HOOP_E_INVALID (NULL, pattern, gather_dim or shard_dim that are
 * missing, too many, not dimensions of the tensor or not the same where they
 * must be, axes that are not the mesh's, not there, there twice or some of
 * several, a size that is not divisible, a mix-gather on a mesh that has not
 * two axes).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_spec_result(const struct hoop_comm_spec *spec,
                      const struct hoop_mesh_shape *mesh,
                      const struct hoop_shape *shape,
                      struct hoop_shape *out_shape);

/*
 * The action. Ownership as hoop/tensor.h says; output may be the very memory
 * of input where the result has its shape, and must not overlap it otherwise.
 * What needs no other rank is a copy, and its operation has ended. The first
 * call along some axes forms their communicator, which hoop_mesh_comm() waits
 * for, in the _start form as well. In a process outside the mesh it does
 * nothing. covert_spec_to_action().
 *
 * Handle: as hoop_comm_spec_result(), HOOP_E_INVALID also for tensors with
 * strides, an output that does not fit, and the backward of a spec that is
 * forward only; HOOP_E_MISMATCH on all (ranks differ in action, shape or
 * dtype); HOOP_E_EXHAUSTED; and as in hoop/coll.h and hoop_mesh_comm().
 * Thread: as there.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_spec_forward(const struct hoop_tensor *input,
                       struct hoop_tensor *output,
                       const struct hoop_comm_spec *spec,
                       hoop_mesh_t *mesh);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_spec_forward_start(const struct hoop_tensor *input,
                             struct hoop_tensor *output,
                             const struct hoop_comm_spec *spec,
                             hoop_mesh_t *mesh,
                             hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_spec_backward(const struct hoop_tensor *output_grad,
                        struct hoop_tensor *input_grad,
                        const struct hoop_comm_spec *spec,
                        hoop_mesh_t *mesh);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_spec_backward_start(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_comm_spec *spec,
                              hoop_mesh_t *mesh,
                              hoop_op_t **out_op);

/* What a message costs along each axis of a mesh. */
struct hoop_mesh_links {
    double alpha[HOOP_MAX_AXES]; /* to begin with */
    double beta[HOOP_MAX_AXES];  /* for each element */
};

struct hoop_comm_cost {
    double forward;
    double backward;
    double total;
};

/*
 * ColossalAI's estimate, of no unit: formulas in the elements x of a rank's
 * part of the sharding's tensor, before the action, also for the backward. A
 * split is 100, the tensor as it is 0. links NULL: alpha and beta are 1 on each
 * axis; all ranks have the largest of each, but a mix-gather the smallest
 * beta. Uneven parts count as the largest. get_comm_cost().
 *
 * Pure. Handle: HOOP_E_INVALID (NULL; the sharding, as hoop_sharding_check();
 * the spec, as hoop_comm_spec_result(), but for its dimensions, which cost
 * does not depend on). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_spec_cost(const struct hoop_comm_spec *spec,
                    const struct hoop_mesh_shape *mesh,
                    const struct hoop_mesh_links *links,
                    struct hoop_comm_cost *out_cost);

HOOP_END

#endif
