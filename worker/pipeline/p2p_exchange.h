/*
 * pipeline/p2p_exchange.h - tensors to and from neighbours, as configured
 *
 * Applies the settings of the communicator to every transfer: the dtype of
 * received tensors, whether their shape is known beforehand, and the order of
 * messages.
 */

#ifndef PIPELINE_P2P_EXCHANGE_H
#define PIPELINE_P2P_EXCHANGE_H

#include "api/tags.h"
#include "pipeline/p2p_communicator.h"

/* Check that a tensor can be sent, or received into. Error texts call it name.
 * Nothing is changed.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_exchange_check_send(const struct hoop_tensor *tensor, const char *name);
enum hoop_status
p2p_exchange_check_receive(const struct hoop_p2p *p2p,
                           const struct hoop_tensor *tensor,
                           const struct hoop_tensor *received,
                           const char *name);

/* Starts the transfers of ops, as element part of their lists, and waits for
 * all. After a failure nothing is handed out, and out_failed has a bit for each
 * direction that failed.
 * Handle: HOOP_E_INVALID, before anything moved. */
enum hoop_status
p2p_exchange_list_element(const struct hoop_p2p *p2p,
                          const struct hoop_p2p_ops *ops,
                          uint32_t part,
                          unsigned *out_failed);

/* A whole public call: clears the last error, checks the arguments and
 * transfers. Without out_requests it waits. With out_requests it only starts,
 * and the tensors and what they point to are borrowed until the requests have
 * been waited for. A process that is not a member does nothing.
 * Handle: HOOP_E_INVALID (also: p2p is NULL, a start of a batched
 * communicator). */
enum hoop_status
p2p_exchange_run_or_start(const struct hoop_p2p *p2p,
                          const struct hoop_p2p_ops *ops,
                          struct hoop_p2p_requests *out_requests);

/* How the transfers of one call are posted. */
struct p2p_posting {
    hoop_comm_t *comm; /* of which this process is a member */
    uint32_t rank;     /* decides between even and odd order */
    uint32_t prev;     /* ranks of comm, as next */
    uint32_t next;
    enum p2p_order order;
    enum tag_library_namespace
        tags;      /* messages of one part never match another's */
    uint32_t part; /* wire/frame_tensor.h: of each tensor */
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
p2p_ops_check_single_stage(const struct hoop_p2p *p2p,
                           const struct hoop_p2p_ops *ops);

#endif
