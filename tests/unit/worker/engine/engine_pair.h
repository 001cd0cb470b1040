/*
 * tests/unit/worker/engine/engine_pair.h - two engines in one process,
 * connected
 *
 * Rank 0 and rank 1 of a job, over a socket pair, and a rank 2 on another host
 * that nobody is connected to. Nobody makes progress but the threads of the
 * test, unless it starts the backgrounds.
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
    struct hoop_comm comms[ENGINE_PAIR_CONTEXTS]; /* of both, ids 1 to 4 */
    struct hoop_comm alone;                       /* of this rank only */
    atomic_uint n_abandoned;
    atomic_uint n_needed;
    atomic_uint n_lost;
    enum evidence evidence; /* of the last that was */
    char why[256];
    /* engine_pair_start_backgrounds() */
    struct loop *loop;
    struct background *background;
    pthread_t thread;
};

struct engine_pair {
    struct config config; /* of both */
    struct side sides[2];
    int fds[2]; /* before they are connected */
};

void
engine_pair_open(struct engine_pair *engine_pair);
/* ... whose calls are checked so. */
void
engine_pair_open_checking(struct engine_pair *engine_pair,
                          enum engine_call_checking checking);
/* The defaults, but no rank is lost because it is silent. */
struct config
engine_pair_config(void);
/* ... with other callbacks than those of a pair, and a config of its own unless
 * that is NULL. */
void
engine_pair_open_with(struct engine_pair *engine_pair,
                      const struct engine_options *wanted);
void
engine_pair_connect(struct engine_pair *engine_pair);
void
engine_pair_start_backgrounds(struct engine_pair *engine_pair);
/* No operation may be left. */
void
engine_pair_close(struct engine_pair *engine_pair);

/* 0, or the line that is not true. */
typedef int
side_fn(struct side *side);

/* body on both sides at once, each in a thread; fails the test if it does. */
void
engine_pair_run(struct engine_pair *engine_pair, side_fn *body);

#define SIDE_CHECK(condition)                                                  \
    do {                                                                       \
        if (!(condition))                                                      \
            return __LINE__;                                                   \
    } while (0)

/* Sum of count int32 in place. */
enum hoop_status
sum_start(struct comm_context *context,
          int32_t *values,
          size_t count,
          struct op **out_op);
enum hoop_status
sum_run(struct comm_context *context, int32_t *values, size_t count);

/* Messages of bytes. */
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

/* Far enough for everything that ends well. */
uint64_t
patience(void);

#endif
