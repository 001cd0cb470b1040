/*
 * pipeline/p2p_communicator.h - the settings of a P2PCommunicator, and its
 * exchanges
 *
 * An exchange applies the settings to every transfer: the dtype of received
 * tensors, whether their shape is known beforehand, and the order of messages.
 */

#ifndef PIPELINE_P2P_COMMUNICATOR_H
#define PIPELINE_P2P_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"
#include "hoop/tensor.h"

#include "api/tags.h"
#include "pipeline/neighbour.h"

struct hoop_p2p {
    struct neighbours neighbours; /* ranks of the stages */
    uint32_t rank;
    uint32_t size; /* 0: this process is not a member */
    bool has_dtype;
    enum hoop_dtype dtype; /* of received tensors */
    bool has_variable_shapes;
    enum neighbour_order order;
};

/* Begins a public call: clears the last error and tells whether this process is
 * a member. A process that is not does nothing in the call.
 * Handle: HOOP_E_INVALID (p2p is NULL). */
enum hoop_status
p2p_communicator_check_member(const struct hoop_p2p *p2p, bool *out_is_member);

/* Sequence, micro-batch and hidden dimension. */
enum {
    P2P_SHAPES_DIMS = 3
};

/* Writes a shape as sizes. Error texts call it name.
 * Handle: HOOP_E_INVALID (not three dimensions, too many elements). */
enum hoop_status
p2p_shapes_pack(const struct hoop_shape *shape,
                const char *name,
                int64_t sizes[P2P_SHAPES_DIMS]);

/* Reads the sizes that came from rank.
 * Handle: HOOP_E_MISMATCH (no tensor can have them). */
enum hoop_status
p2p_shapes_unpack(const int64_t sizes[P2P_SHAPES_DIMS],
                  uint32_t rank,
                  struct hoop_shape *out_shape);

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
