/* hoop-checkpoint/inventory.c - prints a checkpoint as a table */

#include "hoop-checkpoint/inventory.h"

#include <hoop/control.h>
#include <inttypes.h>
#include <string.h>

static void
name_print(const char *name, FILE *out)
{
    char shown[4096];

    hoop_escape(name, shown, sizeof(shown));
    fputs(shown, out);
}

/* "2x3"; "-" without dimensions. */
static void
sizes_print(const size_t *sizes, uint32_t n_sizes, FILE *out)
{
    for (uint32_t i = 0; i < n_sizes; i++)
        fprintf(out, "%s%zu", i > 0 ? "x" : "", sizes[i]);
    if (n_sizes == 0)
        fputc('-', out);
}

static void
tensor_print(const struct hoop_checkpoint_tensor *tensor, FILE *out)
{
    size_t mesh[HOOP_MAX_AXES];

    for (uint32_t i = 0; i < tensor->mesh.n_axes; i++)
        mesh[i] = tensor->mesh.sizes[i];
    fprintf(out, "%-10s ", hoop_dtype_name(tensor->dtype));
    sizes_print(tensor->shape.dims, tensor->shape.n_dims, out);
    fprintf(
        out, "  %s on ",
        hoop_sharding_describe(&tensor->sharding, tensor->shape.n_dims).text);
    sizes_print(mesh, tensor->mesh.n_axes, out);
    fputs("  ", out);
    name_print(tensor->name, out);
    fputc('\n', out);
}

static uint64_t
bytes_of(const struct hoop_checkpoint_contents *contents)
{
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < contents->n_files; i++)
        n_bytes += contents->files[i].n_bytes;
    return n_bytes;
}

void
inventory_print(const struct hoop_checkpoint_contents *contents,
                enum inventory_detail detail,
                FILE *out)
{
    fprintf(out, "save %" PRIu64 ": tensors %zu, files %u, bytes %" PRIu64 "\n",
            contents->generation, contents->n_tensors, contents->n_files,
            bytes_of(contents));
    for (size_t i = 0; i < contents->n_tensors; i++)
        tensor_print(&contents->tensors[i], out);
    for (uint32_t i = 0; detail == INVENTORY_FILES && i < contents->n_files;
         i++) {
        name_print(contents->files[i].name, out);
        fprintf(out, "  bytes %" PRIu64 "  xxh3 %016" PRIx64 "\n",
                contents->files[i].n_bytes, contents->files[i].digest);
    }
}
