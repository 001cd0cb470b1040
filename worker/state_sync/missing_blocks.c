/* state_sync/missing_blocks.c - a bitmap of the blocks that a rank lacks */

#include "state_sync/missing_blocks.h"

size_t
missing_blocks_bitmap_bytes(const struct state_manifest *tensor_manifest)
{
    return tensor_manifest->n_blocks / 8 + 1;
}

struct missing_blocks_totals
missing_blocks_find(const struct state_manifest *tensor_manifest,
                    const struct digest_128 *newest_digests,
                    uint8_t *missing_blocks)
{
    struct missing_blocks_totals sum = {0};

    for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
        if (digest_128_equal(&tensor_manifest->digests[i], &newest_digests[i]))
            continue;
        missing_blocks[i / 8] =
            (uint8_t)(missing_blocks[i / 8] | 1U << (i % 8));
        sum.n_blocks++;
        sum.n_bytes += state_manifest_byte_range(tensor_manifest, i, 1).n_bytes;
    }
    return sum;
}
