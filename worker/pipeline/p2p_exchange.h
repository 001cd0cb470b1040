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

/* What travels in one direction. */
struct p2p_tensor {
    const struct hoop_tensor *tensor; /* sent or expected; NULL: nothing */
    struct hoop_tensor *received;     /* NULL: not wanted, or sent */
};

/* By enum hoop_p2p_direction. */
struct p2p_tensors {
    struct p2p_tensor at[NEIGHBOUR_N_DIRECTIONS];
};

/* Checks that a tensor can be received into. Error texts call it name. Nothing
 * is changed.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
p2p_exchange_check_receive(const struct hoop_p2p *p2p,
                           const struct p2p_tensor *expected,
                           const char *name);

/* How the transfers of one call are posted. */
struct p2p_posting {
    struct neighbours neighbours; /* in a communicator of this process */
    uint32_t rank;                /* decides between even and odd order */
    enum neighbour_order order;
    enum tag_library_namespace
        tags;      /* messages of one part never match another's */
    uint32_t part; /* wire/frame_tensor.h: of each tensor */
};

/* Returns the posting of p2p as it was created: one tensor in each
 * direction. */
struct p2p_posting
p2p_posting_default(const struct hoop_p2p *p2p);

/* Starts the transfers and waits for all. After a failure nothing is handed
 * out, and out_failed has a bit for each direction that failed.
 * Handle: HOOP_E_INVALID, before anything moved (also: in a pipeline with one
 * stage, what is sent in a direction of travel is not received). */
enum hoop_status
p2p_exchange_run(const struct hoop_p2p *p2p,
                 const struct p2p_posting *posting,
                 const struct p2p_tensors *tensors,
                 unsigned *out_failed);

/* Checks the tensors, applies the settings of p2p and runs the transfers as
 * element part of their lists.
 * Handle: as p2p_exchange_run(). */
enum hoop_status
p2p_exchange_list_element(const struct hoop_p2p *p2p,
                          const struct p2p_tensors *tensors,
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
                          const struct p2p_tensors *tensors,
                          struct hoop_p2p_requests *out_requests);

#endif
