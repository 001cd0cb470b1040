/* checkpoint/piece.c - which elements of a tensor each place writes */

#include "checkpoint/piece.h"

#include <assert.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "tensor/shape.h"

/* A position among the places that hold the same part. */
struct replica_share {
    uint32_t n_shares;
    uint32_t number;
};

/* The mesh axes that shard the tensor, one bit each. */
static unsigned
sharding_axes_mask(const struct hoop_checkpoint_tensor *tensor)
{
    unsigned cutting = 0;

    for (uint32_t dim = 0; dim < tensor->shape.n_dims; dim++) {
        const struct hoop_axes *axes = &tensor->sharding.dims[dim];

        for (uint32_t i = 0; i < axes->n_axes; i++)
            cutting |= 1U << axes->axes[i];
    }
    return cutting;
}

uint32_t
piece_first_replica_place(const struct hoop_checkpoint_tensor *tensor,
                          uint32_t place)
{
    const unsigned cutting = sharding_axes_mask(tensor);
    uint32_t stride = 1;
    uint32_t first = 0;

    for (uint32_t axis = tensor->mesh.n_axes; axis > 0; axis--) {
        const uint32_t size = tensor->mesh.sizes[axis - 1];

        if (cutting & 1U << (axis - 1))
            first += place % size * stride;
        place /= size;
        stride *= size;
    }
    return first;
}

static struct replica_share
replica_share_of(const struct hoop_checkpoint_tensor *tensor, uint32_t place)
{
    const unsigned cutting = sharding_axes_mask(tensor);
    struct replica_share share = {.n_shares = 1};
    uint32_t stride = 1;

    for (uint32_t axis = tensor->mesh.n_axes; axis > 0; axis--) {
        const uint32_t size = tensor->mesh.sizes[axis - 1];

        if (!(cutting & 1U << (axis - 1))) {
            share.number += place % size * stride;
            share.n_shares *= size;
            stride *= size;
        }
        place /= size;
    }
    return share;
}

static size_t
min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

struct tensor_piece
tensor_piece_of_place(const struct checkpoint_manifest *manifest,
                      size_t number,
                      uint32_t place)
{
    const struct hoop_checkpoint_tensor *tensor = &manifest->tensors[number];
    const struct replica_share share = replica_share_of(tensor, place);
    const size_t turn = (share.number + number) % share.n_shares;
    const size_t unit = PIECE_UNIT / dtype_size(tensor->dtype);
    struct tensor_piece piece;
    size_t count;

    enum hoop_status status = hoop_sharding_part(
        &tensor->sharding, &tensor->mesh, &tensor->shape, place, &piece.part);
    assert(status == HOOP_OK);
    status = shape_count(&piece.part.shape, &count);
    assert(status == HOOP_OK);
    (void)status;
    const size_t n_units = count / unit + (count % unit > 0 ? 1 : 0);
    const size_t each = n_units / share.n_shares;
    const size_t more = n_units % share.n_shares;
    const size_t unit_first = each * turn + min_size(turn, more);
    const size_t unit_end = unit_first + each + (turn < more ? 1 : 0);
    piece.first = min_size(unit_first * unit, count);
    piece.n_elements = min_size(unit_end * unit, count) - piece.first;
    return piece;
}

uint64_t
piece_padded_bytes(uint64_t n_bytes)
{
    return (n_bytes + PIECE_ALIGNMENT - 1) / PIECE_ALIGNMENT * PIECE_ALIGNMENT;
}

uint64_t
piece_file_offsets(const struct checkpoint_manifest *manifest,
                   uint32_t place,
                   uint64_t *out_offsets)
{
    uint64_t offset = 0;

    for (size_t i = 0; i < manifest->contents.n_tensors; i++) {
        const struct tensor_piece piece =
            tensor_piece_of_place(manifest, i, place);

        out_offsets[i] = offset;
        offset += piece_padded_bytes((uint64_t)piece.n_elements *
                                     dtype_size(manifest->tensors[i].dtype));
    }
    return offset;
}
