/* hoop/dtensor.h - one tensor that lies over the ranks of a mesh
 *
 * A distributed tensor has a shape, a mesh, and a sharding, which says what
 * part of it each rank of the mesh has (hoop/sharding.h); every rank keeps its
 * part as a plain tensor. A process outside the mesh may have the tensor, too:
 * with everything but a part. Tensors borrow their mesh, which is freed behind
 * them. ColossalAI's ColoTensor, torch's DTensor.
 *
 * What cannot be done is HOOP_E_INVALID with the same text on every rank,
 * before anything moves.
 */

#ifndef HOOP_DTENSOR_H
#define HOOP_DTENSOR_H

#include <stdint.h>

#include "hoop/api.h"
#include "hoop/dtype.h"
#include "hoop/mesh.h"
#include "hoop/op.h"
#include "hoop/parameter.h"
#include "hoop/process_group.h"
#include "hoop/sharding.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

typedef struct hoop_dtensor hoop_dtensor_t;

/*
 * Where a tensor lies, and how. What it points to is borrowed for the life of
 * every tensor that has it. ColossalAI's ColoTensorSpec.
 */
struct hoop_tensor_spec {
    hoop_mesh_t *mesh;
    struct hoop_sharding sharding;      /* zeroed: whole on every rank */
    const struct hoop_compute *compute; /* a label; NULL: none */
};

/*
 * How a tensor lies over the caller's row of a process group, the same in all
 * rows. The mesh has the group's ranks; its axes are "data", the D rows, and
 * those of dist->mesh, called "tensor", or "tensor0", "tensor1", ... if there
 * are several. dist NULL: whole on every rank. ColoTensorSpec(pg, dist_attr).
 *
 * The mesh is the group's, which frees it; the same sizes give the same one.
 * Handle: HOOP_E_INVALID (NULL, dist->mesh has not T places, or HOOP_MAX_AXES
 * axes), HOOP_E_EXHAUSTED. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pg_tensor_spec(hoop_pg_t *group,
                    const struct hoop_group_sharding *dist,
                    struct hoop_tensor_spec *out_spec);

/*
 * Label local as this rank's part: nothing is sent, cut or copied, and its data
 * is borrowed for the tensor's life. shape is that of the whole; NULL: what
 * parts like this one make. Outside the mesh local has no data, and the shape
 * of a part if shape is NULL. ColoTensor(), from_torch_tensor().
 *
 * *out_dtensor is the caller's, who gives it to hoop_dtensor_free().
 * Handle (this and the next two): HOOP_E_INVALID (NULL, dtype, as
 * hoop_sharding_check(), a partial_op that has no meaning for dtype; here also:
 * local has strides, or is not the part, or is_uneven leaves the shape open),
 * HOOP_E_EXHAUSTED. Thread (all of this file): one at a time for a tensor.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_from_local(const struct hoop_tensor *local,
                        const struct hoop_shape *shape,
                        const struct hoop_tensor_spec *spec,
                        hoop_dtensor_t **out_dtensor);

/*
 * Copy this rank's part out of global, which every rank of the mesh has whole;
 * outside the mesh its dtype and shape count alone. Nothing is sent. Of addends
 * the first rank along the axes of partial has the value, the others what
 * changes no sum, product or bits; of MIN, MAX and AVG all have the value.
 * torch's distribute_tensor().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_from_global(const struct hoop_tensor *global,
                         const struct hoop_tensor_spec *spec,
                         hoop_dtensor_t **out_dtensor);

/* Zeros in every part. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_create(enum hoop_dtype dtype,
                    const struct hoop_shape *shape,
                    const struct hoop_tensor_spec *spec,
                    hoop_dtensor_t **out_dtensor);

/* Frees the part, too, unless it was borrowed. NULL is fine. */
HOOP_API void
hoop_dtensor_free(hoop_dtensor_t *dtensor);

/* This rank's part, whose elements may be changed; NULL outside the mesh. It,
 * and what the next two hand out, are borrowed until a call changes the tensor.
 * NULL of NULL. */
HOOP_API const struct hoop_tensor *
hoop_dtensor_local(const hoop_dtensor_t *dtensor);
HOOP_API const struct hoop_shape *
hoop_dtensor_shape(const hoop_dtensor_t *dtensor);
HOOP_API const struct hoop_tensor_spec *
hoop_dtensor_spec(const hoop_dtensor_t *dtensor);

/* Which part of the whole that is. Handle: HOOP_E_INVALID (NULL; outside the
 * mesh). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_part(const hoop_dtensor_t *dtensor, struct hoop_part *out_part);

/* Of NULL: none that is known. */
HOOP_API enum hoop_dtype
hoop_dtensor_dtype(const hoop_dtensor_t *dtensor);

/* The process group that the tensor lies over: that whose
 * hoop_pg_tensor_spec() its spec is, or that it was set to. NULL: it lies over
 * a mesh of hoop_mesh_create(), or dtensor is NULL. process_group. */
HOOP_API hoop_pg_t *
hoop_dtensor_process_group(const hoop_dtensor_t *dtensor);

/*
 * Say that the tensor, which every rank has whole, lies over the ranks of
 * group: a label, nothing is sent. A tensor that lies over such a group already
 * stays as it is, over the group that it has. Who is not in group has no part
 * any more. set_process_group().
 *
 * Handle: HOOP_E_INVALID (NULL, another session), HOOP_E_PRECONDITION, and
 * nothing changes (the tensor is cut or partial, its mesh has two axes longer
 * than 1, group has a rank that has no part yet), HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_set_process_group(hoop_dtensor_t *dtensor, hoop_pg_t *group);

/*
 * The same tensor as spec says, in memory of its own; dtensor stays as it is.
 * The mesh may be another, of other ranks: all ranks of both call, one that is
 * in neither may, and gets a tensor without a part. How it goes there is
 * hoop/redistribute.h's: in the cheapest steps that there are. Addends become
 * whole, and whole becomes addends as hoop_dtensor_from_global() says.
 * redistribute().
 *
 * All elements of a rank's result come from one replica of dtensor, a set of
 * ranks that have the same coordinate on all axes that do not cut it: from the
 * rank's own, if it is in dtensor's mesh. Which one a rank gets that is not is
 * in docs/tensors.md ("Whose elements a rank gets"). This holds for all calls
 * down to hoop_dtensor_gather_start(), also where replicas differ.
 *
 * *out_dtensor is the caller's. In the start form it is handed out at once, and
 * however the operation ends; its part counts when that was waited for, and
 * until then neither tensor is used. The first call between two meshes forms a
 * communicator, which the first of them keeps: it waits for the other ranks, in
 * the start form as well.
 *
 * Handle (all to hoop_dtensor_gather_start()): HOOP_E_INVALID on all ranks
 * alike (NULL, another session, as hoop_sharding_check(), a partial_op that has
 * no meaning for the dtype); HOOP_E_MISMATCH as in hoop/coll.h (ranks do not
 * mean the same layouts); HOOP_E_EXHAUSTED; and as there and hoop_mesh_comm().
 * Thread: as there.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_redistribute(const hoop_dtensor_t *dtensor,
                          const struct hoop_tensor_spec *spec,
                          hoop_dtensor_t **out_dtensor);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_redistribute_start(const hoop_dtensor_t *dtensor,
                                const struct hoop_tensor_spec *spec,
                                hoop_dtensor_t **out_dtensor,
                                hoop_op_t **out_op);

/*
 * The same to a layout that is said as hoop_pg_tensor_spec() takes it: over
 * group, or, group NULL, over the process group that the tensor lies over. dist
 * NULL: whole on every rank. What comes out knows its group, too, and has no
 * compute spec. The backward is hoop_dtensor_redistribute_backward() to
 * hoop_dtensor_spec() of the input. redistribute(dist_spec, pg=None).
 *
 * Handle: also as hoop_pg_tensor_spec(), and HOOP_E_PRECONDITION (group is NULL
 * and the tensor lies over none), on all ranks alike.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_redistribute_over(const hoop_dtensor_t *dtensor,
                               const struct hoop_group_sharding *dist,
                               hoop_pg_t *group,
                               hoop_dtensor_t **out_dtensor);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_redistribute_over_start(const hoop_dtensor_t *dtensor,
                                     const struct hoop_group_sharding *dist,
                                     hoop_pg_t *group,
                                     hoop_dtensor_t **out_dtensor,
                                     hoop_op_t **out_op);

/*
 * The gradient of that: grad lies as what came out of the forward,
 * *out_grad as what went in. Nothing is summed: a rank takes all elements from
 * one replica of grad, its own, as above. What is partial, before or after,
 * counts as whole: the gradient of an addend is that of the sum.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_redistribute_backward(const hoop_dtensor_t *grad,
                                   const struct hoop_tensor_spec *input_spec,
                                   hoop_dtensor_t **out_grad);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_redistribute_backward_start(
    const hoop_dtensor_t *grad,
    const struct hoop_tensor_spec *input_spec,
    hoop_dtensor_t **out_grad,
    hoop_op_t **out_op);

/*
 * The tensor itself becomes what hoop_dtensor_redistribute() makes of it: its
 * part is in new memory then, unless nothing had to change, and what it had
 * borrowed is as it was. In the start form it has changed when the operation
 * has been waited for. After a failure it is as it was. set_dist_spec().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_set_spec(hoop_dtensor_t *dtensor,
                      const struct hoop_tensor_spec *spec);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_set_spec_start(hoop_dtensor_t *dtensor,
                            const struct hoop_tensor_spec *spec,
                            hoop_op_t **out_op);

/*
 * The same over the process group that the tensor lies over; its compute spec
 * stays. set_dist_spec(dist_spec). Handle: also as
 * hoop_dtensor_redistribute_over().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_set_dist_spec(hoop_dtensor_t *dtensor,
                           const struct hoop_group_sharding *dist);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_set_dist_spec_start(hoop_dtensor_t *dtensor,
                                 const struct hoop_group_sharding *dist,
                                 hoop_op_t **out_op);

/* The whole tensor on every rank of its mesh; outside nothing is written.
 * Ownership of *out as hoop/tensor.h says, of what is not the part's memory.
 * torch's full_tensor(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_gather(const hoop_dtensor_t *dtensor, struct hoop_tensor *out);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_gather_start(const hoop_dtensor_t *dtensor,
                          struct hoop_tensor *out,
                          hoop_op_t **out_op);

/*
 * A number that tells tensors apart, the same on all ranks of the mesh and for
 * every layout: a hash of each element and its place in the whole (XXH3), added
 * up. Of what several ranks have the first counts. Not against those who forge.
 * 0 outside the mesh.
 *
 * Handle: HOOP_E_INVALID (NULL; the tensor is partial), HOOP_E_MISMATCH,
 * and as in hoop/coll.h and hoop_mesh_comm().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_dtensor_digest(const hoop_dtensor_t *dtensor, uint64_t *out_digest);

/*
 * A parameter that lies over ranks: as hoop_param_init() makes it, with a
 * distributed tensor in its field dtensor, of which its tensor is this rank's
 * part (no elements outside the mesh), and the spec's compute spec. Hooks and
 * operations get it as they get any parameter, and may redistribute it. tensor
 * is labelled, as by hoop_dtensor_from_local(); NULL: an empty one.
 * ColoParameter(data, spec=spec).
 *
 * *out_param is in the caller's memory, who gives it to hoop_param_deinit().
 * Handle: HOOP_E_INVALID (NULL, as hoop_dtensor_from_local()),
 * HOOP_E_EXHAUSTED. Thread (these up to hoop_param_deinit()): one at a time for
 * a parameter.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_init_spec(const char *name,
                     const struct hoop_tensor *tensor,
                     const struct hoop_tensor_spec *spec,
                     struct hoop_param *out_param);

/* The same of a tensor that is distributed already. Takes dtensor, on HOOP_OK.
 * Handle: HOOP_E_INVALID (NULL). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_init_dtensor(const char *name,
                        hoop_dtensor_t *dtensor,
                        struct hoop_param *out_param);

/*
 * What hoop_dtensor_redistribute_over() makes of the parameter's tensor: a new
 * tensor that is no parameter. param stays as it is.
 *
 * Handle: as there; HOOP_E_PRECONDITION also: the parameter has no distributed
 * tensor.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_redistribute(const struct hoop_param *param,
                        const struct hoop_group_sharding *dist,
                        hoop_pg_t *group,
                        hoop_dtensor_t **out_dtensor);

/*
 * The parameter itself becomes what hoop_dtensor_set_spec() makes of its
 * tensor, or hoop_dtensor_set_dist_spec(), and its fields tensor and compute
 * follow. After a failure it is as it was. Handle: as there;
 * HOOP_E_PRECONDITION as above.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_set_spec(struct hoop_param *param,
                    const struct hoop_tensor_spec *spec);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_set_dist_spec(struct hoop_param *param,
                         const struct hoop_group_sharding *dist);

/* Have the fields tensor and compute follow after any other call has changed
 * param->dtensor. Nothing, where there is none. */
HOOP_API void
hoop_param_refresh(struct hoop_param *param);

/* Frees the distributed tensor, and leaves an empty parameter. NULL, and one
 * without, are fine. */
HOOP_API void
hoop_param_deinit(struct hoop_param *param);

HOOP_END

#endif
