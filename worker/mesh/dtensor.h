/*
 * mesh/dtensor.h - the inside of a distributed tensor
 *
 * A rank's part is dense memory that the tensor owns, or that the caller lends.
 */

#ifndef MESH_DTENSOR_H
#define MESH_DTENSOR_H

#include "hoop/dtensor.h"

#include "base/cleanup.h"

struct hoop_dtensor {
    /* this rank's part; outside the mesh only the dtype is set */
    struct hoop_tensor local;
    /* owned memory; without data if the part is borrowed or empty */
    struct hoop_tensor own;
    struct hoop_shape shape;
    struct hoop_tensor_spec spec;
};

DEFINE_CLEANUP(hoop_dtensor_t *, hoop_dtensor_free)

/* Checks that a tensor of that shape can have that layout. An error has the
 * same text on every rank.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
dtensor_spec_check(enum hoop_dtype dtype,
                   const struct hoop_shape *shape,
                   const struct hoop_tensor_spec *spec);

/* Creates a tensor without memory for its part. The arguments have been checked
 * by dtensor_spec_check().
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
dtensor_create_without_data(enum hoop_dtype dtype,
                            const struct hoop_shape *shape,
                            const struct hoop_tensor_spec *spec,
                            hoop_dtensor_t **out_dtensor);

/* Creates a tensor as dtensor_create_without_data() does, with memory of its
 * own that is not initialised.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
dtensor_create_allocated(enum hoop_dtype dtype,
                         const struct hoop_shape *shape,
                         const struct hoop_tensor_spec *spec,
                         hoop_dtensor_t **out_dtensor);

/* Changes the layout that the tensor has on record; the spec has been checked.
 * The memory of the part stays in use if the caller is in the new mesh, and is
 * freed otherwise. The caller ensures that the data fit the new layout. */
void
dtensor_set_layout(struct hoop_dtensor *dtensor,
                   const struct hoop_tensor_spec *spec);

/* Returns whether the caller is in the mesh and so has a part, which may be
 * empty. */
bool
dtensor_is_rank_in_mesh(const struct hoop_dtensor *dtensor);

#endif
