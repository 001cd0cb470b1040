/*
 * parallel/patience.h - how long to wait for what may never come
 *
 * Once a message with another process has failed, the rest may be waited for
 * by one side alone: all of it together has LIMIT_DOUBT_MS left, and is given
 * up then. Where both sides do mean the same, both have started it long ago.
 */

#ifndef PARALLEL_PATIENCE_H
#define PARALLEL_PATIENCE_H

#include <stdint.h>

#include "hoop/op.h"
#include "hoop/status.h"

/* Begins with the operations' own deadlines. */
struct patience {
    int64_t left_ms;
};

struct patience
patience_endless(void);

/* From now on there is an end to it. */
void
patience_doubt(struct patience *patience);

/* Wait until op has ended, at the latest by being cancelled. */
enum hoop_status
patience_wait(struct patience *patience, hoop_op_t *op);

#endif
