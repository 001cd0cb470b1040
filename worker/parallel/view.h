/*
 * parallel/view.h - a box of elements where it lies in a larger tensor
 *
 * Pure: a view knows strides, not memory. A part of a view is a view, so that
 * cutting costs nothing until something is copied.
 */

#ifndef PARALLEL_VIEW_H
#define PARALLEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/dtype.h"
#include "hoop/sharding.h"
#include "hoop/tensor.h"

struct view {
    size_t first; /* element of the memory that stands first */
    struct hoop_shape shape;
    size_t strides[HOOP_MAX_DIMS]; /* elements */
};

/* All of a dense tensor. */
struct view
view_of(const struct hoop_shape *shape);
/* box of it, which it has. */
struct view
view_cut(const struct view *view, const struct hoop_part *box);

/* Elements of a shape that has been checked. */
size_t
view_count(const struct hoop_shape *shape);

/*
 * Whether boxes of view that have elements lie one behind the other, in their
 * order, from element *out_first of the memory on.
 */
bool
view_is_run(const struct view *view,
            const struct hoop_part *boxes,
            size_t n_boxes,
            size_t *out_first);

/* Whether each of the boxes lies without gaps, wherever; then out_firsts are
 * the elements of the memory that stand first, 0 for an empty one. */
bool
view_is_runs(const struct view *view,
             const struct hoop_part *boxes,
             size_t n_boxes,
             size_t *out_firsts);

/* What is viewed, in memory of dtype. data is borrowed. */
struct view_memory {
    enum hoop_dtype dtype;
    void *data; /* at element 0 */
};

/* Copies between two views of one shape that do not overlap. */
void
view_copy(const struct view *from,
          const struct view_memory *from_memory,
          const struct view *to,
          const struct view_memory *to_memory);

/* Copies boxes of view to where they lie one behind the other, or back. The two
 * do not overlap. */
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
