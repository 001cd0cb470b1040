/* tests/unit/worker/checkpoint/manifest_case.h - manifests to test with */

#ifndef TESTS_MANIFEST_CASE_H
#define TESTS_MANIFEST_CASE_H

#include "checkpoint/manifest.h"

/* Returns a manifest of one tensor "t" over a mesh of these sizes. Fails the
 * test if there is no memory. */
struct checkpoint_manifest *
manifest_case(enum hoop_dtype dtype,
              const struct hoop_shape *shape,
              const struct hoop_mesh_shape *mesh,
              const struct hoop_sharding *sharding);

/* Returns a saved manifest of two tensors, "w" and "b", over a 2 x 2 mesh. */
struct checkpoint_manifest *
manifest_case_two(void);

#endif
