/* tests/integration/plane.c - workers that join and form a mesh of two axes */

#include "plane.h"

#include <stddef.h>

#include "daemon.h"

/* What the forked workers inherit. */
static struct plane sizes;
static plane_fn *body_of_all;

static int
worker_body(const struct worker *worker)
{
    const struct hoop_mesh_axis axes[] = {{"rows", sizes.n_rows},
                                          {"columns", sizes.n_columns}};
    const struct hoop_mesh_options options = {axes, 2, NULL};
    const struct hoop_join_options joining = worker_options(worker);
    struct plane plane = sizes;

    WORKER_CHECK(hoop_join(&joining, &plane.session) == HOOP_OK);
    plane.rank = hoop_comm_rank(hoop_world(plane.session));
    WORKER_CHECK(hoop_mesh_create(plane.session, &options, &plane.mesh) ==
                 HOOP_OK);
    const int failure = body_of_all(&plane);
    hoop_mesh_free(plane.mesh);
    hoop_leave(plane.session);
    return failure;
}

uint32_t
plane_run(uint32_t n_rows,
          uint32_t n_columns,
          uint32_t n_outside,
          plane_fn *body)
{
    sizes = (struct plane){.n_rows = n_rows, .n_columns = n_columns};
    body_of_all = body;
    return workers_run(hoopd.address, n_rows * n_columns + n_outside,
                       worker_body, NULL);
}
