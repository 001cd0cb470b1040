/* mesh/group_mesh.c - the meshes of a process group's tensors */

#include "mesh/group_mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "mesh/mesh.h"

enum {
    AXIS_NAME = 24, /* enough for the number of any axis */
};

static const char rows_name[] = "data";

struct group_mesh {
    LIST_ENTRY(group_mesh) link;
    struct hoop_mesh_shape row;
    hoop_mesh_t *mesh;
};

void
group_meshes_init(struct group_meshes *meshes)
{
    pthread_mutex_init(&meshes->lock, NULL);
    LIST_INIT(&meshes->list);
}

void
group_meshes_deinit(struct group_meshes *meshes)
{
    struct group_mesh *entry;

    while ((entry = LIST_FIRST(&meshes->list))) {
        LIST_REMOVE(entry, link);
        hoop_mesh_free(entry->mesh);
        free(entry);
    }
    pthread_mutex_destroy(&meshes->lock);
}

static enum hoop_status
mesh_row_check(const struct group_meshes *meshes,
               const struct hoop_mesh_shape *row)
{
    uint64_t n_places = 1;

    if (row->n_axes == 0 || row->n_axes >= HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID,
                           "a row of a group is cut by 1 to %d axes, not by %u",
                           HOOP_MAX_AXES - 1, row->n_axes);
    for (uint32_t axis = 0; axis < row->n_axes; axis++) {
        n_places *= row->sizes[axis];
        /* A product of 0 stays 0, and one that is too large stays too large. */
        if (n_places == 0 || n_places > meshes->n_columns)
            break;
    }
    if (n_places != meshes->n_columns)
        return error_raise(HOOP_E_INVALID,
                           "the axes of dist do not make the %u ranks of a "
                           "row of the group",
                           meshes->n_columns);
    return HOOP_OK;
}

static enum hoop_status
group_mesh_create(const struct group_meshes *meshes,
                  const struct hoop_mesh_shape *row,
                  hoop_mesh_t **out_mesh)
{
    char names[HOOP_MAX_AXES][AXIS_NAME] = {"tensor"};
    struct hoop_mesh_axis axes[HOOP_MAX_AXES] = {{rows_name, meshes->n_rows}};
    const struct hoop_mesh_options options = {axes, row->n_axes + 1,
                                              meshes->ranks};

    for (uint32_t i = 0; i < row->n_axes; i++) {
        if (row->n_axes > 1)
            snprintf(names[i], AXIS_NAME, "tensor%u", i);
        axes[i + 1] = (struct hoop_mesh_axis){names[i], row->sizes[i]};
    }
    const enum hoop_status status =
        hoop_mesh_create(meshes->session, &options, out_mesh);
    if (status != HOOP_OK)
        return error_pass(status);
    mesh_set_process_group(*out_mesh, meshes->group);
    return HOOP_OK;
}

static bool
mesh_rows_equal(const struct hoop_mesh_shape *one,
                const struct hoop_mesh_shape *other)
{
    return one->n_axes == other->n_axes &&
           memcmp(one->sizes, other->sizes,
                  one->n_axes * sizeof(*one->sizes)) == 0;
}

/* The caller holds the lock. Returns NULL and sets *out_status on failure. */
static struct group_mesh *
group_mesh_add(struct group_meshes *meshes,
               const struct hoop_mesh_shape *row,
               enum hoop_status *out_status)
{
    struct group_mesh *entry = calloc(1, sizeof(*entry));

    if (!entry) {
        *out_status = error_raise(HOOP_E_EXHAUSTED, "no memory for a mesh");
        return NULL;
    }
    entry->row = *row;
    *out_status = group_mesh_create(meshes, row, &entry->mesh);
    if (*out_status != HOOP_OK) {
        free(entry);
        return NULL;
    }
    LIST_INSERT_HEAD(&meshes->list, entry, link);
    return entry;
}

enum hoop_status
group_mesh_get_or_create(struct group_meshes *meshes,
                         const struct hoop_mesh_shape *row,
                         hoop_mesh_t **out_mesh)
{
    struct group_mesh *entry;
    enum hoop_status status = mesh_row_check(meshes, row);

    if (status != HOOP_OK)
        return error_pass(status);
    pthread_mutex_lock(&meshes->lock);
    LIST_FOREACH(entry, &meshes->list, link)
    {
        if (mesh_rows_equal(&entry->row, row))
            break;
    }
    if (!entry)
        entry = group_mesh_add(meshes, row, &status);
    if (entry)
        *out_mesh = entry->mesh;
    pthread_mutex_unlock(&meshes->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
group_mesh_has_same_ranks(const struct group_meshes *meshes,
                          const hoop_mesh_t *mesh)
{
    const uint32_t n_ranks = mesh_n_places(mesh);

    return n_ranks == meshes->n_rows * meshes->n_columns &&
           hoop_mesh_axis_size(mesh, 0) == meshes->n_rows &&
           strcmp(mesh_axis_name(mesh, 0), rows_name) == 0 &&
           memcmp(mesh_ranks(mesh), meshes->ranks,
                  n_ranks * sizeof(*meshes->ranks)) == 0;
}
