/* pipeline/p2p_requests.h - started transfers with the neighbours */

#ifndef PIPELINE_P2P_REQUESTS_H
#define PIPELINE_P2P_REQUESTS_H

#include "api/tags.h"
#include "pipeline/p2p_communicator.h"

/* How the transfers of one call are posted. */
struct p2p_posting {
    hoop_comm_t *comm; /* of which this process is a member */
    uint32_t rank;     /* decides between even and odd order */
    uint32_t prev;     /* ranks of comm, as next */
    uint32_t next;
    enum p2p_order order;
    enum tag_library_part tags; /* messages of one part never match another's */
    uint32_t part;              /* wire/frame_tensor.h: of each tensor */
};

/* Returns the posting of p2p as it was created: one tensor in each
 * direction. */
struct p2p_posting
p2p_posting_default(const struct hoop_p2p *p2p);

/* Starts the transfers of ops after it has checked them all.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_requests_start(const struct p2p_posting *posting,
                   const struct hoop_p2p_ops *ops,
                   struct hoop_p2p_requests *out_requests);

/* Waits for all requests, each until its own deadline. Returns the status and
 * raises the text of the first that failed. out_failed has a bit for each
 * direction that failed. */
enum hoop_status
p2p_requests_finish(struct hoop_p2p_requests *requests, unsigned *out_failed);

/* Checks that a blocking call of a pipeline with one stage can end: what is
 * sent in a direction of travel must be received in the same call.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_requests_check_one_stage(const struct hoop_p2p *p2p,
                             const struct hoop_p2p_ops *ops);

#endif
