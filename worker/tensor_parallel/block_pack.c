/* tensor_parallel/block_pack.c - blocks of a tensor one after the other, for a
 * collective */

#include "tensor_parallel/block_pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tensor/operand.h"
#include "tensor_parallel/target.h"

/* Owned by an operation: packed blocks, and where blocks are to be unpacked. */
struct block_pack {
    struct hoop_scratch *scratch;
    struct cuts join;
    struct hoop_tensor whole; /* the result; its data are the caller's */
    uint8_t *coming;          /* received blocks; NULL: nothing to unpack */
    uint8_t blocks[];
};

static enum hoop_status
block_pack_unpack(void *owner)
{
    const struct block_pack *block_pack = owner;

    if (block_pack->coming)
        cuts_unpack_all_blocks(&block_pack->join, &block_pack->whole,
                               block_pack->coming);
    return HOOP_OK;
}

static void
block_pack_destroy(void *owner)
{
    struct block_pack *block_pack = owner;

    scratch_release(block_pack->scratch);
    free(block_pack);
}

static size_t
bytes_to_pack(const struct cuts *cuts, const struct hoop_tensor *whole)
{
    return cuts_is_noncontiguous(cuts, &whole->shape) ? operand_bytes(whole)
                                                      : 0;
}

enum hoop_status
block_pack_attach(struct collective *collective,
                  const struct block_pack_request *request)
{
    const size_t n_packed = bytes_to_pack(request->cut, request->input);
    const size_t n_coming = bytes_to_pack(request->join, request->output);

    if (n_packed + n_coming == 0 && !request->scratch)
        return HOOP_OK;
    struct block_pack *block_pack =
        malloc(sizeof(*block_pack) + n_packed + n_coming);
    if (!block_pack)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to sort %zu bytes by rank",
                           n_packed + n_coming);
    block_pack->scratch = request->scratch;
    block_pack->join = *request->join;
    block_pack->whole = *request->output;
    block_pack->coming = n_coming > 0 ? block_pack->blocks + n_packed : NULL;
    collective->chain = (struct chain){.finish = block_pack_unpack,
                                       .destroy = block_pack_destroy,
                                       .owner = block_pack};
    if (n_packed > 0) {
        cuts_pack_all_blocks(request->cut, request->input, block_pack->blocks);
        collective->send = block_pack->blocks;
    }
    if (n_coming > 0)
        collective->recv = block_pack->coming;
    return HOOP_OK;
}

void
block_copy(const struct cuts *cut,
           uint32_t number,
           const struct hoop_tensor *input,
           const struct hoop_tensor *output)
{
    const size_t n_bytes = operand_bytes(output);

    if (output->data == input->data || n_bytes == 0)
        return;
    if (cuts_n_blocks(cut) > 1)
        cuts_copy_block_to_part(cut, input, number, output->data);
    else
        memcpy(output->data, input->data, n_bytes);
}
