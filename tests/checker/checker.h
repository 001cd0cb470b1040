/*
 * tests/checker/checker.h - proves an algorithm correct for one shape, in one process
 *
 * The checker proves three things:
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
 * how often. The other kinds of arithmetic show their order.
 *
 * Shared-memory plans have no messages: checker/shm_vrank.h checks and runs
 * them.
 */

#ifndef CHECKER_CHECKER_H
#define CHECKER_CHECKER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "plan/plan.h"
#include "plan/tracker.h"

enum {
    CHECKER_ELEMENT_BYTES = 2
};

/*
 * How two numbers are combined:
 *
 *     sum      Commutative and associative. The result shows which operands it
 *              holds.
 *     compose  Associative only: the numbers are functions that are applied
 *              one after the other. The result shows the order of the
 *              operands, lower ranks left.
 *     hash     Neither. The expected result is not known, but two ranks have
 *              equal results only if they combined the same operands in the
 *              same way. A reduction of floats then gives them the same bits.
 */
enum arithmetic {
    ARITHMETIC_SUM,
    ARITHMETIC_COMPOSE,
    ARITHMETIC_HASH,
};

uint64_t
arithmetic_combine(enum arithmetic arithmetic, uint64_t left, uint64_t right);

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

/*
 * The checks of messages need no run. Spans lie inside their buffers. The two
 * spans of a step have one size and do not half overlap. No step of a round
 * touches what another step of it writes, hence no receive depends on a send
 * of its own round. Every message is sent exactly once and received exactly
 * once, with one size.
 */

struct checker_message {
    uint32_t source;
    uint32_t target;
    uint32_t number;
    uint64_t n_bytes;

    /* The state of the message in transit, kept by the checker run. */
    uint64_t n_sent;
    uint64_t n_taken;
    struct tracked_step *sender; /* NULL: the step is not active */
    struct tracked_step *receiver;
    uint64_t *bytes; /* the values at the time they were sent */
};

struct checker_message_list {
    struct checker_message *messages; /* sorted by source, target and number */
    size_t n_messages;
    size_t capacity;
};

struct checker_messages {
    struct checker_message_list sends;
    struct checker_message_list receives;
    struct plan plan;
};

/*
 * checker_messages must be zeroed. Call deinit after a failure, too.
 * Handle: HOOP_E_INTERNAL (the algorithm is wrong).
 */
enum hoop_status
checker_messages_build(struct checker_messages *checker_messages,
                       const struct checker_case *scenario);
void
checker_messages_deinit(struct checker_messages *checker_messages);

/* The message that a step of rank sends or receives; NULL for local steps. */
struct checker_message *
checker_messages_find(struct checker_messages *checker_messages,
                      uint32_t rank,
                      const struct plan_step *step);

/*
 * A run of all ranks. Each rank has its own memory and its own tracker. Each
 * message has a channel of its own, as flow control by grants provides:
 * messages do not wait for one another. A byte is sent with the value that the
 * memory holds at that moment. A channel holds as many bytes as the sockets
 * are assumed to buffer; if that is none, a byte moves only when both sides
 * can move it.
 *
 * A schedule chooses at random which rank moves, which of its steps move, in
 * which order and by how many bytes. In some schedules one rank moves only
 * when no other rank can.
 */

struct checker_run;

/* Borrows both until checker_run_destroy(). checker_messages must have been
 * built. */
enum hoop_status
checker_run_create(const struct checker_case *scenario,
                   struct checker_messages *checker_messages,
                   struct checker_run **out_run);
void
checker_run_destroy(struct checker_run *checker_run);
DEFINE_CLEANUP(struct checker_run *, checker_run_destroy)

/*
 * Run the collective once, from its start, and check all buffers. May be called
 * repeatedly.
 * Handle: HOOP_E_INTERNAL (deadlock, or a wrong result).
 */
enum hoop_status
checker_run_one_schedule(struct checker_run *checker_run,
                         uint64_t socket_buffer_bytes,
                         uint64_t seed);

/* Returns a number below bound, the same for the same *state, and moves *state
 * on. *state must not be 0. */
uint64_t
checker_random_below(uint64_t *state, uint64_t bound);

#endif
