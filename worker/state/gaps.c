/* state/gaps.c - which blocks a rank lacks, a bit for each */

#include "state/gaps.h"

size_t
gaps_bytes(const struct inventory *inventory)
{
    return inventory->n_blocks / 8 + 1;
}

struct gaps_sum
gaps_find(const struct inventory *inventory,
          const struct digest_wide *truth,
          uint8_t *gaps)
{
    struct gaps_sum sum = {0};

    for (uint64_t i = 0; i < inventory->n_blocks; i++) {
        if (digest_wide_equal(&inventory->digests[i], &truth[i]))
            continue;
        gaps[i / 8] = (uint8_t)(gaps[i / 8] | 1U << (i % 8));
        sum.n_blocks++;
        sum.n_bytes += inventory_run(inventory, i, 1).n_bytes;
    }
    return sum;
}
