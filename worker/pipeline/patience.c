/* pipeline/patience.c - bounds waits for messages that may never be matched */

#include "pipeline/patience.h"

#include "base/limits.h"
#include "engine/engine.h"

struct patience
patience_unlimited(void)
{
    return (struct patience){HOOP_FOREVER};
}

void
patience_set_limit(struct patience *patience)
{
    if (patience->left_ms == HOOP_FOREVER)
        patience->left_ms = LIMIT_DOUBT_MS;
}

enum hoop_status
patience_wait_or_cancel(struct patience *patience, hoop_op_t *op)
{
    const enum hoop_status status = hoop_wait(op, patience->left_ms);

    if (status != HOOP_E_PENDING)
        return status;
    patience->left_ms = 0;
    engine_cancel_op((struct op *)op);
    return hoop_wait(op, HOOP_FOREVER);
}
