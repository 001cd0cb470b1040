/* engine/stages.c - one operation that is several collectives in a row */

#include "engine/stages.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "engine/op.h"
#include "engine/residue.h"
#include "engine/state.h"

uint32_t
op_stage(const struct op *op)
{
    return op->is_checking ? STAGE_CHECK : op->stage;
}

/* All ranks have called the same: now do it. */
static enum hoop_status
check_end(struct op *op, bool *out_has_next)
{
    op->is_checking = false;
    op_set_kernels(op);
    *out_has_next = true;
    return executor_begin(op);
}

/* Ask what comes now; false when nothing does. */
static enum hoop_status
stages_next(struct op *op, bool *out_has_next)
{
    struct engine_collective next = {.algorithm = NULL};

    *out_has_next = false;
    if (!op->stages.next)
        return HOOP_OK;
    enum hoop_status status =
        op->stages.next(op->stages.owner, op->stage + 1, &next);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!next.algorithm) {
        op->stages.next = NULL;
        return HOOP_OK;
    }
    op->stage++;
    assert(op->stage < STAGES_MAX);
    residue_keep(op);
    status = op_set_collective(op, &next);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_has_next = true;
    return executor_begin(op);
}

enum hoop_status
stages_advance(struct op *op, bool *out_is_complete)
{
    bool has_next = true;

    while (has_next) {
        enum hoop_status status = executor_advance(op, out_is_complete);

        if (status == HOOP_OK && !*out_is_complete)
            return HOOP_OK;
        if (status == HOOP_OK)
            status = op->is_checking ? check_end(op, &has_next)
                                     : stages_next(op, &has_next);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
stages_finish(struct op *op)
{
    if (op->status != HOOP_OK)
        return error_raise_failure(&op->failure, "%s", op->text);
    return op->stages.finish ? op->stages.finish(op->stages.owner) : HOOP_OK;
}

void
stages_deinit(struct stages *stages)
{
    if (stages->destroy)
        stages->destroy(stages->owner);
    memset(stages, 0, sizeof(*stages));
}
