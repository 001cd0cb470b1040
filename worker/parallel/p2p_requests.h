/* parallel/p2p_requests.h - transfers with the neighbours, started */

#ifndef PARALLEL_P2P_REQUESTS_H
#define PARALLEL_P2P_REQUESTS_H

#include "coll/tags.h"
#include "parallel/p2p_communicator.h"

/* Who posts, and with whom. */
struct p2p_posting {
    hoop_comm_t *comm; /* this process is a member */
    uint32_t rank;     /* even or odd */
    uint32_t prev;     /* ranks of comm */
    uint32_t next;
    enum p2p_order order;
    enum tag_part tags; /* a way of one part meets no other */
    uint32_t part;      /* wire/frame_tensor.h: of each */
};

/* Within p2p's communicator, as it was created, one tensor each way. */
struct p2p_posting
p2p_posting_of(const struct hoop_p2p *p2p);

/* Start what ops has; all are checked before. Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_requests_start(const struct p2p_posting *posting,
                   const struct hoop_p2p_ops *ops,
                   struct hoop_p2p_requests *out_requests);

/* Wait for all, until their own deadlines; the status and text of the first that
 * failed. out_failed: bits of all that did, by direction. */
enum hoop_status
p2p_requests_finish(struct hoop_p2p_requests *requests, unsigned *out_failed);

/* Whether a call that waits for ops can end: alone, each way is both sent and
 * received. Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_requests_check_alone(const struct hoop_p2p *p2p,
                         const struct hoop_p2p_ops *ops);

#endif
