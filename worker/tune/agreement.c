/* tune/agreement.c - the table of a channel's rank 0 becomes everybody's */

#include "tune/agreement.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "plan/algorithms.h"

enum {
    /* The chain's connections are there; a tree's pay for themselves later. */
    CHAIN_RANKS_MAX = 64,
};

enum hoop_status
agreement_share(struct channel *channel, void *bytes, size_t n_bytes)
{
    const struct engine_collective request = {
        .call =
            {
                .name = CALL_AGREE,
                .dtype = HOOP_UINT8,
                .root = channel_habits(channel),
                .count = n_bytes,
            },
        .algorithm = channel_size(channel) > CHAIN_RANKS_MAX
                         ? &algorithm_broadcast_binomial
                         : &algorithm_broadcast_chain,
        .shape =
            {
                .rank = channel_rank(channel),
                .size = channel_size(channel),
                .is_in_place = true,
                .count = n_bytes,
                .granule = 1,
            },
        .input = bytes,
        .output = bytes,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    enum hoop_status status = engine_start(channel, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
agreement_reach(struct channel *channel, struct table *table)
{
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    enum hoop_status status = HOOP_OK;

    if (channel_size(channel) == 1)
        return HOOP_OK;
    if (channel_rank(channel) == 0)
        status = table_encode(table, bytes);
    if (status == HOOP_OK)
        status = agreement_share(channel, bytes, sizeof(bytes));
    if (status != HOOP_OK)
        return error_pass(status);
    if (bytes[0] == 0)
        return error_raise(HOOP_E_INVALID,
                           "rank 0 refused what it was to decide: see its "
                           "error");
    /* Rank 0, too: costs have been rounded on their way. */
    return table_decode(bytes, table);
}

void
agreement_refuse(struct channel *channel)
{
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    char text[LIMIT_ERROR_TEXT];

    if (channel_size(channel) == 1)
        return;
    /* The others' failure to come is not what the caller asked about. */
    snprintf(text, sizeof(text), "%s", error_text());
    if (agreement_share(channel, bytes, sizeof(bytes)) != HOOP_OK)
        log_debug("tune", "nobody told: %s", error_text());
    (void)error_raise(HOOP_E_INVALID, "%s", text);
}
