/*
 * parallel/dtensor.h - a distributed tensor from the inside
 *
 * Its part is a view: of memory of its own, or of the caller's.
 */

#ifndef PARALLEL_DTENSOR_H
#define PARALLEL_DTENSOR_H

#include "hoop/dtensor.h"

#include "base/cleanup.h"

struct hoop_dtensor {
    struct hoop_tensor local; /* outside the mesh: no more than the dtype */
    struct hoop_tensor own;   /* its memory; no data: borrowed, or empty */
    struct hoop_shape shape;
    struct hoop_tensor_spec spec;
};

DEFINE_CLEANUP(hoop_dtensor_t *, hoop_dtensor_free)

/* Whether tensors of shape can lie like that; one text on every rank.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
dtensor_check(enum hoop_dtype dtype,
              const struct hoop_shape *shape,
              const struct hoop_tensor_spec *spec);

/* One that was checked, without memory for the part. Handle: HOOP_E_EXHAUSTED.
 */
enum hoop_status
dtensor_create_empty(enum hoop_dtype dtype,
                     const struct hoop_shape *shape,
                     const struct hoop_tensor_spec *spec,
                     hoop_dtensor_t **out_dtensor);

/* ... with memory of its own, of any content. Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
dtensor_allocate(enum hoop_dtype dtype,
                 const struct hoop_shape *shape,
                 const struct hoop_tensor_spec *spec,
                 hoop_dtensor_t **out_dtensor);

/* From now on it lies like that, which was checked: its part stays, or is given
 * up outside the mesh. */
void
dtensor_set_layout(struct hoop_dtensor *dtensor,
                   const struct hoop_tensor_spec *spec);

/* Whether the caller has a part, which may be empty. */
bool
dtensor_is_here(const struct hoop_dtensor *dtensor);

#endif
