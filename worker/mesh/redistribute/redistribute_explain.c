/* mesh/redistribute/redistribute_explain.c - prints a redistribution as a
 * table */

#include <stdio.h>
#include <string.h>

#include "hoop/redistribute.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "mesh/dtensor.h"
#include "mesh/redistribute/mesh_step.h"
#include "tensor/layout.h"

enum {
    TEXT_CELL_SIZE = 24,
    LAYOUT_CELL_SIZE = 256,
};

struct text_cell {
    char text[TEXT_CELL_SIZE];
};

static struct text_cell
bytes_to_text(uint64_t n_bytes)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
    double value = (double)n_bytes;
    size_t unit = 0;
    struct text_cell text_cell;

    while (value >= 1024) {
        value /= 1024;
        unit++;
    }
    snprintf(text_cell.text, sizeof(text_cell.text), "%.*f %s",
             unit > 0 ? 1 : 0, value, units[unit]);
    return text_cell;
}

static struct text_cell
time_to_text(double time_us)
{
    struct text_cell text_cell;

    if (time_us < 1e3)
        snprintf(text_cell.text, sizeof(text_cell.text), "%.1f us", time_us);
    else if (time_us < 1e6)
        snprintf(text_cell.text, sizeof(text_cell.text), "%.1f ms",
                 time_us / 1e3);
    else
        snprintf(text_cell.text, sizeof(text_cell.text), "%.1f s",
                 time_us / 1e6);
    return text_cell;
}

static const char *
step_kind_name(enum hoop_step_kind kind)
{
    switch (kind) {
    case HOOP_STEP_SLICE:
        return "slice";
    case HOOP_STEP_ALLGATHER:
        return "allgather";
    case HOOP_STEP_ALL_TO_ALL:
        return "all-to-all";
    case HOOP_STEP_REDUCE_SCATTER:
        return "reduce-scatter";
    case HOOP_STEP_ALLREDUCE:
        return "allreduce";
    case HOOP_STEP_EXCHANGE:
        return "exchange";
    case HOOP_STEP_FILL:
        return "fill";
    }
    return "?";
}

/* Returns the text "0", "1,2" or "-". */
static struct text_cell
axes_to_text(const struct hoop_axes *axes)
{
    struct text_cell text_cell = {.text = "-"};
    size_t at = 0;

    for (uint32_t i = 0; i < axes->n_axes && at < sizeof(text_cell.text); i++)
        at += (size_t)snprintf(text_cell.text + at, sizeof(text_cell.text) - at,
                               i == 0 ? "%u" : ",%u", axes->axes[i]);
    return text_cell;
}

static struct text_cell
step_dims_to_text(const struct hoop_step *step)
{
    struct text_cell text_cell = {.text = "-"};

    switch (step->kind) {
    case HOOP_STEP_SLICE:
    case HOOP_STEP_REDUCE_SCATTER:
        snprintf(text_cell.text, sizeof(text_cell.text), "%u", step->shard_dim);
        break;
    case HOOP_STEP_ALLGATHER:
        snprintf(text_cell.text, sizeof(text_cell.text), "%u",
                 step->gather_dim);
        break;
    case HOOP_STEP_ALL_TO_ALL:
        snprintf(text_cell.text, sizeof(text_cell.text), "%u to %u",
                 step->gather_dim, step->shard_dim);
        break;
    case HOOP_STEP_ALLREDUCE:
    case HOOP_STEP_EXCHANGE:
    case HOOP_STEP_FILL:
        break;
    }
    return text_cell;
}

struct layout_cell {
    char text[LAYOUT_CELL_SIZE];
};

/* Returns the text "[S0, R] on 2 x 4". */
static struct layout_cell
layout_to_text(const struct hoop_sharding *sharding,
               const struct hoop_mesh_shape *mesh,
               uint32_t n_dims)
{
    const struct hoop_sharding_text text =
        hoop_sharding_describe(sharding, n_dims);
    struct layout_cell text_cell;
    size_t at = (size_t)snprintf(text_cell.text, sizeof(text_cell.text),
                                 "%s on ", text.text);

    for (uint32_t i = 0; i < mesh->n_axes && at < sizeof(text_cell.text); i++)
        at += (size_t)snprintf(text_cell.text + at, sizeof(text_cell.text) - at,
                               i == 0 ? "%u" : " x %u", mesh->sizes[i]);
    return text_cell;
}

static void
redistribution_print_heading(const hoop_dtensor_t *dtensor,
                             const struct hoop_tensor_spec *spec,
                             FILE *out)
{
    const struct hoop_mesh_shape from = hoop_mesh_shape_of(dtensor->spec.mesh);
    const struct hoop_mesh_shape to = hoop_mesh_shape_of(spec->mesh);
    const enum hoop_dtype dtype = dtensor->local.dtype;
    const uint32_t n_dims = dtensor->shape.n_dims;
    size_t count = 0;

    /* hoop_redistribute_plan() has checked it. */
    const enum hoop_status status = shape_count(&dtensor->shape, &count);
    (void)status;
    fprintf(out, "%s %s, %s: %s\n", dtype_name(dtype),
            shape_text(&dtensor->shape).text,
            bytes_to_text(count * dtype_size(dtype)).text,
            layout_to_text(&dtensor->spec.sharding, &from, n_dims).text);
    fprintf(out, "  to %s\n",
            layout_to_text(&spec->sharding, &to, n_dims).text);
}

static int
layout_column_width(const struct hoop_redistribution *plan, uint32_t n_dims)
{
    size_t width = strlen("then");

    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct layout_cell text_cell =
            layout_to_text(&plan->steps[i].after, &plan->steps[i].mesh, n_dims);

        if (strlen(text_cell.text) > width)
            width = strlen(text_cell.text);
    }
    return (int)width;
}

static void
redistribution_print_steps(const struct hoop_redistribution *plan,
                           uint32_t n_dims,
                           FILE *out)
{
    const int width = layout_column_width(plan, n_dims);

    fprintf(out, "  %-18s %-6s %-6s %-*s %11s %11s %10s\n", "step", "along",
            "dim", width, "then", "this rank", "all ranks", "time");
    for (uint32_t i = 0; i < plan->n_steps; i++) {
        const struct hoop_step *step = &plan->steps[i];

        fprintf(out, "  %2u %-15s %-6s %-6s %-*s %11s %11s %10s\n", i + 1,
                step_kind_name(step->kind), axes_to_text(&step->axes).text,
                step_dims_to_text(step).text, width,
                layout_to_text(&step->after, &step->mesh, n_dims).text,
                bytes_to_text(step->bytes_sent).text,
                bytes_to_text(step->bytes_total).text,
                time_to_text(step->time_us).text);
    }
    fprintf(out, "  %-18s %-6s %-6s %-*s %11s %11s %10s\n", "in all", "", "",
            width, "", bytes_to_text(plan->bytes_sent).text,
            bytes_to_text(plan->bytes_total).text,
            time_to_text(plan->time_us).text);
}

enum hoop_status
hoop_redistribute_explain(const hoop_dtensor_t *dtensor,
                          const struct hoop_tensor_spec *spec,
                          FILE *out)
{
    struct hoop_redistribution plan;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out)
        return error_raise(HOOP_E_INVALID, "out is NULL");
    const enum hoop_status status =
        hoop_redistribute_plan(dtensor, spec, &plan);
    if (status != HOOP_OK)
        return error_pass(status);
    redistribution_print_heading(dtensor, spec, out);
    if (plan.n_steps == 0)
        fprintf(out, "  no step: every rank has what it needs\n");
    else
        redistribution_print_steps(&plan, dtensor->shape.n_dims, out);
    return HOOP_OK;
}
