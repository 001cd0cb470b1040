/* train_3d/axes.c - arranges the ranks in a grid of three axes */

#include "train_3d/axes.h"

/* The last axis varies fastest from rank to rank. */
enum {
    AXIS_PIPELINE,
    AXIS_DATA,
    AXIS_TENSOR,
    N_AXES,
};

static enum hoop_status
axis_form(const struct axes *axes, uint32_t axis, hoop_comm_t **out_comm)
{
    return hoop_mesh_comm(axes->mesh, &axis, 1, out_comm);
}

enum hoop_status
axes_init(struct axes *axes, hoop_session_t *session, struct axes_sizes sizes)
{
    const struct hoop_mesh_axis list[N_AXES] = {
        [AXIS_PIPELINE] = {"pipeline", sizes.pipeline},
        [AXIS_DATA] = {"data", sizes.data},
        [AXIS_TENSOR] = {"tensor", sizes.tensor},
    };

    *axes = (struct axes){.world = hoop_world(session)};
    enum hoop_status status = hoop_mesh_create(
        session, &(struct hoop_mesh_options){.axes = list, .n_axes = N_AXES},
        &axes->mesh);
    if (status == HOOP_OK)
        status = axis_form(axes, AXIS_TENSOR, &axes->tensor);
    if (status == HOOP_OK)
        status = axis_form(axes, AXIS_DATA, &axes->data);
    if (status == HOOP_OK)
        status = axis_form(axes, AXIS_PIPELINE, &axes->pipeline);
    return status;
}

void
axes_deinit(struct axes *axes)
{
    hoop_mesh_free(axes->mesh);
    *axes = (struct axes){0};
}
