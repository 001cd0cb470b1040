/* reshard/task.c - turns options into the tensor and the layouts to use */

#include "reshard/task.h"

#include <stdio.h>
#include <string.h>

#include "reshard/amount.h"

enum {
    FEW_RANKS = 3,
    DTYPES_MAX = 32,
    DIMS_DEFAULT = 2,
};

static const char default_size[] = "256M";
static const char default_dtype[] = "float32";

/* Bytes of a whole tensor. More than that is refused. */
static const uint64_t tensor_bytes_max = (uint64_t)1 << 40;

static bool
dtype_find(const char *name,
           enum hoop_dtype *out_dtype,
           struct problem *out_problem)
{
    for (int i = 0; i < DTYPES_MAX; i++) {
        const enum hoop_dtype dtype = (enum hoop_dtype)i;

        if (hoop_dtype_size(dtype) > 0 &&
            strcmp(hoop_dtype_name(dtype), name) == 0) {
            *out_dtype = dtype;
            return true;
        }
    }
    return problem_say(out_problem,
                       "--dtype %s: there is none of that name; hoop has int8 "
                       "to int64, uint8 to uint64, float16, bfloat16, float32, "
                       "float64, complex64, complex128 and bool",
                       name);
}

/* Puts the option from which a layout came in front of what is wrong with
 * it. */
static bool
layout_complain(const char *option,
                const char *text,
                struct problem *out_problem)
{
    const struct problem inner = *out_problem;

    return problem_say(out_problem, "%s %.64s: %.400s", option, text,
                       inner.text);
}

/* Returns the number of dimensions of the shape or the layout that was
 * given. */
static uint32_t
n_dims_said(const struct options *options, const struct task *task)
{
    if (options->shape)
        return task->shape.n_dims;
    if (options->from)
        return task->from.n_dims;
    return options->n_to > 0 ? task->to[0].n_dims : DIMS_DEFAULT;
}

/* All ranks, on a mesh that is as close to a square as possible. */
static struct layout
layout_square(uint32_t n_ranks, uint32_t n_dims)
{
    struct layout layout = {
        .n_ranks = n_ranks,
        .n_dims = n_dims,
        .sharding.dims = {{1, {0}}, {1, {1}}},
    };

    if (n_dims == 1)
        layout.sharding = (struct hoop_sharding){.dims = {{2, {0, 1}}}};
    for (uint32_t i = 1; (uint64_t)i * i <= n_ranks; i++) {
        if (n_ranks % i == 0)
            layout.mesh = (struct hoop_mesh_shape){2, {i, n_ranks / i}};
    }
    return layout;
}

/* One target has all ranks again, and the other has a few. */
static void
targets_choose(uint32_t n_ranks, uint32_t n_dims, struct task *task)
{
    const struct layout square = layout_square(n_ranks, n_dims);
    const uint32_t n_few = n_ranks > FEW_RANKS ? FEW_RANKS
                           : n_ranks > 1       ? n_ranks - 1
                                               : 1;

    task->to[0] = (struct layout){
        .mesh = {2, {square.mesh.sizes[1], square.mesh.sizes[0]}},
        .n_ranks = n_ranks,
        .n_dims = n_dims,
        .sharding.dims = {{2, {0, 1}}},
    };
    task->to[1] = (struct layout){
        .mesh = {1, {n_few}},
        .n_ranks = n_few,
        .n_dims = n_dims,
        .sharding.dims = {{1, {0}}},
    };
    task->n_to = 2;
}

static bool
layouts_take(const struct options *options,
             uint32_t n_ranks,
             struct task *task,
             struct problem *out_problem)
{
    if (options->from && !layout_parse(options->from, &task->from, out_problem))
        return layout_complain("--from", options->from, out_problem);
    for (size_t i = 0; i < options->n_to; i++) {
        if (!layout_parse(options->to[i], &task->to[i], out_problem))
            return layout_complain("--to", options->to[i], out_problem);
        task->n_to++;
    }
    const uint32_t n_dims = n_dims_said(options, task);
    if (!options->from)
        task->from = layout_square(n_ranks, n_dims);
    if (options->n_to == 0)
        targets_choose(n_ranks, n_dims, task);
    return true;
}

/* The sizes are as equal as powers of two allow, except for the first, which
 * takes the rest. */
static struct hoop_shape
shape_of(uint64_t count, uint32_t n_dims)
{
    struct hoop_shape shape = {.n_dims = n_dims};

    for (uint32_t i = n_dims; i-- > 1;) {
        size_t size = 1;
        uint64_t cells = 1; /* size to the power of i + 1 */

        for (;;) {
            cells <<= i + 1;
            if (cells > count)
                break;
            size *= 2;
        }
        shape.dims[i] = size;
        count /= size;
    }
    shape.dims[0] = count;
    return shape;
}

static bool
shape_from_list(const char *text,
                struct hoop_shape *out_shape,
                struct problem *out_problem)
{
    struct amount_list list;
    const char *rest = text;
    struct hoop_shape shape = {0};

    if (!amount_list_parse(text, &list, &rest) || *rest != '\0')
        return problem_say(out_problem,
                           "--shape %.64s: sizes from 1 on with an x between "
                           "them are expected, as 8192x8192",
                           text);
    for (; shape.n_dims < list.n_numbers; shape.n_dims++)
        shape.dims[shape.n_dims] = list.numbers[shape.n_dims];
    *out_shape = shape;
    return true;
}

/* Must be called before the layouts are read, which may follow from the
 * shape. */
static bool
shape_take(const struct options *options,
           struct task *task,
           struct problem *out_problem)
{
    if (!options->shape)
        return true;
    if (options->size)
        return problem_say(out_problem, "say --size or --shape, not both");
    return shape_from_list(options->shape, &task->shape, out_problem);
}

/* Must be called after the layouts are read, from which the shape follows. */
static bool
size_take(const struct options *options,
          struct task *task,
          struct problem *out_problem)
{
    const char *size = options->size ? options->size : default_size;
    const uint64_t element_bytes = hoop_dtype_size(task->dtype);
    uint64_t n_bytes = 0;

    if (options->shape)
        return true;
    if (!amount_bytes_parse(size, &n_bytes) || n_bytes < element_bytes)
        return problem_say(out_problem,
                           "--size %.64s: bytes are expected, at least those "
                           "of one element, as 4096, 64K, 256M or 1G",
                           size);
    task->shape = shape_of(n_bytes / element_bytes, task->from.n_dims);
    return true;
}

static bool
tensor_fits(const struct task *task, struct problem *out_problem)
{
    size_t count = 0;

    if (hoop_shape_count(&task->shape, &count) != HOOP_OK)
        return problem_say(out_problem, "%s", hoop_error_text());
    if (count > tensor_bytes_max / hoop_dtype_size(task->dtype))
        return problem_say(out_problem,
                           "the tensor has more than 2^40 bytes: choose a "
                           "smaller --size or --shape");
    return true;
}

/* Allows uneven sizes in a layout that was chosen here, if they are needed. */
static void
layout_relax(struct layout *layout, const struct hoop_shape *shape)
{
    if (hoop_sharding_check(&layout->sharding, &layout->mesh, shape) != HOOP_OK)
        layout->sharding.is_uneven = true;
}

static bool
layouts_fit(const struct options *options,
            uint32_t n_ranks,
            struct task *task,
            struct problem *out_problem)
{
    static const char unsaid[] = "(as nothing is said)";

    if (!options->from)
        layout_relax(&task->from, &task->shape);
    if (!layout_check(&task->from, &task->shape, n_ranks, out_problem))
        return layout_complain("--from", options->from ? options->from : unsaid,
                               out_problem);
    for (size_t i = 0; i < task->n_to; i++) {
        const char *text = options->n_to > 0 ? options->to[i] : unsaid;

        if (options->n_to == 0)
            layout_relax(&task->to[i], &task->shape);
        if (!layout_check(&task->to[i], &task->shape, n_ranks, out_problem))
            return layout_complain("--to", text, out_problem);
    }
    return true;
}

bool
task_make(const struct options *options,
          uint32_t n_ranks,
          struct task *out_task,
          struct problem *out_problem)
{
    const char *dtype = options->dtype ? options->dtype : default_dtype;
    struct task task = {0};

    if (!dtype_find(dtype, &task.dtype, out_problem) ||
        !shape_take(options, &task, out_problem) ||
        !layouts_take(options, n_ranks, &task, out_problem) ||
        !size_take(options, &task, out_problem) ||
        !tensor_fits(&task, out_problem) ||
        !layouts_fit(options, n_ranks, &task, out_problem))
        return false;
    *out_task = task;
    return true;
}

uint64_t
task_n_bytes(const struct task *task)
{
    size_t count = 0;

    if (hoop_shape_count(&task->shape, &count) != HOOP_OK)
        return 0;
    return (uint64_t)count * hoop_dtype_size(task->dtype);
}
