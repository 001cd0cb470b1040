/* parallel/p2p_requests.h - transfers with the neighbours, started */

#ifndef PARALLEL_P2P_REQUESTS_H
#define PARALLEL_P2P_REQUESTS_H

#include "coll/tags.h"
#include "parallel/p2p_communicator.h"

/*
 * Start what ops has, in this order; all are checked before. part says whose
 * tags: a way of one part meets no other.
 * Handle: HOOP_E_INVALID.
 */
enum hoop_status
p2p_requests_start(const struct hoop_p2p *p2p,
                   const struct hoop_p2p_ops *ops,
                   enum p2p_order order,
                   enum tag_part part,
                   struct hoop_p2p_requests *out_requests);

/* Wait for all, until their own deadlines. */
enum hoop_status
p2p_requests_finish(struct hoop_p2p_requests *requests);

/* Whether a call that waits for ops can end: alone, each way is both sent and
 * received. Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_requests_check_alone(const struct hoop_p2p *p2p,
                         const struct hoop_p2p_ops *ops);

#endif
