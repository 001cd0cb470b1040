/*
 * api/retry.h - collectives that survive the loss of ranks
 *
 * With HOOP_ON_FAILURE=retry, the surviving ranks repeat a blocking collective
 * that a loss has interrupted, with the inputs that they gave at first. After
 * each attempt all ranks exchange their outcomes, so that no rank returns
 * before all have finished. If a rank is lost meanwhile, the survivors shrink
 * the communicator (session/recovery.h), which keeps its handle, and agree:
 * either all had finished, and the result is valid with the lost rank's input
 * in it; or all repeat the call. If they do not come together in time, the call
 * ends on all of them (docs/decisions/0024-retry.md).
 */

#ifndef API_RETRY_H
#define API_RETRY_H

#include "api/collective.h"

/* collective_run(), with retries if the session's policy asks for them. */
enum hoop_status
retry_run_collective(const struct collective *collective, hoop_comm_t *comm);

/* collective_start(). An operation that is only started is never retried.
 * Handle: also HOOP_E_UNIMPLEMENTED (the session's policy is to retry). */
enum hoop_status
retry_start_collective(const struct collective *collective,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op);

#endif
