/*
 * mesh/redistribute/refinement.h - the common refinement of two grids of the same places
 *
 * The functions are pure. Grids of 2 x 4 and 2 x 2 x 2 are both 2 x 2 x 2: an
 * axis of four is two axes of two. A sharding over one of them can be written
 * over the refinement, where an axis that neither sharding uses is visible as
 * unused.
 */

#ifndef MESH_REDISTRIBUTE_REFINEMENT_H
#define MESH_REDISTRIBUTE_REFINEMENT_H

#include <stdbool.h>

#include "hoop/sharding.h"

/* Finds the refinement of two grids of equally many places, without axes of
 * size 1. Returns false if there is none (2 x 3 and 3 x 2), or if it has too
 * many axes. */
bool
refinement_of_meshes(const struct hoop_mesh_shape *one,
                     const struct hoop_mesh_shape *other,
                     struct hoop_mesh_shape *out_fine);

/* Returns the sharding over fine, which refines coarse, that gives every place
 * the same part. */
struct hoop_sharding
refinement_refine_sharding(const struct hoop_mesh_shape *coarse,
                           const struct hoop_mesh_shape *fine,
                           const struct hoop_sharding *sharding);

#endif
