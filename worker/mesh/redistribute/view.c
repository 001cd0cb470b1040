/* mesh/redistribute/view.c - a box of elements inside a larger tensor */

#include "mesh/redistribute/view.h"

#include <stdint.h>

#include "dtype/dtype.h"
#include "tensor/layout.h"

struct view
view_of_shape(const struct hoop_shape *shape)
{
    struct view view = {.shape = *shape};
    size_t stride = 1;

    for (uint32_t i = shape->n_dims; i > 0; i--) {
        view.strides[i - 1] = stride;
        stride *= shape->dims[i - 1];
    }
    return view;
}

struct view
view_cut(const struct view *view, const struct hoop_part *box)
{
    struct view cut = *view;

    cut.shape = box->shape;
    for (uint32_t i = 0; i < box->shape.n_dims; i++)
        cut.first += box->offset[i] * view->strides[i];
    return cut;
}

size_t
view_n_elements(const struct hoop_shape *shape)
{
    size_t count = 1;

    for (uint32_t i = 0; i < shape->n_dims; i++)
        count *= shape->dims[i];
    return count;
}

static struct hoop_tensor
view_to_tensor(const struct view *view, const struct view_memory *memory)
{
    const size_t offset = view->first * dtype_size(memory->dtype);

    return (struct hoop_tensor){
        .data = (uint8_t *)memory->data + offset,
        .dtype = memory->dtype,
        .shape = view->shape,
        .strides = view->strides,
    };
}

/* Returns whether box, which is not empty, has no gaps. */
static bool
view_is_dense(const struct view *box)
{
    const struct hoop_tensor tensor = {.shape = box->shape,
                                       .strides = box->strides};

    return layout_is_dense(&tensor);
}

bool
view_has_contiguous_boxes(const struct view *view,
                          const struct hoop_part *boxes,
                          size_t n_boxes,
                          size_t *out_first)
{
    size_t end = SIZE_MAX;

    *out_first = 0;
    for (size_t i = 0; i < n_boxes; i++) {
        const size_t count = view_n_elements(&boxes[i].shape);
        const struct view box = view_cut(view, &boxes[i]);

        if (count == 0)
            continue;
        if (!view_is_dense(&box) || (end != SIZE_MAX && box.first != end))
            return false;
        if (end == SIZE_MAX)
            *out_first = box.first;
        end = box.first + count;
    }
    return true;
}

bool
view_has_dense_boxes(const struct view *view,
                     const struct hoop_part *boxes,
                     size_t n_boxes,
                     size_t *out_firsts)
{
    for (size_t i = 0; i < n_boxes; i++) {
        const size_t count = view_n_elements(&boxes[i].shape);
        const struct view box = view_cut(view, &boxes[i]);

        if (count > 0 && !view_is_dense(&box))
            return false;
        out_firsts[i] = count > 0 ? box.first : 0;
    }
    return true;
}

void
view_copy(const struct view *from,
          const struct view_memory *from_memory,
          const struct view *to,
          const struct view_memory *to_memory)
{
    if (view_n_elements(&from->shape) == 0)
        return;

    const struct hoop_tensor source = view_to_tensor(from, from_memory);
    const struct hoop_tensor target = view_to_tensor(to, to_memory);

    layout_copy(&source, &target);
}

/* Returns the views of a box and of its dense copy at first, and where the next
 * copy begins. */
static size_t
view_box_and_packed_copy(const struct view *view,
                         const struct hoop_part *box,
                         size_t first,
                         struct view out_views[2])
{
    out_views[0] = view_cut(view, box);
    out_views[1] = view_of_shape(&box->shape);
    out_views[1].first = first;
    return first + view_n_elements(&box->shape);
}

void
view_pack(const struct view *view,
          const struct view_memory *memory,
          const struct hoop_part *boxes,
          size_t n_boxes,
          void *packed)
{
    const struct view_memory dense = {memory->dtype, packed};
    struct view views[2];
    size_t first = 0;

    for (size_t i = 0; i < n_boxes; i++) {
        first = view_box_and_packed_copy(view, &boxes[i], first, views);
        view_copy(&views[0], memory, &views[1], &dense);
    }
}

void
view_unpack(const struct view *view,
            const struct view_memory *memory,
            const struct hoop_part *boxes,
            size_t n_boxes,
            const void *packed)
{
    const struct view_memory dense = {memory->dtype, (void *)(uintptr_t)packed};
    struct view views[2];
    size_t first = 0;

    for (size_t i = 0; i < n_boxes; i++) {
        first = view_box_and_packed_copy(view, &boxes[i], first, views);
        view_copy(&views[1], &dense, &views[0], memory);
    }
}
