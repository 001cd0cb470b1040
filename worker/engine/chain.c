/* engine/chain.c - one operation that runs several collectives in a row */

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "engine/op.h"
#include "engine/state.h"
#include "engine/wire_loss.h"

uint32_t
op_stage(const struct op *op)
{
    return op->run.is_call_check_stage ? STAGE_CALL_CHECK : op->run.stage;
}

/* All ranks have made the same call: now execute it. */
static enum hoop_status
start_after_call_check(struct op *op, bool *out_has_next)
{
    op->run.is_call_check_stage = false;
    op_set_reduction_kernels(op);
    *out_has_next = true;
    return executor_begin(op);
}

/* Ask the chain for its next stage; *out_has_next is false if there is none. */
static enum hoop_status
chain_start_next_stage(struct op *op, bool *out_has_next)
{
    struct engine_collective next = {.algorithm = NULL};

    *out_has_next = false;
    if (!op->run.chain.next)
        return HOOP_OK;
    enum hoop_status status =
        op->run.chain.next(op->run.chain.owner, op->run.stage + 1, &next);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!next.algorithm) {
        op->run.chain.next = NULL;
        return HOOP_OK;
    }
    op->run.stage++;
    assert(op->run.stage < STAGES_MAX);
    residual_return_to_context(op);
    status = op_set_collective(op, &next);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_has_next = true;
    return executor_begin(op);
}

enum hoop_status
op_chain_advance(struct op *op, bool *out_is_complete)
{
    bool has_next = true;

    while (has_next) {
        enum hoop_status status = executor_advance(op, out_is_complete);

        if (status == HOOP_OK && !*out_is_complete)
            return HOOP_OK;
        if (status == HOOP_OK)
            status = op->run.is_call_check_stage
                         ? start_after_call_check(op, &has_next)
                         : chain_start_next_stage(op, &has_next);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
op_chain_finish(struct op *op)
{
    if (op->run.status != HOOP_OK)
        return error_raise_failure(&op->failure.details, "%s",
                                   op->failure.text);
    return op->run.chain.finish ? op->run.chain.finish(op->run.chain.owner)
                                : HOOP_OK;
}

void
op_chain_deinit(struct chain *chain)
{
    if (chain->destroy)
        chain->destroy(chain->owner);
    memset(chain, 0, sizeof(*chain));
}
