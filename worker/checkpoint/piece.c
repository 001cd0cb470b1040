/* checkpoint/piece.c - which elements of a tensor each place writes */

#include "checkpoint/piece.h"

#include <assert.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "mesh/sharding.h"
#include "tensor/layout.h"

/* A position among the places that hold the same part. */
struct replica_share {
    uint32_t n_shares;
    uint32_t number;
};

uint32_t
piece_first_replica_place(const struct hoop_checkpoint_tensor *tensor,
                          uint32_t place)
{
    const unsigned cutting = sharding_cut_axes_mask(&tensor->sharding);
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
    const unsigned cutting = sharding_cut_axes_mask(&tensor->sharding);
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
    const size_t unit = PIECE_UNIT_BYTES / dtype_size(tensor->dtype);
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

/*
 * The elements that a piece of a file and a part share.
 *
 * A row is the largest contiguous run: all inner dimensions that both boxes
 * have completely, times the shared extent of the next dimension. The
 * dimensions outside of that count the rows. A piece is a contiguous range
 * of its box, so runs are cut at its beginning and its end.
 */

/* The overlap along one dimension, from start to before end. */
struct dim_overlap {
    size_t start;
    size_t end;
};

static struct dim_overlap
overlap_along_dim(const struct hoop_part *a,
                  const struct hoop_part *b,
                  uint32_t dim)
{
    const size_t end_a = a->offset[dim] + a->shape.dims[dim];
    const size_t end_b = b->offset[dim] + b->shape.dims[dim];
    const struct dim_overlap stretch = {
        a->offset[dim] > b->offset[dim] ? a->offset[dim] : b->offset[dim],
        end_a < end_b ? end_a : end_b};

    return stretch;
}

/* The offset of a row in the saved part; *out_to is its offset in the wanted
 * part. */
static size_t
overlap_row_offset(const struct overlap *overlap, size_t row, size_t *out_to)
{
    size_t from = overlap->from;
    size_t to = overlap->to;

    for (uint32_t dim = overlap->rows.n_dims; dim > 0; dim--) {
        const size_t at = row % overlap->rows.dims[dim - 1];

        row /= overlap->rows.dims[dim - 1];
        from += at * overlap->saved_part_strides[dim - 1];
        to += at * overlap->wanted_part_strides[dim - 1];
    }
    *out_to = to;
    return from;
}

/* The first row that ends after the beginning of the piece. */
static size_t
overlap_first_row_of_piece(const struct overlap *overlap)
{
    size_t low = 0;
    size_t high = overlap->n_rows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        size_t to;

        if (overlap_row_offset(overlap, middle, &to) + overlap->n_elements >
            overlap->piece_first_element)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Add a dimension; all inner dimensions have been added. */
static void
overlap_add_dim(struct overlap *overlap,
                const struct dim_overlap *stretch,
                uint32_t dim)
{
    const size_t size = stretch->end - stretch->start;

    overlap->rows.dims[dim] = size;
    overlap->n_rows *= size;
    if (overlap->rows.n_dims > 0)
        return;
    /* The elements are still contiguous, so this dimension extends the row. */
    overlap->n_rows = 1;
    overlap->rows.dims[dim] = 1;
    overlap->n_elements *= size;
}

struct overlap
overlap_of_piece_and_part(const struct tensor_piece *piece,
                          const struct hoop_part *part)
{
    const struct hoop_part *saved = &piece->part;
    struct overlap overlap = {
        .n_elements = 1,
        .n_rows = 1,
        .piece_first_element = piece->first,
        .piece_end_element = piece->first + piece->n_elements,
    };
    size_t from_stride = 1;
    size_t to_stride = 1;

    if (piece->n_elements == 0)
        return (struct overlap){0};
    for (uint32_t dim = saved->shape.n_dims; dim > 0; dim--) {
        const uint32_t i = dim - 1;
        const struct dim_overlap stretch = overlap_along_dim(saved, part, i);

        if (stretch.start >= stretch.end)
            return (struct overlap){0};
        overlap_add_dim(&overlap, &stretch, i);
        overlap.from += (stretch.start - saved->offset[i]) * from_stride;
        overlap.to += (stretch.start - part->offset[i]) * to_stride;
        overlap.saved_part_strides[i] = from_stride;
        overlap.wanted_part_strides[i] = to_stride;
        from_stride *= saved->shape.dims[i];
        to_stride *= part->shape.dims[i];
        if (overlap.rows.n_dims == 0 &&
            (stretch.end - stretch.start < saved->shape.dims[i] ||
             stretch.end - stretch.start < part->shape.dims[i]))
            overlap.rows.n_dims = i; /* dimensions outside of i count rows */
    }
    overlap.row = overlap_first_row_of_piece(&overlap);
    return overlap;
}

bool
overlap_next_run(struct overlap *overlap, struct overlap_run *out_run)
{
    size_t to;

    if (overlap->row >= overlap->n_rows)
        return false;
    const size_t start = overlap_row_offset(overlap, overlap->row++, &to);
    size_t end = start + overlap->n_elements;
    if (start >= overlap->piece_end_element)
        return false;
    const size_t cut = start < overlap->piece_first_element
                           ? overlap->piece_first_element - start
                           : 0;
    if (end > overlap->piece_end_element)
        end = overlap->piece_end_element;
    *out_run = (struct overlap_run){
        .from = start + cut - overlap->piece_first_element,
        .to = to + cut,
        .n_elements = end - start - cut,
    };
    return true;
}
