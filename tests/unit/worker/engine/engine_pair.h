/*
 * tests/unit/worker/engine/engine_pair.h - two connected engines in a process
 *
 * They are ranks 0 and 1 of a job, over a socket pair. A rank 2 is on another
 * host, and neither is connected to it. Only the threads of the test make
 * progress, unless it starts the background threads.
 */

#ifndef TESTS_UNIT_WORKER_ENGINE_ENGINE_PAIR_H
#define TESTS_UNIT_WORKER_ENGINE_ENGINE_PAIR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "engine/background.h"
#include "engine/engine.h"
#include "session/comm.h"

enum {
    ENGINE_PAIR_CONTEXTS = 4,
};

struct side {
    uint32_t rank;
    struct roster *roster;
    struct engine *engine;
    struct hoop_comm comms[ENGINE_PAIR_CONTEXTS]; /* of both, IDs 1 to 4 */
    struct hoop_comm alone;                       /* of this rank only */
    atomic_uint n_abandoned;
    atomic_uint n_needed;
    atomic_uint n_lost;
    enum evidence evidence; /* of the last rank that was lost */
    char why[256];
    /* engine_pair_start_backgrounds() sets these. */
    struct loop *loop;
    struct background *background;
    pthread_t thread;
};

struct engine_pair {
    struct config config; /* of both engines */
    struct side sides[2];
    int fds[2]; /* the ends that are not connected yet */
};

void
engine_pair_open(struct engine_pair *engine_pair);
/* Opens a pair whose calls are checked in this way. */
void
engine_pair_open_checking(struct engine_pair *engine_pair,
                          enum engine_call_checking checking);
/* Returns the defaults, except that no rank is lost because it is silent. */
struct config
engine_pair_config(void);
/* Opens a pair with other callbacks, and with its own config unless that is
 * NULL. */
void
engine_pair_open_with(struct engine_pair *engine_pair,
                      const struct engine_options *wanted);
void
engine_pair_connect(struct engine_pair *engine_pair);
void
engine_pair_start_backgrounds(struct engine_pair *engine_pair);
/* Closes the pair, which must have no operation in progress. */
void
engine_pair_close(struct engine_pair *engine_pair);

/* Returns 0, or the line of a check that failed. */
typedef int
side_fn(struct side *side);

/* Runs body on both sides at once, each in a thread. Fails the test if one
 * fails. */
void
engine_pair_run(struct engine_pair *engine_pair, side_fn *body);

#define SIDE_CHECK(condition)                                                  \
    do {                                                                       \
        if (!(condition))                                                      \
            return __LINE__;                                                   \
    } while (0)

/* Sums count int32 values in place. */
enum hoop_status
sum_start(struct comm_context *context,
          int32_t *values,
          size_t count,
          struct op **out_op);
enum hoop_status
sum_run(struct comm_context *context, int32_t *values, size_t count);

/* These send and receive messages of bytes. */
enum hoop_status
send_start(struct comm_context *context,
           const void *bytes,
           size_t n_bytes,
           uint64_t tag,
           struct op **out_op);
enum hoop_status
receive_start(struct comm_context *context,
              void *bytes,
              size_t n_bytes,
              uint64_t tag,
              struct op **out_op);

/* Returns a deadline that is late enough for everything that succeeds. */
uint64_t
patience(void);

#endif
