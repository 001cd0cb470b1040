/* tests/unit/worker/engine/engine_pair.c - two engines in one process,
 * connected */

#include "engine_pair.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "default_config.h"
#include "net/socket.h"
#include "segments.h"

static void
on_connection_needed(void *owner, uint32_t rank)
{
    struct side *side = owner;

    atomic_fetch_add(&side->n_needed, 1);
}

static void
on_lost(void *owner, uint32_t rank, enum evidence evidence, const char *why)
{
    struct side *side = owner;

    side->evidence = evidence;
    snprintf(side->why, sizeof(side->why), "%s", why);
    atomic_fetch_add(&side->n_lost, 1);
}

static void
on_progress_needed(void *owner)
{
    struct side *side = owner;

    atomic_fetch_add(&side->n_abandoned, 1);
    if (side->background)
        background_progress_wake(side->background);
}

static void
side_open(struct side *side, uint32_t rank, const struct engine_options *wanted)
{
    static const uint32_t ranks[] = {0, 1};
    struct engine_options options = *wanted;

    options.on_connection_needed = on_connection_needed;
    options.on_lost = on_lost;
    options.on_progress_needed = on_progress_needed;
    options.owner = side;
    side->rank = rank;
    for (uint32_t i = 0; i < ENGINE_PAIR_CONTEXTS; i++)
        side->comms[i].session_timeout_ms = 30000;
    assert_ok(roster_create(3, &side->roster));
    side->roster->rank = rank;
    side->roster->epoch = 7;
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(side->roster->members[i].host, LIMIT_NAME, "host");
        side->roster->members[i].pid = 40 + i;
        side->roster->members[i].is_visible = true;
    }
    snprintf(side->roster->members[2].host, LIMIT_NAME, "far");
    snprintf(side->roster->members[2].host_id, LIMIT_NAME, "far");
    side->roster->members[2].pid = 42;
    options.roster = side->roster;
    assert_ok(engine_create(&options, &side->engine));
    for (uint32_t i = 0; i < ENGINE_PAIR_CONTEXTS; i++) {
        const struct context_options context = {.id = 1 + i,
                                                .rank = rank,
                                                .size = 2,
                                                .ranks = ranks,
                                                .timeout_ms = 30000};

        assert_ok(
            context_open(side->engine, &context, &side->comms[i].context));
    }
    const struct context_options alone = {
        .id = 9, .size = 1, .ranks = &ranks[rank], .timeout_ms = 30000};
    assert_ok(context_open(side->engine, &alone, &side->alone.context));
}

struct config
engine_pair_config(void)
{
    struct config config;

    default_config_init(&config);
    config.failure_timeout_ms = 0;
    return config;
}

void
engine_pair_open(struct engine_pair *engine_pair)
{
    engine_pair_open_checking(engine_pair, ENGINE_CHECK_FRAMES);
}

void
engine_pair_open_checking(struct engine_pair *engine_pair,
                          enum engine_call_checking checking)
{
    struct config config = engine_pair_config();

    config.checking = checking;
    engine_pair_open_with(engine_pair,
                          &(struct engine_options){.config = &config});
}

void
engine_pair_open_with(struct engine_pair *engine_pair,
                      const struct engine_options *wanted)
{
    struct engine_options options = *wanted;

    memset(engine_pair, 0, sizeof(*engine_pair));
    engine_pair->config =
        wanted->config ? *wanted->config : engine_pair_config();
    options.config = &engine_pair->config;
    side_open(&engine_pair->sides[0], 0, &options);
    side_open(&engine_pair->sides[1], 1, &options);
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, engine_pair->fds),
        0);
}

void
engine_pair_connect(struct engine_pair *engine_pair)
{
    struct segment *ends[2];

    segments_open(ends);
    for (uint32_t i = 0; i < 2; i++) {
        engine_add_shm_connection(engine_pair->sides[i].engine, 1 - i,
                                  engine_pair->fds[i], ends[i]);
        engine_pair->fds[i] = -1;
    }
}

static void *
side_loop(void *owner)
{
    const struct side *side = owner;

    loop_run(side->loop);
    return NULL;
}

void
engine_pair_start_backgrounds(struct engine_pair *engine_pair)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct side *side = &engine_pair->sides[i];

        assert_ok(loop_create(&side->loop));
        assert_ok(background_progress_create(side->loop, side->engine,
                                             &side->background));
        assert_int_equal(pthread_create(&side->thread, NULL, side_loop, side),
                         0);
    }
}

void
engine_pair_close(struct engine_pair *engine_pair)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct side *side = &engine_pair->sides[i];

        if (side->loop) {
            loop_stop(side->loop);
            pthread_join(side->thread, NULL);
        }
        background_progress_destroy(side->background);
        engine_destroy(side->engine);
        loop_destroy(side->loop);
        roster_destroy(side->roster);
        socket_close(engine_pair->fds[i]);
    }
}

struct stage {
    struct side *side;
    side_fn *body;
    pthread_t thread;
    int line;
    char text[512];
};

static void *
stage_run(void *owner)
{
    struct stage *stage = owner;

    stage->line = stage->body(stage->side);
    snprintf(stage->text, sizeof(stage->text), "%s", error_text());
    return NULL;
}

void
engine_pair_run(struct engine_pair *engine_pair, side_fn *body)
{
    struct stage stages[2];

    for (uint32_t i = 0; i < 2; i++) {
        stages[i] =
            (struct stage){.side = &engine_pair->sides[i], .body = body};
        assert_int_equal(
            pthread_create(&stages[i].thread, NULL, stage_run, &stages[i]), 0);
    }
    for (uint32_t i = 0; i < 2; i++)
        pthread_join(stages[i].thread, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        if (stages[i].line)
            fail_msg("rank %u: line %d is not true: %s", i, stages[i].line,
                     stages[i].text);
    }
}

static struct engine_collective
sum_of(const struct comm_context *context, int32_t *values, size_t count)
{
    return (struct engine_collective){
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_INT32,
                 .reduce_op = HOOP_SUM,
                 .count = count},
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = context_rank(context),
                  .size = context_size(context),
                  .is_in_place = true,
                  .count = count,
                  .granule = 16},
        .input = values,
        .output = values,
    };
}

enum hoop_status
sum_start(struct comm_context *context,
          int32_t *values,
          size_t count,
          struct op **out_op)
{
    const struct engine_collective sum = sum_of(context, values, count);

    return engine_start_collective(context, &sum, out_op);
}

enum hoop_status
sum_run(struct comm_context *context, int32_t *values, size_t count)
{
    struct engine_collective sum = sum_of(context, values, count);
    struct op *op = NULL;

    sum.mode = ENGINE_START_AND_WAIT;
    const enum hoop_status status = engine_start_collective(context, &sum, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER) : status;
}

static struct engine_message
message_of(const struct comm_context *context,
           void *bytes,
           size_t n_bytes,
           uint64_t tag)
{
    return (struct engine_message){
        .call = {.dtype = HOOP_UINT8, .count = n_bytes},
        .tag = tag,
        .peer = 1 - context_rank(context),
        .bytes = bytes,
    };
}

enum hoop_status
send_start(struct comm_context *context,
           const void *bytes,
           size_t n_bytes,
           uint64_t tag,
           struct op **out_op)
{
    struct engine_message message =
        message_of(context, (void *)(uintptr_t)bytes, n_bytes, tag);

    message.call.name = CALL_SEND;
    return engine_start_messages(context, &message, 1, out_op);
}

enum hoop_status
receive_start(struct comm_context *context,
              void *bytes,
              size_t n_bytes,
              uint64_t tag,
              struct op **out_op)
{
    struct engine_message message = message_of(context, bytes, n_bytes, tag);

    message.call.name = CALL_RECV;
    return engine_start_messages(context, &message, 1, out_op);
}

uint64_t
patience(void)
{
    return clock_deadline_ns(30000);
}
