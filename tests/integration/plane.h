/*
 * tests/integration/plane.h - workers that join and form a mesh of two axes
 *
 * For tests whose bodies run on a mesh, one hoopd for the whole test.
 */

#ifndef TESTS_PLANE_H
#define TESTS_PLANE_H

#include <stdint.h>

#include "hoop/hoop.h"

#include "workers.h"

struct plane {
    uint32_t n_rows;
    uint32_t n_columns;
    uint32_t rank; /* the place, too, in row-major order */
    hoop_session_t *session;
    hoop_mesh_t *mesh;
};

/* Returns 0 when all is well. */
typedef int
plane_fn(struct plane *plane);

/* Run body in n_rows * n_columns processes that have joined, and in n_outside
 * more that are not in the mesh. Returns how many did not return 0. */
uint32_t
plane_run(uint32_t n_rows,
          uint32_t n_columns,
          uint32_t n_outside,
          plane_fn *body);

#endif
