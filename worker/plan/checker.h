/*
 * plan/checker.h - proves an algorithm for one shape, in one process
 *
 * Three things must hold, and each has its file.
 *
 *     checker_messages       every message is sent once and taken once, with one size;
 *                  spans are inside their buffers; steps of one round do not
 *                  conflict
 *     checker run    all ranks together end, under random byte-wise schedules,
 *                  whether the sockets buffer nothing, one byte or all
 *     expectation  the buffers then hold what the collective promises, and
 *                  nothing else has changed
 *
 * A checker run uses the executor's own tracker. Elements have two bytes, so
 * that a torn one shows, and a byte is a random number for each rank and place,
 * so that a sum tells exactly which contributions it holds, how often. Other
 * kinds of arithmetic (plan/arithmetic.h) tell their order.
 *
 * Flat plans have no messages: plan/checker_shm_run.h checks messages and runs in
 * one for them.
 */

#ifndef PLAN_CHECKER_H
#define PLAN_CHECKER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/arithmetic.h"
#include "plan/plan.h"

enum {
    CHECKER_ELEMENT_BYTES = 2
};

/* What algorithms.h says of each. */
enum checker_goal {
    CHECKER_ALLREDUCE,
    CHECKER_REDUCE_SCATTER,
    CHECKER_ALLGATHER,
    CHECKER_BROADCAST,
    CHECKER_REDUCE,
    CHECKER_GATHER,
    CHECKER_SCATTER,
    CHECKER_BARRIER,
    CHECKER_ALLTOALL,
    CHECKER_SCAN,
    CHECKER_EXSCAN,
};

/* How a shared-memory plan is run: as it must be, or with a fault that is planted. */
enum checker_slots {
    CHECKER_WAITED,
    CHECKER_UNWAITED_WRITE, /* a slot is written over without waiting for readers */
    CHECKER_UNWAITED_READ, /* and read without waiting for its writer */
};

struct checker_case {
    const struct algorithm *algorithm;
    enum checker_goal goal;
    enum arithmetic arithmetic; /* hash: do all outputs agree? */
    struct plan_shape shape;    /* rank is not used */
    uint32_t n_schedules;       /* the three socket buffers in turn */
    uint64_t seed;
    /* Alltoallv: [rank * size + peer], what goes to each and what comes from
     * each. The one turned around is the other. Else NULL. */
    const size_t *to_each;
    const size_t *from_each;
    enum checker_slots slots; /* for tests of the checker */
};

/*
 * Handle: HOOP_E_INTERNAL (the algorithm is wrong; error_text() says where).
 * Thread: any.
 */
enum hoop_status
checker_verify(const struct checker_case *scenario);

#endif
