/*
 * tests/fault/churn_oracle.h - what a collective must have given, and to whom
 *
 * Everybody who ever lives has an id of his own, and what he brings follows from
 * it. When a communicator begins its members tell each other their ids; after
 * each call the library names the contributors, and the result is computed again
 * from exactly these. Somebody who is dead and counts all the same, or counts
 * twice, or is not named, makes it another.
 */

#ifndef FAULT_CHURN_ORACLE_H
#define FAULT_CHURN_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/hoop.h"

enum {
    ORACLE_RANKS = 64, /* of a world */
    ORACLE_COUNT = 20000,
};

struct oracle {
    uint64_t id;
    uint64_t step; /* of all members: no two calls bring the same */
    bool is_new;   /* has not been in a communicator with others yet */

    uint64_t ids[ORACLE_RANKS]; /* by rank of the world; 0: nobody knows */
    bool is_all_new;            /* nobody was there before */
    uint64_t n_calls;           /* that ended well */
    uint64_t n_wrong;
};

/* What rank 0 says to all, with any call. */
struct oracle_wish {
    uint64_t mine;
    uint64_t all; /* the sum */
};

/* The members of comm meet: all know all ids, and the greatest step. Statuses
 * are those of the collectives. */
enum hoop_status
oracle_meet(struct oracle *oracle, hoop_comm_t *comm);

/* One call of some kind, checked. */
enum hoop_status
oracle_call(struct oracle *oracle, hoop_comm_t *comm, struct oracle_wish *wish);

#endif
