/* pipeline/p2p_communicator.h - the settings of a P2PCommunicator */

#ifndef PIPELINE_P2P_COMMUNICATOR_H
#define PIPELINE_P2P_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"

#include "pipeline/p2p_order.h"

struct hoop_p2p {
    hoop_comm_t *stages;
    uint32_t rank;
    uint32_t size; /* 0: this process is not a member */
    bool has_dtype;
    enum hoop_dtype dtype; /* of received tensors */
    bool has_variable_shapes;
    enum p2p_order order;
};

/* Begins a public call: clears the last error and tells whether this process is
 * a member. A process that is not does nothing in the call.
 * Handle: HOOP_E_INVALID (p2p is NULL). */
enum hoop_status
p2p_communicator_check_member(const struct hoop_p2p *p2p, bool *out_is_member);

#endif
