/* state_sync/block_transfer.c - send and receive missing blocks, a few at a
 * time */

#include "state_sync/block_transfer.h"

#include <stdio.h>

#include "api/p2p.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "session/comm.h"

/* Which source sends which missing block to a rank. */

/* Where in n_bytes the part begins, computed so that no product overflows. */
static uint64_t
source_part_begin_byte(uint64_t n_bytes, uint32_t number, uint32_t n_parts)
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
        source_part_begin_byte(n_bytes, part.number, part.n_parts);
    const uint64_t end =
        source_part_begin_byte(n_bytes, part.number + 1, part.n_parts);
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

/* A bitmap of the blocks that a rank lacks. */

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

/* Send and receive the blocks of all lanes. */

/* A ring of pending operations, oldest first. */
struct transfer_window {
    struct op *ops[LIMIT_STATE_IN_FLIGHT];
    size_t bytes[LIMIT_STATE_IN_FLIGHT];
    unsigned first;
    unsigned n_in_flight;
    uint64_t n_bytes;         /* of the messages that succeeded */
    enum hoop_status failure; /* the first failure, or HOOP_OK */
    char text[LIMIT_ERROR_TEXT];
};

static void
transfer_record_failure(struct transfer_window *window, enum hoop_status status)
{
    if (status == HOOP_OK || window->failure != HOOP_OK)
        return;
    window->failure = status;
    snprintf(window->text, sizeof(window->text), "%s", error_text());
}

static void
transfer_wait_oldest(struct transfer_window *window)
{
    const enum hoop_status status =
        engine_wait(window->ops[window->first], CLOCK_NEVER);

    if (status == HOOP_OK)
        window->n_bytes += window->bytes[window->first];
    transfer_record_failure(window, status);
    window->first = (window->first + 1) % LIMIT_STATE_IN_FLIGHT;
    window->n_in_flight--;
}

static void
transfer_start_message(const struct block_transfer *block_transfer,
                       const struct block_transfer_lane *lane,
                       const struct state_manifest_byte_range *run,
                       struct transfer_window *window)
{
    const struct hoop_message message = {
        .kind = block_transfer->kind,
        .buffer = run->at,
        .count = run->n_bytes,
        .dtype = HOOP_UINT8,
        .peer = lane->peer,
    };
    struct engine_message request =
        message_to_engine_request(&message, ENGINE_START);
    struct op *op = NULL;

    request.tag = block_transfer->tag;
    if (window->n_in_flight == LIMIT_STATE_IN_FLIGHT)
        transfer_wait_oldest(window);
    const enum hoop_status status =
        engine_start_messages(block_transfer->comm->context, &request, 1, &op);
    transfer_record_failure(window, status);
    if (status != HOOP_OK)
        return;
    const unsigned last =
        (window->first + window->n_in_flight) % LIMIT_STATE_IN_FLIGHT;
    window->ops[last] = op;
    window->bytes[last] = run->n_bytes;
    window->n_in_flight++;
}

/* Start one message of each lane that has any left. Returns false if none has,
 * or after a failure that ends the transfer. */
static bool
transfer_start_round(const struct block_transfer *block_transfer,
                     struct transfer_window *window)
{
    struct state_manifest_byte_range run;
    bool is_any = false;

    if (window->failure != HOOP_OK && !status_is_loss(window->failure))
        return false;
    for (uint32_t i = 0; i < block_transfer->n_lanes; i++) {
        struct block_transfer_lane *lane = &block_transfer->lanes[i];

        if (!source_assignment_next_message(&lane->source_assignment, &run))
            continue;
        transfer_start_message(block_transfer, lane, &run, window);
        is_any = true;
    }
    return is_any;
}

enum hoop_status
block_lanes_transfer(const struct block_transfer *block_transfer,
                     uint64_t *out_bytes)
{
    struct transfer_window window = {0};

    while (transfer_start_round(block_transfer, &window))
        continue;
    while (window.n_in_flight > 0)
        transfer_wait_oldest(&window);
    *out_bytes = window.n_bytes;
    if (window.failure != HOOP_OK)
        return error_raise(window.failure, "%s", window.text);
    return HOOP_OK;
}
