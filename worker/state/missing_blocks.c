/* state/missing_blocks.c - a bitmap of the blocks that a rank lacks */

#include "state/missing_blocks.h"

size_t
missing_blocks_n_bytes(const struct tensor_manifest *tensor_manifest)
{
    return tensor_manifest->n_blocks / 8 + 1;
}

struct missing_blocks_sum
missing_blocks_find(const struct tensor_manifest *tensor_manifest,
                    const struct digest_wide *truth,
                    uint8_t *missing_blocks)
{
    struct missing_blocks_sum sum = {0};

    for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
        if (digest_wide_equal(&tensor_manifest->digests[i], &truth[i]))
            continue;
        missing_blocks[i / 8] =
            (uint8_t)(missing_blocks[i / 8] | 1U << (i % 8));
        sum.n_blocks++;
        sum.n_bytes += tensor_manifest_run(tensor_manifest, i, 1).n_bytes;
    }
    return sum;
}
