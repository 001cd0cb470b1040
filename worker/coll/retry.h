/*
 * coll/retry.h - a call that ends well though ranks are lost
 *
 * With HOOP_ON_FAILURE=retry, a blocking collective that is interrupted is done
 * again by those that are left, with the inputs that they gave. Behind each, all
 * tell how it went for them, so that no rank returns before all have finished.
 * When a rank is lost meanwhile, the survivors shrink the communicator
 * (session/recovery.h), which stands for them from then on, and agree: either
 * all had finished, and the result is theirs with the lost rank's input in it;
 * or all begin again. Where they do not come together in time, the call is over
 * for all of them (docs/decisions/0029-retry-is-a-shrink-and-a-repeat.md).
 */

#ifndef COLL_RETRY_H
#define COLL_RETRY_H

#include "coll/collective.h"

/* collective_run(), or that. */
enum hoop_status
retry_run(const struct collective *collective, hoop_comm_t *comm);

/* collective_start(), where nothing is done again.
 * Handle: also HOOP_E_UNIMPLEMENTED (calls of this communicator are). */
enum hoop_status
retry_start(const struct collective *collective,
            hoop_comm_t *comm,
            hoop_op_t **out_op);

#endif
