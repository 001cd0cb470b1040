/* tests/unit/worker/checkpoint/manifest_case.c - manifests to test with */

#include "manifest_case.h"

#include "check.h"
#include "checkpoint/piece.h"

static uint32_t
count_places(const struct hoop_mesh_shape *mesh)
{
    uint32_t n_places = 1;

    for (uint32_t i = 0; i < mesh->n_axes; i++)
        n_places *= mesh->sizes[i];
    return n_places;
}

struct checkpoint_manifest *
manifest_case(enum hoop_dtype dtype,
              const struct hoop_shape *shape,
              const struct hoop_mesh_shape *mesh,
              const struct hoop_sharding *sharding)
{
    struct checkpoint_manifest *manifest = NULL;

    assert_ok(manifest_create(1, count_places(mesh), &manifest));
    assert_ok(manifest_set_tensor_name(manifest, 0, "t"));
    manifest->tensors[0].dtype = dtype;
    manifest->tensors[0].shape = *shape;
    manifest->tensors[0].mesh = *mesh;
    manifest->tensors[0].sharding = *sharding;
    return manifest;
}

struct checkpoint_manifest *
manifest_case_two(void)
{
    const struct hoop_mesh_shape mesh = {2, {2, 2}};
    struct checkpoint_manifest *manifest = NULL;
    uint64_t offsets[2];

    assert_ok(manifest_create(2, 4, &manifest));
    assert_ok(manifest_set_tensor_name(manifest, 0, "w"));
    assert_ok(manifest_set_tensor_name(manifest, 1, "b"));
    manifest->tensors[0].dtype = HOOP_FLOAT32;
    manifest->tensors[0].shape = (struct hoop_shape){2, {6, 10}};
    manifest->tensors[0].mesh = mesh;
    manifest->tensors[0].sharding.dims[0] = (struct hoop_axes){2, {1, 0}};
    manifest->tensors[0].sharding.is_uneven = true;
    manifest->tensors[1].dtype = HOOP_INT8;
    manifest->tensors[1].shape = (struct hoop_shape){1, {70000}};
    manifest->tensors[1].mesh = mesh;
    manifest_set_generation(manifest, 7, 0x1f2e3d4c5b6a7988);
    for (uint32_t i = 0; i < 4; i++) {
        manifest->files[i].n_bytes = piece_file_offsets(manifest, i, offsets);
        manifest->files[i].digest = 0xf000000000000000 + i;
    }
    return manifest;
}
