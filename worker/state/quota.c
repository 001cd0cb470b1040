/* state/quota.c - which of the blocks that a rank lacks which source sends */

#include "state/quota.h"

#include "base/limits.h"

/* Of n_bytes, where the part begins: no product overflows. */
static uint64_t
part_begin(uint64_t n_bytes, uint32_t number, uint32_t n_parts)
{
    return n_bytes / n_parts * number + n_bytes % n_parts * number / n_parts;
}

static uint64_t
gap_from(const struct quota *quota, uint64_t number)
{
    while (number < quota->end && !gaps_has(quota->gaps, number))
        number++;
    return number;
}

struct quota
quota_of(const struct inventory *inventory,
         const uint8_t *gaps,
         uint64_t n_bytes,
         struct quota_part part)
{
    const uint64_t begin = part_begin(n_bytes, part.number, part.n_parts);
    const uint64_t end = part_begin(n_bytes, part.number + 1, part.n_parts);
    struct quota quota = {inventory, gaps, inventory->n_blocks,
                          inventory->n_blocks};
    uint64_t before = 0;

    for (uint64_t i = 0; i < inventory->n_blocks && before < end; i++) {
        if (!gaps_has(gaps, i))
            continue;
        if (before >= begin && quota.next == inventory->n_blocks)
            quota.next = i;
        before += inventory_run(inventory, i, 1).n_bytes;
        quota.end = i + 1;
    }
    if (quota.next > quota.end)
        quota.next = quota.end;
    return quota;
}

bool
quota_next(struct quota *quota, struct inventory_run *out_run)
{
    const struct inventory *inventory = quota->inventory;
    const uint64_t first = quota->next;
    const uint64_t n_max = LIMIT_STATE_MESSAGE / inventory->block_bytes;

    if (first >= quota->end)
        return false;
    const uint64_t n_together =
        inventory_together(inventory, first, quota->end);
    uint64_t n_blocks = 1;
    while (n_blocks < n_together && n_blocks < n_max &&
           gaps_has(quota->gaps, first + n_blocks))
        n_blocks++;
    *out_run = inventory_run(inventory, first, n_blocks);
    quota->next = gap_from(quota, first + n_blocks);
    return true;
}
