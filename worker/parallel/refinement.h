/*
 * parallel/refinement.h - two grids of the same places as one
 *
 * Pure. 2 x 4 and 2 x 2 x 2 are both 2 x 2 x 2: an axis of four is two axes of
 * two. What lies over one of them lies over the other, too, and what neither
 * uses is seen to be unused.
 */

#ifndef PARALLEL_REFINEMENT_H
#define PARALLEL_REFINEMENT_H

#include <stdbool.h>

#include "hoop/sharding.h"

/* Of as many places both, without axes of one place. False: there is none
 * (2 x 3 and 3 x 2), or it has too many axes. */
bool
refinement_of(const struct hoop_mesh_shape *one,
              const struct hoop_mesh_shape *other,
              struct hoop_mesh_shape *out_fine);

/* The same parts for every place of fine, which refines coarse. */
struct hoop_sharding
refinement_sharding(const struct hoop_mesh_shape *coarse,
                    const struct hoop_mesh_shape *fine,
                    const struct hoop_sharding *sharding);

#endif
