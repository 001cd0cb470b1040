/*
 * tensor_parallel/block_pack.h - blocks of a tensor one after the other, for a
 * collective
 *
 * A collective needs the blocks of all ranks one after the other, but in a
 * tensor that is cut along any dimension but the first they interleave.
 */

#ifndef TENSOR_PARALLEL_BLOCK_PACK_H
#define TENSOR_PARALLEL_BLOCK_PACK_H

#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

#include "api/collective.h"
#include "tensor_parallel/action.h"

struct block_pack_request {
    const struct hoop_tensor *input;
    const struct hoop_tensor *output;
    const struct cuts *cut;  /* of the input; no cuts: it is sent as it is */
    const struct cuts *join; /* of the output; as cut */
    /* released when the operation has been waited for; NULL: none */
    struct hoop_scratch *scratch;
};

/* Packs the input's blocks and lets the collective send them, and lets it
 * receive into memory from which the output is unpacked when the operation has
 * been waited for. Does nothing where blocks lie one after the other. The data
 * of the output are borrowed until then.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
block_pack_attach(struct collective *collective,
                  const struct block_pack_request *request);

/* Copies the block of that number from input to output, or all of the input if
 * it has no cuts. The two may be the same if their shapes are equal. */
void
block_copy(const struct cuts *cut,
           uint32_t number,
           const struct hoop_tensor *input,
           const struct hoop_tensor *output);

#endif
