/*
 * tests/checker/checker.h - proves an algorithm correct for one shape, in one process
 *
 * The checker proves three things, each in a file of its own:
 *
 *     checker_messages  Every message is sent once and received once, with one
 *                       size. Spans lie inside their buffers. Steps of one
 *                       round do not conflict.
 *     checker_run       All ranks finish, under random byte-wise schedules,
 *                       whether the sockets buffer nothing, one byte or
 *                       everything.
 *     expectation       The buffers then hold what the collective promises, and
 *                       nothing else has changed.
 *
 * A checker run uses the executor's own tracker. Elements have two bytes, so
 * that a partly moved element shows. A byte is a random number for each rank
 * and position, so that a sum shows exactly which contributions it holds and
 * how often. The other kinds of arithmetic (checker/arithmetic.h) show their
 * order.
 *
 * Shared-memory plans have no messages: checker/checker_shm_run.h checks and runs
 * them.
 */

#ifndef CHECKER_CHECKER_H
#define CHECKER_CHECKER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "checker/arithmetic.h"
#include "plan/plan.h"

enum {
    CHECKER_ELEMENT_BYTES = 2
};

/* The collective to check against; algorithms.h says what each one promises. */
enum checker_collective {
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

/* How a shared-memory plan is run: correctly, or with a planted fault. */
enum checker_planted_fault {
    CHECKER_WAITED,
    /* A rank overwrites its slot before others have read it. */
    CHECKER_UNWAITED_WRITE,
    /* A rank reads a slot before its owner has published it. */
    CHECKER_UNWAITED_READ,
};

struct checker_case {
    const struct algorithm *algorithm;
    enum checker_collective goal;
    /* With hash, the run checks only that all outputs are equal. */
    enum arithmetic arithmetic;
    struct plan_shape shape; /* rank is ignored */
    /* Each takes the next of the three socket buffer sizes. */
    uint32_t n_schedules;
    uint64_t seed;
    /* Alltoallv: [rank * size + peer], elements that go to each peer and
     * elements that come from each peer. One is the transpose of the other.
     * NULL for other collectives. */
    const size_t *to_each;
    const size_t *from_each;
    /* A planted fault is for tests of the checker itself. */
    enum checker_planted_fault slots;
};

/*
 * Handle: HOOP_E_INTERNAL (the algorithm is wrong; error_text() says where).
 * Thread: any.
 */
enum hoop_status
checker_verify_algorithm(const struct checker_case *scenario);

#endif
