/* select/agreement.c - gives the table of a context's rank 0 to all its ranks */

#include "select/agreement.h"

#include <stdio.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

enum {
    /* Up to this size a chain is used, whose connections exist already; beyond
     * it, connecting a tree is worth its cost. */
    CHAIN_RANKS_MAX = 64,
};

enum hoop_status
agreement_broadcast_bytes(struct comm_context *context,
                          void *bytes,
                          size_t n_bytes)
{
    const struct engine_collective request = {
        .call =
            {
                .name = CALL_AGREE,
                .dtype = HOOP_UINT8,
                .root = context_agreed_settings(context),
                .count = n_bytes,
            },
        .algorithm = context_size(context) > CHAIN_RANKS_MAX
                         ? &algorithm_broadcast_binomial
                         : &algorithm_broadcast_chain,
        .shape =
            {
                .rank = context_rank(context),
                .size = context_size(context),
                .is_in_place = true,
                .count = n_bytes,
                .granule = 1,
            },
        .input = bytes,
        .output = bytes,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    enum hoop_status status = engine_start_collective(context, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
agreement_broadcast_table(struct comm_context *context, struct table *table)
{
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    enum hoop_status status = HOOP_OK;

    if (context_size(context) == 1)
        return HOOP_OK;
    if (context_rank(context) == 0)
        status = tuning_table_encode(table, bytes);
    if (status == HOOP_OK)
        status = agreement_broadcast_bytes(context, bytes, sizeof(bytes));
    if (status != HOOP_OK)
        return error_pass(status);
    if (bytes[0] == 0)
        return error_raise(HOOP_E_INVALID,
                           "rank 0 refused what it was to decide: see its "
                           "error");
    /* Rank 0 decodes, too, because encoding has rounded the costs. */
    return tuning_table_decode(bytes, table);
}

void
agreement_broadcast_refusal(struct comm_context *context)
{
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    char text[LIMIT_ERROR_TEXT];

    if (context_size(context) == 1)
        return;
    /* The caller reports its own error, not a failure to send the refusal. */
    snprintf(text, sizeof(text), "%s", error_text());
    if (agreement_broadcast_bytes(context, bytes, sizeof(bytes)) != HOOP_OK)
        log_debug("tune", "nobody told: %s", error_text());
    (void)error_raise(HOOP_E_INVALID, "%s", text);
}
