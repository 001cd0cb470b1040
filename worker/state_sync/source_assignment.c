/* state_sync/source_assignment.c - which source sends which missing block to a
 * rank */

#include "state_sync/source_assignment.h"

#include "base/limits.h"

/* Where in n_bytes the part begins, computed so that no product overflows. */
static uint64_t
source_part_offset(uint64_t n_bytes, uint32_t number, uint32_t n_parts)
{
    return n_bytes / n_parts * number + n_bytes % n_parts * number / n_parts;
}

static uint64_t
next_missing_block(const struct source_assignment *source_assignment,
                   uint64_t number)
{
    while (number < source_assignment->end &&
           !missing_blocks_has(source_assignment->missing_blocks, number))
        number++;
    return number;
}

struct source_assignment
source_assignment_compute(const struct state_manifest *tensor_manifest,
                          const uint8_t *missing_blocks,
                          uint64_t n_bytes,
                          struct source_part part)
{
    const uint64_t begin =
        source_part_offset(n_bytes, part.number, part.n_parts);
    const uint64_t end =
        source_part_offset(n_bytes, part.number + 1, part.n_parts);
    struct source_assignment source_assignment = {
        tensor_manifest, missing_blocks, tensor_manifest->n_blocks,
        tensor_manifest->n_blocks};
    uint64_t before = 0;

    for (uint64_t i = 0; i < tensor_manifest->n_blocks && before < end; i++) {
        if (!missing_blocks_has(missing_blocks, i))
            continue;
        if (before >= begin &&
            source_assignment.next == tensor_manifest->n_blocks)
            source_assignment.next = i;
        before += state_manifest_byte_range(tensor_manifest, i, 1).n_bytes;
        source_assignment.end = i + 1;
    }
    if (source_assignment.next > source_assignment.end)
        source_assignment.next = source_assignment.end;
    return source_assignment;
}

bool
source_assignment_next_message(struct source_assignment *source_assignment,
                               struct state_manifest_byte_range *out_run)
{
    const struct state_manifest *tensor_manifest =
        source_assignment->tensor_manifest;
    const uint64_t first = source_assignment->next;
    const uint64_t n_max = LIMIT_STATE_MESSAGE / tensor_manifest->block_bytes;

    if (first >= source_assignment->end)
        return false;
    const uint64_t n_together = state_manifest_adjacent_blocks(
        tensor_manifest, first, source_assignment->end);
    uint64_t n_blocks = 1;
    while (
        n_blocks < n_together && n_blocks < n_max &&
        missing_blocks_has(source_assignment->missing_blocks, first + n_blocks))
        n_blocks++;
    *out_run = state_manifest_byte_range(tensor_manifest, first, n_blocks);
    source_assignment->next =
        next_missing_block(source_assignment, first + n_blocks);
    return true;
}
