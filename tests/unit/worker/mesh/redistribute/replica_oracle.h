/*
 * tests/unit/worker/mesh/redistribute/replica_oracle.h - which replica a rank
 * takes from
 *
 * By the rule of docs/tensors.md, found by looking at all places: shares no
 * code with the planner.
 */

#ifndef TESTS_PARALLEL_REPLICA_ORACLE_H
#define TESTS_PARALLEL_REPLICA_ORACLE_H

#include "mesh/redistribute/redistribution.h"
#include "tokens.h"

struct replica_oracle {
    const struct redistribution_request *request; /* borrowed */
    uint32_t n_from;                              /* places of the source */
    struct hoop_part parts[TOKENS_RANKS];         /* of these */
};

void
replica_oracle_init(struct replica_oracle *oracle,
                    const struct redistribution_request *request);

/* That a place of the target has of each element of its part all addends, and
 * those of the right replica. */
void
replica_oracle_check(const struct replica_oracle *oracle,
                     uint32_t place,
                     const struct tokens *world);

#endif
