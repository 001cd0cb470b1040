/* parallel/p2p_communicator.h - what a P2PCommunicator knows */

#ifndef PARALLEL_P2P_COMMUNICATOR_H
#define PARALLEL_P2P_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"

#include "parallel/p2p_order.h"

struct hoop_p2p {
    hoop_comm_t *stages;
    uint32_t rank;
    uint32_t size; /* 0: no member */
    bool has_dtype;
    enum hoop_dtype dtype; /* of what is received */
    bool has_variable_shapes;
    enum p2p_order order;
};

/* A new call begins: forgets the last error. Who is no member has nothing to
 * do. Handle: HOOP_E_INVALID (NULL). */
enum hoop_status
p2p_communicator_check(const struct hoop_p2p *p2p, bool *out_is_member);

#endif
