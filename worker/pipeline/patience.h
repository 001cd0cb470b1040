/*
 * pipeline/patience.h - bounds waits for messages that may never be matched
 *
 * After a message with another process has failed, that process may not have
 * the others. From then on each wait is limited to LIMIT_DOUBT_MS, and after
 * one has reached the limit, later ones cancel at once. If both processes do
 * expect the same messages, both started them long before.
 */

#ifndef PIPELINE_PATIENCE_H
#define PIPELINE_PATIENCE_H

#include <stdint.h>

#include "hoop/op.h"
#include "hoop/status.h"

/* How long a wait may take; at first until the operation's own deadline. */
struct patience {
    int64_t left_ms;
};

struct patience
patience_unlimited(void);

/* Limits all waits from now on. */
void
patience_set_limit(struct patience *patience);

/* Waits until op has ended. Cancels it when the limit is reached. Returns its
 * status. */
enum hoop_status
patience_wait_or_cancel(struct patience *patience, hoop_op_t *op);

#endif
