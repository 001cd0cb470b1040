/*
 * tests/unit/worker/mesh/redistribute/replica_oracle.h - choice of replicas
 *
 * The oracle follows the rule of docs/tensors.md for the replica from which a
 * rank takes data. It looks at all places and shares no code with the planner.
 */

#ifndef TESTS_PARALLEL_REPLICA_ORACLE_H
#define TESTS_PARALLEL_REPLICA_ORACLE_H

#include "mesh/redistribute/redistribution.h"
#include "tokens.h"

struct replica_oracle {
    const struct redistribution_request *request; /* borrowed */
    uint32_t n_from;                              /* places of the source */
    struct hoop_part parts[TOKENS_RANKS];         /* of these places */
};

void
replica_oracle_init(struct replica_oracle *oracle,
                    const struct redistribution_request *request);

/* Checks that a place of the target has, for each element of its part, all
 * addends, and has them from the right replica. */
void
replica_oracle_check(const struct replica_oracle *oracle,
                     uint32_t place,
                     const struct tokens *world);

#endif
