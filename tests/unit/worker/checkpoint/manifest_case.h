/* tests/unit/worker/checkpoint/manifest_case.h - manifests to test with */

#ifndef TESTS_MANIFEST_CASE_H
#define TESTS_MANIFEST_CASE_H

#include "checkpoint/manifest.h"

/* Of one tensor "t" over a mesh of those sizes; fails the test without memory.
 */
struct checkpoint_manifest *
manifest_case(enum hoop_dtype dtype,
              const struct hoop_shape *shape,
              const struct hoop_mesh_shape *mesh,
              const struct hoop_sharding *sharding);

/* Of two tensors, "w" and "b", over 2 x 2, which has been saved. */
struct checkpoint_manifest *
manifest_case_two(void);

#endif
