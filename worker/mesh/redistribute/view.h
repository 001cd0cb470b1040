/*
 * mesh/redistribute/view.h - a box of elements inside a larger tensor
 *
 * The functions are pure: a view has strides, but no memory. A part of a view
 * is a view, so cutting costs nothing until elements are copied.
 */

#ifndef MESH_REDISTRIBUTE_VIEW_H
#define MESH_REDISTRIBUTE_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/dtype.h"
#include "hoop/sharding.h"
#include "hoop/tensor.h"

struct view {
    size_t first; /* index in memory of its first element */
    struct hoop_shape shape;
    size_t strides[HOOP_MAX_DIMS]; /* in elements */
};

/* Returns the view of a whole dense tensor. */
struct view
view_of_shape(const struct hoop_shape *shape);
/* Returns the part of a view that box describes; it must be inside. */
struct view
view_cut(const struct view *view, const struct hoop_part *box);

/* Returns the number of elements of a shape that has been checked. */
size_t
view_n_elements(const struct hoop_shape *shape);

/* Returns whether those boxes of view that have elements are contiguous and
 * follow each other in order. If so, *out_first is where they begin in memory,
 * in elements. */
bool
view_has_contiguous_boxes(const struct view *view,
                          const struct hoop_part *boxes,
                          size_t n_boxes,
                          size_t *out_first);

/* Returns whether each of the boxes is contiguous by itself. If so, out_firsts
 * are where they begin in memory, in elements, or 0 for an empty box. */
bool
view_has_dense_boxes(const struct view *view,
                     const struct hoop_part *boxes,
                     size_t n_boxes,
                     size_t *out_firsts);

/* The memory of a view. data is borrowed. */
struct view_memory {
    enum hoop_dtype dtype;
    void *data; /* at element 0 */
};

/* Copies between two views of one shape, which must not overlap. */
void
view_copy(const struct view *from,
          const struct view_memory *from_memory,
          const struct view *to,
          const struct view_memory *to_memory);

/* Copy boxes of view to packed, one after the other, or back. The two must not
 * overlap. */
void
view_pack(const struct view *view,
          const struct view_memory *memory,
          const struct hoop_part *boxes,
          size_t n_boxes,
          void *packed);
void
view_unpack(const struct view *view,
            const struct view_memory *memory,
            const struct hoop_part *boxes,
            size_t n_boxes,
            const void *packed);

#endif
